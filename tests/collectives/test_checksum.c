/* Checksums of values. Damaged memory and damaged messages become deaths, and no rank gets a wrong
 * result. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/values/flip.h"
#include "story.h"
#include "tests/suite.h"

/* A sanitizer looks for wrong accesses, not for wrong values: it sees some of the bits. */
#define APART (TEST_SANITIZED ? 7 : 1)

/* --- messages --- */

/* Encodes a DECIDE with a value of 24 bytes into one buffer, as a receiver has it. */
static struct ftc_buffer *encode(struct ftc_message *message, bool sealed)
{
    struct ftc_decision *decision = ftc_decision_new(5);
    struct ftc_buffer *bytes = ftc_buffer_new(24);
    for (int b = 0; b < 24; b++)
        bytes->data[b] = (unsigned char)(b * 7);
    decision->value = (struct ftc_value){.buffer = bytes, .size = 24};
    if (sealed)
        ftc_value_seal(&decision->value);
    ftc_set_add(&decision->failed, 2);
    *message =
        (struct ftc_message){.kind = FTC_MESSAGE_DECIDE,
                             .signature = {.kind = FTC_CALL_ALLREDUCE, .root = -1, .size = 24},
                             .contribution = {.decision = decision}};
    struct ftc_buffer *head = ftc_message_encode(message, FTC_SCHEME_LIST);
    struct ftc_buffer *whole = ftc_value_new_message(head->size, 24);
    memcpy(whole->data, head->data, head->size);
    memcpy(whole->data + ftc_value_offset(head->size), bytes->data, 24);
    whole->size = ftc_value_offset(head->size) + 24;
    ftc_buffer_unref(head);
    ftc_contribution_drop(&message->contribution);
    return whole;
}

START_TEST(a_sealed_value_stays_sealed_on_its_way)
{
    struct ftc_message message;
    struct ftc_buffer *whole = encode(&message, true);

    ck_assert_int_eq(ftc_message_init(&message, 5), FTC_SUCCESS);
    ck_assert_int_eq(ftc_message_decode(&message, whole, 5, FTC_SCHEME_LIST), FTC_SUCCESS);
    const struct ftc_value *value = ftc_message_value(&message);
    ck_assert(value->checksum != 0 && ftc_value_sound(value));
    ftc_value_bytes(value)[3] ^= 4;
    ck_assert(!ftc_value_sound(value));
    ftc_message_fini(&message);
    ftc_buffer_unref(whole);
}
END_TEST

/* The changed bit may be any bit of the head or the value. Padding between them does not travel. */
START_TEST(a_message_with_a_changed_bit_is_refused)
{
    struct ftc_message message;
    struct ftc_buffer *whole = encode(&message, true);
    size_t value = whole->size - 24;

    ck_assert_int_eq(ftc_message_init(&message, 5), FTC_SUCCESS);
    for (size_t bit = 0; bit < whole->size * 8; bit++) {
        whole->data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        int rc = ftc_message_decode(&message, whole, 5, FTC_SCHEME_LIST);
        bool head = bit / 8 < value - FTC_VALUE_ALIGNMENT;
        if (head || bit / 8 >= value)
            ck_assert_msg(rc == FTC_ERR_PROTO, "bit %zu: %d", bit, rc);
        whole->data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ck_assert_int_eq(ftc_message_decode(&message, whole, 5, FTC_SCHEME_LIST), FTC_SUCCESS);
    ftc_message_fini(&message);
    ftc_buffer_unref(whole);
}
END_TEST

START_TEST(without_a_checksum_a_changed_bit_is_not_seen)
{
    struct ftc_message message;
    struct ftc_buffer *whole = encode(&message, false);

    ck_assert_int_eq(ftc_message_init(&message, 5), FTC_SUCCESS);
    whole->data[whole->size - 1] ^= 1;
    ck_assert_int_eq(ftc_message_decode(&message, whole, 5, FTC_SCHEME_LIST), FTC_SUCCESS);
    ck_assert_uint_eq(ftc_message_value(&message)->checksum, 0);
    ck_assert(ftc_value_sound(ftc_message_value(&message)));
    ftc_message_fini(&message);
    ftc_buffer_unref(whole);
}
END_TEST

/* --- jobs --- */

static struct ftc_member_settings checking(int n, int f)
{
    struct ftc_member_settings settings = ftc_cluster_settings(n, f);

    settings.integrity = FTC_INTEGRITY_CHECKSUM;
    settings.take = FTC_TAKE_LOWEST; /* else a damaged value may be left, and not be looked at */
    return settings;
}

START_TEST(every_operation_with_every_shape)
{
    const struct ftc_program program =
        PROGRAM(ALLREDUCE, REDUCE(0), BCAST(0), BARRIER, VALIDATE, FINALIZE);

    for (int n = 1; n <= 17; n++) {
        struct ftc_member_settings settings = checking(n, n < 3 ? n - 1 : n % 3);
        settings.scheme = (enum ftc_scheme)(n % 3);
        struct ftc_cluster *c = story_begin(&settings, &program);
        story_finish(c);
        ck_assert_int_eq(ftc_ledger_alive(c->ledger), n);
        ftc_cluster_free(c);
    }
}
END_TEST

/* The damaged rank leaves. The ledger checks that the others have a right result. */
static void expect_death(int n, int f, enum ftc_flip_variable variable, int rank)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, ALLREDUCE, FINALIZE);
    struct ftc_flips flips = {.count = 1,
                              .flip = {{.rank = rank, .variable = variable, .bit = 5, .op = 1}}};
    struct ftc_member_settings settings = checking(n, f);
    settings.flips = &flips;
    struct ftc_cluster *c = story_begin(&settings, &program);

    story_finish(c);
    ck_assert_msg(!c->process[rank].alive, "rank %d of %d lives with a damaged %s", rank, n,
                  ftc_flip_variable_name(variable));
    ck_assert_int_eq(ftc_ledger_alive(c->ledger), n - 1);
    ftc_cluster_free(c);
}

