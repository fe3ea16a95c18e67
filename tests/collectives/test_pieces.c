/*
 * Anybody may send a datagram. Rank 2 of 4 is in a broadcast from rank 0 by multicast with a ring,
 * and gets pieces that rank 0 did not send. It takes no honest rank for broken, gets the value in
 * the end, and spends little memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "collectives/agreement/member.h"
#include "collectives/spread/fragments.h"
#include "include/ftcoll.h"
#include "tests/suite.h"

#define RANKS    4
#define TESTED   2
#define VALUE    100 /* bytes */
#define FRAGMENT 32
#define PIECES   16 /* more than the value has */

/* Offsets of fields in an encoded FRAGMENT. */
#define AT_OP    12
#define AT_COUNT 72
#define AT_WHOLE 76
#define AT_BYTES FTC_FRAGMENT_HEAD

static struct ftc_member *root, *tested;
static unsigned char value[VALUE];
static struct ftc_buffer *piece[PIECES]; /* of the root, as datagrams */
static int pieces;
static bool delivered, accused;
static int pulls;

static struct ftc_member *make(int self)
{
    struct ftc_member *member;
    const struct ftc_member_settings settings = {
        .ranks = RANKS,
        .self = self,
        .f = 1,
        .reduce_arity = 2,
        .tree = {.tree = FTC_TREE_BINOMIAL, .arity = 2},
        .dissemination = FTC_DISSEMINATION_MULTICAST,
        .correction = FTC_CORRECTION_RING,
        .fragment = FRAGMENT,
        .multicast_least = 2,
        .multicast_most = 1 << 20,
    };

    ck_assert_int_eq(ftc_member_create(&member, &settings), 0);
    return member;
}

static struct ftc_buffer *join(const struct ftc_output *output)
{
    size_t size = output->value.buffer != NULL ? output->value.size : 0;
    struct ftc_buffer *joined = ftc_value_new_message(output->head->size, size);

    ck_assert_ptr_nonnull(joined);
    memcpy(joined->data, output->head->data, output->head->size);
    if (size > 0)
        memcpy(joined->data + ftc_value_offset(output->head->size), ftc_value_bytes(&output->value),
               size);
    return joined;
}

static void take_outputs_of_tested(void)
{
    const struct ftc_output *output;

    while ((output = ftc_member_next_output(tested)) != NULL) {
        if (output->kind == FTC_OUTPUT_DELIVER) {
            ck_assert_uint_eq(output->result.size, VALUE);
            ck_assert_mem_eq(ftc_value_bytes(&output->result), value, VALUE);
            delivered = true;
        }
        accused |= output->kind == FTC_OUTPUT_ACCUSE;
        if (output->kind == FTC_OUTPUT_SEND && output->message == FTC_MESSAGE_PULL) {
            ck_assert_int_eq(output->to, 0);
            pulls++;
        }
    }
}

static void call(struct ftc_member *member, const void *input)
{
    const struct ftc_call broadcast = {
        .signature = {.kind = FTC_CALL_BCAST, .type = FTC_UINT8, .root = 0, .size = VALUE},
        .input = input};

    ck_assert_int_eq(ftc_member_call(member, &broadcast), 0);
}

static void setup(void)
{
    const struct ftc_output *output;

    for (int i = 0; i < VALUE; i++)
        value[i] = (unsigned char)(i * 3 + 1);
    delivered = accused = false;
    pieces = pulls = 0;
    root = make(0);
    tested = make(TESTED);
    call(root, value);
    while ((output = ftc_member_next_output(root)) != NULL)
        if (output->kind == FTC_OUTPUT_MULTICAST)
            piece[pieces++] = join(output);
    ck_assert_int_gt(pieces, 3);
}

static void teardown(void)
{
    while (pieces > 0)
        ftc_buffer_unref(piece[--pieces]);
    ftc_member_destroy(root);
    ftc_member_destroy(tested);
}

