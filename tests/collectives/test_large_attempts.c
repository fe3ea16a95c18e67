/* Attempts of large values, as one rank sees them. It must tell damage, another collective, old
 * blocks and early blocks apart. */
#include <string.h>

#include "collectives/frame.h"
#include "collectives/large/large.h"
#include "include/ftcoll.h"
#include "tests/suite.h"

#define RANKS    3
#define ELEMENTS 6

struct rank {
    struct ftc_large *large;
    struct ftc_call call;
    uint64_t input[ELEMENTS];
    struct ftc_set none;
};

static void add(void *arg, const void *in, void *inout, size_t size)
{
    const uint64_t *from = in;
    uint64_t *to = inout;

    (void)arg;
    for (size_t i = 0; i < size / sizeof(*to); i++)
        to[i] += from[i];
}

static void rank_init(struct rank *rank, int self)
{
    struct ftc_large_settings settings = {.self = self,
                                          .ranks = RANKS,
                                          .attempts = 2,
                                          .block_least = 8,
                                          .block_most = 4096,
                                          .part_most = 8, /* a part has several */
                                          .window = 1};

    *rank = (struct rank){
        .call = {.signature = {FTC_CALL_ALLREDUCE, FTC_UINT64, 1, 0, -1, sizeof(rank->input)},
                 .combine = add}};
    rank->call.input = rank->input;
    ck_assert_int_eq(ftc_set_init(&rank->none, RANKS), FTC_SUCCESS);
    ck_assert_int_eq(ftc_large_create(&rank->large, &settings), FTC_SUCCESS);
}

static void rank_fini(struct rank *rank)
{
    ftc_large_destroy(rank->large);
    ftc_set_fini(&rank->none);
}

static void start(struct rank *rank, uint64_t op)
{
    struct ftc_large_now now = {.op = op};
    ck_assert_int_eq(ftc_large_start(rank->large, &now, &rank->none, &rank->none), FTC_SUCCESS);
}

/* Returns the next block that the rank sends, in the form in which it arrives. */
static struct ftc_buffer *next_block(struct rank *rank)
{
    struct ftc_large_output output;

    ck_assert(ftc_large_next_output(rank->large, &output));
    struct ftc_buffer *message = ftc_value_new_message(output.head->size, output.value.size);
    ck_assert_ptr_nonnull(message);
    memcpy(message->data, output.head->data, output.head->size);
    memcpy(message->data + output.head->size, ftc_value_bytes(&output.value), output.value.size);
    return message;
}

static int receive(struct rank *rank, uint64_t op, int from, struct ftc_buffer *message)
{
    struct ftc_large_now now = {.op = op};
    return ftc_large_receive(rank->large, &now, from, message);
}

static void pair_init(struct rank *left, struct rank *right, uint64_t left_op, uint64_t right_op)
{
    rank_init(left, 0);
    rank_init(right, 1);
    ftc_large_begin(left->large, &left->call, sizeof(uint64_t), NULL, NULL);
    ftc_large_begin(right->large, &right->call, sizeof(uint64_t), NULL, NULL);
    start(left, left_op);
    start(right, right_op);
}

START_TEST(damaged_blocks_are_refused)
{
    struct rank left, right;

    pair_init(&left, &right, 5, 5);
    struct ftc_buffer *message = next_block(&left);
    ck_assert(ftc_frame_kind(message) == FTC_FRAME_RING);
    size_t size = message->size;
    message->size = 40;
    ck_assert_int_eq(receive(&right, 5, 0, message), FTC_ERR_PROTO);
    message->size = size - 1;
    ck_assert_int_eq(receive(&right, 5, 0, message), FTC_ERR_PROTO);
    message->size = size;
    ck_assert_int_eq(receive(&right, 5, 2, message), FTC_ERR_PROTO); /* not the left neighbour */
    message->data[18] ^= 1;                                          /* of an operation far ahead */
    ck_assert_int_eq(receive(&right, 5, 0, message), FTC_ERR_PROTO);
    message->data[18] ^= 1;
    ck_assert_int_eq(receive(&right, 5, 0, message), FTC_SUCCESS);
    ftc_buffer_unref(message);
    rank_fini(&left);
    rank_fini(&right);
}
END_TEST