/* --- the end of gossip, in each mode --- */

static const struct ftc_program_operation attempt[] = {
    {.kind = FTC_CALL_GOSSIP, .root = -1, .empty = true},
    {.kind = FTC_CALL_GOSSIP, .root = -1},
    {.kind = FTC_CALL_ALLREDUCE, .root = -1},
    {.kind = FTC_CALL_FINALIZE, .root = -1}};

/* The ledger checks that results are right and equal, and that no rank waits for ever. Returns
 * false if there was no such bit. */
static bool costs_one_rank_at_most(const struct ftc_member_settings *plain,
                                   const struct ftc_flip *flip)
{
    const struct ftc_program program = {.operation = (struct ftc_program_operation *)attempt,
                                        .length = 4};
    struct ftc_flips flips = {.count = 1, .flip = {*flip}};
    struct ftc_member_settings settings = *plain;
    settings.flips = &flips;
    struct ftc_cluster *c = story_begin(&settings, &program);

    story_finish(c);
    bool flipped = c->flips > 0;
    ck_assert_msg(ftc_ledger_alive(c->ledger) >= settings.ranks - flipped,
                  "%d:%s.%d:%d@%d/%d costs more", flip->rank,
                  ftc_flip_variable_name(flip->variable), flip->element, flip->bit, (int)flip->op,
                  (int)flip->step);
    ftc_cluster_free(c);
    return flipped;
}

/* The end of gossip by the tree (with lists and without), by messages straight to c_0, and by
 * recursive doubling. */
START_TEST(each_bit_of_a_head_in_the_end_of_gossip_costs_one_rank_at_most)
{
    struct ftc_member_settings settings = ftc_cluster_settings(5 + _i, 1 + _i % 2);
    int flipped = 0;

    settings.direct = _i == 1 ? 16 : 0;
    settings.doubling = _i == 2 ? 16 : 0;
    settings.scheme = _i == 3 ? FTC_SCHEME_BIT : FTC_SCHEME_LIST;
    for (int at = 0; at < 10 * 64; at += APART)
        for (int rank = 0; rank < 4; rank += 1 + _i % 2)
            flipped += costs_one_rank_at_most(&settings,
                                              &(struct ftc_flip){.rank = rank,
                                                                 .variable = FTC_FLIP_HEAD,
                                                                 .element = at / 64,
                                                                 .bit = at % 64,
                                                                 .op = (uint64_t)(at + rank) % 2,
                                                                 .step = (uint64_t)(at / 3) % 2});
    ck_assert_int_gt(flipped, 500 / APART);
}
END_TEST

START_TEST(each_variable_in_the_end_of_gossip_costs_one_rank_at_most)
{
    static const enum ftc_flip_variable variables[] = {
        FTC_FLIP_INPUT, FTC_FLIP_UP, FTC_FLIP_PARTIAL, FTC_FLIP_DECISION, FTC_FLIP_MESSAGE};
    struct ftc_member_settings settings = ftc_cluster_settings(8, 1 + _i % 2);
    int flipped = 0;

    settings.doubling = _i >= 2 ? 16 : 0;
    for (int v = 0; v < 5; v++)
        for (int bit = 0; bit < 64; bit += APART)
            for (int rank = 0; rank < 8; rank++)
                flipped += costs_one_rank_at_most(
                    &settings, &(struct ftc_flip){
                                   .rank = rank, .variable = variables[v], .bit = bit, .op = 1});
    ck_assert_int_gt(flipped, 64 * 8 / APART);
}
END_TEST

/* The lowest subtree is used, whatever happens to the others. The ranks of an incomplete last group
 * hold the coordinator's value, and its own copy is not used. */
static bool is_used(int n, enum ftc_flip_variable variable, int rank)
{
    if (variable == FTC_FLIP_INPUT || variable == FTC_FLIP_MESSAGE)
        return true;
    if (rank == 0)
        return variable == FTC_FLIP_PARTIAL || (n - 1) % 3 == 0;
    return (rank - 1) % 3 == 0;
}

START_TEST(damaged_memory_is_a_death)
{
    static const enum ftc_flip_variable variables[] = {FTC_FLIP_INPUT, FTC_FLIP_UP,
                                                       FTC_FLIP_PARTIAL, FTC_FLIP_MESSAGE};

    for (int v = 0; v < 4; v++)
        for (int n = 7; n <= 9; n++)
            for (int rank = 0; rank < n; rank++)
                if (is_used(n, variables[v], rank))
                    expect_death(n, 2, variables[v], rank);
    expect_death(7, 2, FTC_FLIP_DECISION, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checksum");
    TCase *messages = tcase_create("messages"), *jobs = tcase_create("jobs");

    tcase_add_test(messages, a_sealed_value_stays_sealed_on_its_way);
    tcase_add_test(messages, a_message_with_a_changed_bit_is_refused);
    tcase_add_test(messages, without_a_checksum_a_changed_bit_is_not_seen);
    suite_add_tcase(suite, messages);
    tcase_add_test(jobs, every_operation_with_every_shape);
    tcase_add_loop_test(jobs, each_bit_of_a_head_in_the_end_of_gossip_costs_one_rank_at_most, 0, 4);
    tcase_add_loop_test(jobs, each_variable_in_the_end_of_gossip_costs_one_rank_at_most, 0, 4);
    tcase_add_test(jobs, damaged_memory_is_a_death);
    suite_add_tcase(suite, jobs);
    return test_suite_run(suite);
}