static void tested_calls(void)
{
    call(tested, NULL);
    take_outputs_of_tested();
}

static int datagram(int from, struct ftc_buffer *buffer)
{
    int rc = ftc_member_datagram(tested, from, buffer);

    take_outputs_of_tested();
    return rc;
}

static void ring(int number)
{
    ck_assert_int_eq(ftc_member_receive(tested, TESTED - 1, piece[number]), 0);
    take_outputs_of_tested();
}

/* Returns a piece of the root with another number in its head. */
static struct ftc_buffer *forged(int number, size_t at, uint32_t word)
{
    struct ftc_buffer *copy = ftc_buffer_new(piece[number]->size);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy->data, piece[number]->data, copy->size);
    struct ftc_writer w = {.data = copy->data + at, .size = 4};
    ftc_write_u32(&w, word);
    return copy;
}

/* Delivers what rank 2 asked for: the answer of the root to its PULL. */
static void root_answers(void)
{
    struct ftc_message pull;
    const struct ftc_output *output;

    ck_assert_int_eq(pulls, 1);
    ck_assert_int_eq(ftc_message_init(&pull, RANKS), 0);
    ck_assert_int_eq(ftc_message_decode(&pull, piece[0], RANKS, FTC_SCHEME_LIST), 0);
    ftc_contribution_drop(&pull.contribution);
    pull.kind = FTC_MESSAGE_PULL;
    struct ftc_buffer *encoded = ftc_message_encode(&pull, FTC_SCHEME_LIST);
    ck_assert_ptr_nonnull(encoded);
    ck_assert_int_eq(ftc_member_receive(root, TESTED, encoded), 0);
    while ((output = ftc_member_next_output(root)) != NULL) {
        ck_assert(output->kind == FTC_OUTPUT_SEND && output->to == TESTED);
        struct ftc_buffer *decide = join(output);
        ck_assert_int_eq(ftc_member_receive(tested, 0, decide), 0);
        ftc_buffer_unref(decide);
    }
    take_outputs_of_tested();
    ftc_buffer_unref(encoded);
    ftc_message_fini(&pull);
}

START_TEST(a_forged_shape_costs_a_question)
{
    struct ftc_buffer *other = forged(0, AT_WHOLE, (uint32_t)(pieces - 1) * FRAGMENT + 1);

    tested_calls();
    ck_assert_int_eq(datagram(0, other), 0);
    ring(1); /* contradicts it */
    ck_assert(!accused);
    root_answers();
    ck_assert(delivered && !accused);
    ftc_buffer_unref(other);
}
END_TEST

START_TEST(after_a_forged_shape_honest_pieces_are_put_together)
{
    struct ftc_buffer *other = forged(0, AT_WHOLE, (uint32_t)(pieces - 1) * FRAGMENT + 1);

    tested_calls();
    ck_assert_int_eq(datagram(0, other), 0);
    ring(1);
    for (int i = 0; i < pieces; i++)
        ring(i);
    ck_assert(delivered && !accused);
    ftc_buffer_unref(other);
}
END_TEST

START_TEST(pieces_that_make_no_decision_are_nobodys_fault)
{
    struct ftc_buffer *nonsense = forged(0, AT_BYTES, 0xdeadbeef);

    tested_calls();
    ck_assert_int_eq(datagram(0, nonsense), 0);
    for (int i = 1; i < pieces; i++)
        ring(i);
    ck_assert(!delivered && !accused);
    root_answers();
    ck_assert(delivered && !accused);
    ftc_buffer_unref(nonsense);
}
END_TEST

/* The head of the DECIDE begins in the first piece. Here it is the head of another operation. */
START_TEST(pieces_that_make_another_operations_decision_are_nobodys_fault)
{
    struct ftc_buffer *other = forged(0, AT_BYTES + AT_OP, 7);

    tested_calls();
    ck_assert_int_eq(datagram(0, other), 0);
    for (int i = 1; i < pieces; i++)
        ring(i);
    ck_assert(!delivered && !accused);
    root_answers();
    ck_assert(delivered);
    ftc_buffer_unref(other);
}
END_TEST

