/* Rows of broadcasts (agreement.md, "Operations"): which of them has a reduce. Values of 32 KiB and
 * more count for several. */
#include <string.h>

#include "collectives/agreement/member.h"
#include "include/ftcoll.h"
#include "tests/suite.h"

#define RANKS   3
#define KIB     1024
#define LARGEST (128 * KIB)
#define BARRIER (-1)

static struct ftc_member *member[RANKS];
static unsigned char value[LARGEST];
static int ups; /* contributions that were sent */

static void begin(uint32_t settle_every)
{
    for (int rank = 0; rank < RANKS; rank++) {
        const struct ftc_member_settings settings = {
            .self = rank,
            .ranks = RANKS,
            .f = 1,
            .reduce_arity = 2,
            .tree = {.tree = FTC_TREE_BINOMIAL, .arity = 2},
            .settle_every = settle_every,
        };
        ck_assert_int_eq(ftc_member_create(&member[rank], &settings), FTC_SUCCESS);
    }
}

static void end(void)
{
    for (int rank = 0; rank < RANKS; rank++)
        ftc_member_destroy(member[rank]);
}

static void pass_on(int from, const struct ftc_output *output)
{
    size_t head = output->head->size, size = output->value.buffer != NULL ? output->value.size : 0;
    struct ftc_buffer *bytes = ftc_value_new_message(head, size);
    int to = output->to;

    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes->data, output->head->data, head);
    if (size > 0)
        memcpy(bytes->data + ftc_value_offset(head), ftc_value_bytes(&output->value), size);
    ups += output->message == FTC_MESSAGE_UP;
    ck_assert_int_eq(ftc_member_receive(member[to], from, bytes), FTC_SUCCESS);
    ftc_buffer_unref(bytes);
}

/* Lets all messages arrive. */
static void settle(void)
{
    const struct ftc_output *output;
    bool any = true;

    while (any) {
        any = false;
        for (int rank = 0; rank < RANKS; rank++)
            while ((output = ftc_member_next_output(member[rank])) != NULL) {
                any = true;
                if (output->kind == FTC_OUTPUT_SEND)
                    pass_on(rank, output);
            }
    }
}

/* All call a barrier, or a broadcast or scatter of so many bytes from rank 0. */
static void call(enum ftc_call_kind kind, int bytes)
{
    struct ftc_call call = {.signature = {.kind = (uint8_t)kind, .type = FTC_UINT8, .root = 0}};

    if (bytes == BARRIER)
        call.signature = (struct ftc_signature){.kind = FTC_CALL_BARRIER, .root = -1};
    else
        call.signature.size = (uint64_t)bytes;
    call.input = call.signature.size > 0 ? value : NULL;
    ups = 0;
    for (int rank = 0; rank < RANKS; rank++)
        ck_assert_int_eq(ftc_member_call(member[rank], &call), FTC_SUCCESS);
    settle();
}

#define CALLS 6
static const struct {
    uint32_t settle_every;
    int bytes[CALLS];
    bool collects[CALLS];
} rows[] = {
    {4, {8, 8, 8, 8, 8, 8}, {false, false, false, true, false, false}},
    {4,
     {32 * KIB - 1, 32 * KIB - 1, 32 * KIB - 1, 32 * KIB - 1, 8, 8},
     {false, false, false, true, false, false}},
    {4,
     {32 * KIB, 32 * KIB, 32 * KIB, 32 * KIB, 32 * KIB, 32 * KIB},
     {false, true, false, true, false, true}},
    {4, {8, 64 * KIB, 64 * KIB, 8, 8, 8}, {false, true, false, true, false, false}},
    {4, {8, LARGEST, 8, 8, 96 * KIB, 8}, {false, true, false, false, true, false}},
    {4, {32 * KIB, BARRIER, 32 * KIB, 8, 8, 8}, {false, true, false, false, true, false}},
    {6, {64 * KIB, 64 * KIB, 8, 8, 64 * KIB, 64 * KIB}, {false, true, false, false, false, true}},
    {0, {LARGEST, LARGEST, 8, 8, 8, LARGEST}, {false}},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void follow_row(enum ftc_call_kind kind, size_t row)
{
    int retained = 0;

    begin(rows[row].settle_every);
    for (int i = 0; i < CALLS; i++) {
        bool collects = rows[row].collects[i];
        call(kind, rows[row].bytes[i]);
        ck_assert_msg((ups > 0) == collects, "row %zu, call %d: %d contributions", row, i, ups);
        retained = collects ? 1 : retained + 1;
        ck_assert_int_eq(ftc_member_retained(member[0]), retained); /* rule 8 */
    }
    end();
}

START_TEST(large_broadcasts_count_for_several)
{
    follow_row(FTC_CALL_BCAST, (size_t)_i);
}
END_TEST

START_TEST(so_do_large_scatters)
{
    follow_row(FTC_CALL_SCATTER, (size_t)_i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows of broadcasts");
    TCase *tcase = tcase_create("rows");

    tcase_add_loop_test(tcase, large_broadcasts_count_for_several, 0, ROWS);
    tcase_add_loop_test(tcase, so_do_large_scatters, 0, ROWS);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