START_TEST(another_size_or_collective_is_told)
{
    struct rank left, right;
    struct ftc_signature barrier = {.kind = FTC_CALL_BARRIER, .root = -1};
    struct ftc_large_now in_barrier = {.op = 6, .under_way = &barrier};

    rank_init(&left, 0);
    left.call.signature.size = 5 * sizeof(uint64_t);
    ftc_large_begin(left.large, &left.call, sizeof(uint64_t), NULL, NULL);
    start(&left, 5);
    rank_init(&right, 1);
    ftc_large_begin(right.large, &right.call, sizeof(uint64_t), NULL, NULL);
    start(&right, 5);
    struct ftc_buffer *message = next_block(&left);
    ck_assert_int_eq(receive(&right, 5, 0, message), FTC_ERR_MISMATCH);
    ck_assert_ptr_nonnull(
        strstr(ftc_large_mismatch(right.large), "rank 0 is in allreduce (40 bytes"));
    ftc_large_end(right.large);
    ck_assert_int_eq(ftc_large_receive(right.large, &in_barrier, 0, message), FTC_ERR_MISMATCH);
    ck_assert_ptr_nonnull(strstr(ftc_large_mismatch(right.large), "rank 1 in barrier"));
    /* ... and the same if it came before the barrier was called. */
    ck_assert_int_eq(receive(&right, 5, 0, message), FTC_SUCCESS);
    ck_assert_int_eq(ftc_large_called(right.large, &in_barrier), FTC_ERR_MISMATCH);
    ftc_buffer_unref(message);
    rank_fini(&left);
    rank_fini(&right);
}
END_TEST

START_TEST(an_old_block_is_dropped_and_an_early_one_kept)
{
    struct rank left, right;
    struct ftc_large_counters counters;
    int from = -1;

    pair_init(&left, &right, 5, 6);
    struct ftc_buffer *old = next_block(&left);
    ck_assert_int_eq(receive(&right, 6, 0, old), FTC_SUCCESS);
    ftc_buffer_unref(old);
    ftc_large_end(left.large);
    ftc_large_begin(left.large, &left.call, sizeof(uint64_t), NULL, NULL);
    start(&left, 7);
    struct ftc_buffer *early = next_block(&left);
    ck_assert_int_eq(receive(&right, 6, 0, early), FTC_SUCCESS);
    ftc_buffer_unref(early);
    ftc_large_counters(right.large, &counters);
    ck_assert_uint_eq(counters.late, 1);
    ck_assert_uint_eq(counters.early, 1);
    ftc_large_end(right.large);
    ftc_large_begin(right.large, &right.call, sizeof(uint64_t), NULL, NULL);
    start(&right, 7);
    ck_assert_int_eq(ftc_large_early(right.large, &from), 1);
    ck_assert_int_eq(from, 0);
    rank_fini(&left);
    rank_fini(&right);
}
END_TEST

START_TEST(a_death_tears_it_and_it_is_run_again_a_few_times)
{
    struct rank rank;
    struct ftc_call commit;
    unsigned char decided[8];
    enum ftc_large_verdict verdict;

    rank_init(&rank, 0);
    ftc_large_begin(rank.large, &rank.call, sizeof(uint64_t), NULL, NULL);
    start(&rank, 5);
    ck_assert_int_eq(ftc_large_awaited(rank.large), 2);
    ftc_large_notice(rank.large, 1);
    ck_assert_int_eq(ftc_large_state(rank.large), FTC_LARGE_TORN);
    ftc_set_add(&rank.none, 1);
    ftc_large_commit(rank.large, &rank.none, &commit);
    memcpy(decided, commit.input, commit.signature.size);
    ftc_set_clear(&rank.none);
    ck_assert_int_eq(ftc_large_decide(rank.large, decided, &rank.none, &verdict), FTC_SUCCESS);
    ck_assert_int_eq(verdict, FTC_LARGE_AGAIN);
    ck_assert(ftc_set_has(ftc_large_failed(rank.large), 1));
    start(&rank, 6);
    ck_assert_int_eq(ftc_large_awaited(rank.large), 2);
    ftc_large_notice(rank.large, 1); /* it has left the ring */
    ck_assert_int_eq(ftc_large_state(rank.large), FTC_LARGE_UNDER_WAY);
    ftc_large_notice(rank.large, 2);
    ck_assert_int_eq(ftc_large_decide(rank.large, decided, &rank.none, &verdict), FTC_SUCCESS);
    ck_assert_int_eq(verdict, FTC_LARGE_PROTECTED);
    rank_fini(&rank);
}
END_TEST