START_TEST(datagrams_of_others_than_the_root_are_refused)
{
    tested_calls();
    for (int i = 0; i < pieces; i++)
        ck_assert_int_eq(datagram(1, piece[i]), FTC_ERR_PROTO);
    ck_assert(!delivered);
    for (int i = 0; i < pieces; i++)
        ck_assert_int_eq(datagram(0, piece[i]), 0);
    ck_assert(delivered && pulls == 0);
}
END_TEST

START_TEST(a_whole_that_is_larger_than_any_decision_takes_no_memory)
{
    struct ftc_buffer *huge = forged(0, AT_WHOLE, FTC_FRAGMENTS_WHOLE);

    tested_calls();
    struct ftc_writer w = {.data = huge->data + AT_COUNT, .size = 4};
    ftc_write_u32(&w, FTC_FRAGMENTS_WHOLE / FRAGMENT);
    ck_assert_int_eq(datagram(0, huge), FTC_ERR_PROTO);
    for (int i = 0; i < pieces; i++)
        ck_assert_int_eq(datagram(0, piece[i]), 0);
    ck_assert(delivered && pulls == 0);
    ftc_buffer_unref(huge);
}
END_TEST

/* A neighbour that believed a datagram passes on pieces of a ballot that nobody has started. */
START_TEST(a_neighbour_that_believed_a_datagram_is_not_to_blame)
{
    struct ftc_buffer *later = forged(0, AT_OP + 12, 3); /* ballot (0, 3) */

    tested_calls();
    ck_assert_int_eq(ftc_member_receive(tested, TESTED - 1, later), 0);
    take_outputs_of_tested();
    ck_assert(!accused && !delivered);
    ftc_buffer_unref(later);
}
END_TEST

/* The rank keeps at most 64 MiB of them, and none of an operation that no root can have reached. */
START_TEST(early_datagrams_are_kept_within_bounds)
{
    const uint32_t *kept = &ftc_member_rules(tested)[FTC_RULE_KEEP_EARLY];
    struct ftc_buffer *far = forged(0, AT_OP, 100000), *large = ftc_buffer_new(1 << 20);

    ck_assert_int_eq(datagram(0, far), 0);
    ck_assert_uint_eq(*kept, 0);
    memset(large->data, 0, large->size);
    memcpy(large->data, piece[0]->data, piece[0]->size);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(datagram(0, large), 0);
    ck_assert_uint_eq(*kept, 64);
    tested_calls(); /* none of these fits; the memory is free again */
    ck_assert(!accused);
    for (int i = 0; i < pieces; i++)
        ck_assert_int_eq(datagram(0, piece[i]), 0);
    ck_assert(delivered);
    ftc_buffer_unref(far);
    ftc_buffer_unref(large);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pieces");
    TCase *forgeries = tcase_create("forgeries");

    tcase_add_checked_fixture(forgeries, setup, teardown);
    tcase_add_test(forgeries, a_forged_shape_costs_a_question);
    tcase_add_test(forgeries, after_a_forged_shape_honest_pieces_are_put_together);
    tcase_add_test(forgeries, pieces_that_make_no_decision_are_nobodys_fault);
    tcase_add_test(forgeries, pieces_that_make_another_operations_decision_are_nobodys_fault);
    tcase_add_test(forgeries, datagrams_of_others_than_the_root_are_refused);
    tcase_add_test(forgeries, a_whole_that_is_larger_than_any_decision_takes_no_memory);
    tcase_add_test(forgeries, a_neighbour_that_believed_a_datagram_is_not_to_blame);
    tcase_add_test(forgeries, early_datagrams_are_kept_within_bounds);
    suite_add_tcase(suite, forgeries);
    return test_suite_run(suite);
}