START_TEST(a_commit_that_contradicts_a_torn_rank_is_damage)
{
    struct rank rank;
    unsigned char decided[8] = {0};
    enum ftc_large_verdict verdict;

    rank_init(&rank, 0);
    ftc_large_begin(rank.large, &rank.call, sizeof(uint64_t), NULL, NULL);
    start(&rank, 5);
    ftc_large_notice(rank.large, 1);
    ck_assert_int_eq(ftc_large_decide(rank.large, decided, &rank.none, &verdict), FTC_ERR_PROTO);
    rank_fini(&rank);
}
END_TEST

/* Starts an attempt of a gather to rank 1. */
static void start_gather(struct rank *rank, uint64_t op)
{
    rank->call.signature.kind = FTC_CALL_GATHER;
    rank->call.signature.root = 1;
    rank->call.input_size = sizeof(rank->input);
    ftc_large_begin(rank->large, &rank->call, 0, NULL, NULL);
    start(rank, op);
}

START_TEST(without_its_root_a_call_is_left_to_the_core)
{
    struct rank rank;
    struct ftc_call commit;
    unsigned char decided[8];
    enum ftc_large_verdict verdict;

    rank_init(&rank, 2);
    start_gather(&rank, 5);
    ftc_large_notice(rank.large, 1);
    ftc_set_add(&rank.none, 1);
    ftc_large_commit(rank.large, &rank.none, &commit);
    ck_assert_int_eq(commit.signature.root, -1); /* the commit is among all */
    memcpy(decided, commit.input, commit.signature.size);
    ck_assert_int_eq(ftc_large_decide(rank.large, decided, &rank.none, &verdict), FTC_SUCCESS);
    ck_assert_int_eq(verdict, FTC_LARGE_PROTECTED); /* though an attempt was left */
    ftc_large_end(rank.large);
    ftc_set_clear(&rank.none); /* G does not have the root yet */
    start_gather(&rank, 6);
    ck_assert_int_eq(ftc_large_state(rank.large), FTC_LARGE_TORN);
    ck_assert_int_eq(ftc_large_awaited(rank.large), -1);
    ck_assert_int_eq(ftc_large_decide(rank.large, decided, &rank.none, &verdict), FTC_SUCCESS);
    ck_assert_int_eq(verdict, FTC_LARGE_PROTECTED);
    rank_fini(&rank);
}
END_TEST

START_TEST(a_scan_is_run_again_without_a_rank_that_the_decision_names)
{
    struct rank rank;
    unsigned char decided[8] = {0};
    enum ftc_large_verdict verdict;

    rank_init(&rank, 0);
    rank.call.signature.kind = FTC_CALL_SCAN;
    ftc_large_begin(rank.large, &rank.call, sizeof(uint64_t), NULL, NULL);
    start(&rank, 5);
    ck_assert_int_eq(ftc_large_state(rank.large), FTC_LARGE_WHOLE); /* rank 0 waits for nobody */
    ftc_set_add(&rank.none, 2);                                     /* died after it was whole */
    ck_assert_int_eq(ftc_large_decide(rank.large, decided, &rank.none, &verdict), FTC_SUCCESS);
    ck_assert_int_eq(verdict, FTC_LARGE_AGAIN);
    rank_fini(&rank);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attempts of large values");
    TCase *tcase = tcase_create("attempts");
    tcase_add_test(tcase, damaged_blocks_are_refused);
    tcase_add_test(tcase, another_size_or_collective_is_told);
    tcase_add_test(tcase, an_old_block_is_dropped_and_an_early_one_kept);
    tcase_add_test(tcase, a_death_tears_it_and_it_is_run_again_a_few_times);
    tcase_add_test(tcase, a_commit_that_contradicts_a_torn_rank_is_damage);
    tcase_add_test(tcase, without_its_root_a_call_is_left_to_the_core);
    tcase_add_test(tcase, a_scan_is_run_again_without_a_rank_that_the_decision_names);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
