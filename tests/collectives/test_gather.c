/* Stories about contributions that stay apart (agreement.md, "Operations"): a list of blocks goes
 * the way of a value. The ledger checks each block, and takes them as a caller does. */
#include <stdlib.h>
#include <string.h>

#include "collectives/agreement/eligible.h"
#include "collectives/values/blocks.h"
#include "include/ftcoll.h"
#include "story.h"
#include "tests/suite.h"

#define ALL(name)                                                                                  \
    {                                                                                              \
        .kind = FTC_CALL_##name, .root = -1                                                        \
    }
#define ROOTED(name, r)                                                                            \
    {                                                                                              \
        .kind = FTC_CALL_##name, .root = (r)                                                       \
    }
#define ORDERED(name)                                                                              \
    {                                                                                              \
        .kind = FTC_CALL_##name, .root = -1, .ordered = true                                       \
    }

static const struct ftc_program all_kinds =
    PROGRAM(ALL(ALLGATHER), ROOTED(GATHER, 0), ROOTED(SCATTER, 0), ALL(ALLTOALL), ALL(SCAN),
            ALL(EXSCAN), ORDERED(ALLREDUCE), ALL(REDUCE_SCATTER), ALL(SIZES), FINALIZE);
static const struct ftc_program allgather_twice = PROGRAM(ALL(ALLGATHER), ALL(ALLGATHER), FINALIZE);

/* --- without failures --- */

/* The cluster compares the numbers of messages with the formulas. */
START_TEST(every_operation_with_every_shape)
{
    for (int n = 1; n <= 17; n++) {
        for (int variant = 0; variant < 4 * 3 * 3; variant++) {
            struct ftc_member_settings settings = ftc_cluster_settings(n, variant % 4);
            settings.scheme = (enum ftc_scheme)(variant / 4 % 3);
            settings.integrity = (enum ftc_integrity)(variant / 12);
            settings.reduce_arity = 1 + variant % 3;
            settings.direct = variant % 5 * 4;
            settings.doubling = variant % 7 % 2 * 16;
            if (settings.integrity == FTC_INTEGRITY_VOTE)
                settings.scheme = FTC_SCHEME_LIST;
            if (settings.f >= n)
                continue;
            struct ftc_cluster *c = story_begin(&settings, &all_kinds);
            story_finish(c);
            ftc_cluster_free(c);
        }
    }
}
END_TEST

START_TEST(a_gather_gives_its_root_alone_all_blocks)
{
    const struct ftc_program program = PROGRAM(ROOTED(GATHER, 2), ALL(ALLGATHER), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    story_finish(c);
    for (int rank = 0; rank < 7; rank++) {
        ck_assert_str_eq(ftc_cluster_value(c, 0, rank), rank == 2 ? "0-6" : "-");
        story_expect(c, 1, rank, "0-6", "none", 0, 0);
    }
    ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_DECIDE), 0);
    ftc_cluster_free(c);
}
END_TEST

/* --- deaths --- */

/* Rank 2 has given its block when it dies. Rank 0 knows of that before it decides. So the block is
 * in the decision, which names rank 2. The ledger checks that no caller takes it. */
START_TEST(the_block_of_a_rank_in_the_failed_set_is_dropped)
{
    struct ftc_member_settings settings = ftc_cluster_settings(4, 0);
    settings.direct = 4;
    struct ftc_cluster *c = story_begin(&settings, &allgather_twice);

    story_all_call(c);
    ftc_cluster_do(c, ftc_cluster_arrival(c, 2, 0));
    ftc_cluster_crash(c, 2);
    ftc_cluster_do(c, ftc_cluster_notice(c, 0, 2));
    story_finish(c);
    for (int rank = 0; rank < 4; rank += rank == 1 ? 2 : 1) {
        story_expect(c, 0, rank, "0-3", "2", 0, 0);
        story_expect(c, 1, rank, "0-1,3", "2", 0, 0);
    }
    ftc_cluster_free(c);
}
END_TEST

START_TEST(a_rank_that_gives_nothing_in_time_is_named)
{
    struct ftc_member_settings settings = ftc_cluster_settings(5, 1);
    struct ftc_cluster *c = story_begin(&settings, &allgather_twice);

    ftc_cluster_doom(c, 3, FTC_MESSAGE_UP, 1, true);
    story_finish(c);
    for (int op = 0; op < 2; op++)
        for (int rank = 0; rank < 5; rank += rank == 2 ? 2 : 1)
            story_expect(c, op, rank, "0-2,4", "3", 0, 0);
    ftc_cluster_free(c);
}
END_TEST

/* Rank 0 tells one other rank what it decided, and dies. The decided list beats the blocks. */
START_TEST(a_decided_list_is_the_list_of_all)
{
    struct ftc_member_settings settings = ftc_cluster_settings(5, 1);
    struct ftc_cluster *c = story_begin(&settings, &allgather_twice);

    ftc_cluster_doom(c, 0, FTC_MESSAGE_DECIDE, 1, false);
    ftc_cluster_hold_notices(c, 0);
    ftc_cluster_run(c);
    ftc_cluster_release_notices(c, 0);
    story_finish(c);
    for (int rank = 1; rank < 5; rank++) {
        story_expect(c, 0, rank, "0-4", "none", 0, 0);
        ck_assert_str_eq(ftc_cluster_value(c, 1, rank), "1-4");
        ck_assert_str_eq(ftc_cluster_failed(c, 1, rank), "0");
    }
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_DECIDE_UNCHANGED), 0);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(a_scatter_without_its_root_fails_for_all)
{
    const struct ftc_program program = PROGRAM(ROOTED(SCATTER, 1), ROOTED(SCATTER, 1), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(5, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_doom(c, 1, FTC_MESSAGE_DECIDE, 1, true);
    story_finish(c);
    for (int rank = 0; rank < 5; rank += rank == 0 ? 2 : 1)
        for (int op = 0; op < 2; op++)
            ck_assert_int_eq(ftc_cluster_status(c, op, rank), FTC_ERR_ROOT_FAILED);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(a_gather_fails_after_more_than_f_deaths_and_the_next_one_does_not)
{
    const struct ftc_program program =
        PROGRAM(ROOTED(GATHER, 0), ROOTED(GATHER, 0), ROOTED(GATHER, 0), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    story_all_call(c);
    ftc_cluster_run(c);
    story_all_call(c);
    ftc_cluster_crash(c, 1); /* heads of both subtrees */
    ftc_cluster_crash(c, 2);
    ftc_cluster_run(c);
    story_finish(c);
    int status = ftc_cluster_status(c, 1, 0);
    ck_assert(status == FTC_SUCCESS || status == FTC_ERR_TOO_MANY_FAILURES);
    ck_assert_int_eq(ftc_cluster_status(c, 2, 0), FTC_SUCCESS);
    ck_assert_str_eq(ftc_cluster_value(c, 2, 0), "0,3-6");
    ftc_cluster_free(c);
}
END_TEST

/* --- votes --- */

/* One of three results has another bit in a block. */
START_TEST(a_vote_corrects_a_block)
{
    const struct ftc_program program = PROGRAM(ALL(ALLGATHER), ROOTED(GATHER, 0), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(7, 2);
    struct ftc_member_report report;
    struct ftc_flips flips;

    ck_assert_int_eq(ftc_flips_parse("4:up:1@0/0,5:up:1@1/0", &flips), FTC_SUCCESS);
    settings.integrity = FTC_INTEGRITY_VOTE;
    settings.flips = &flips;
    struct ftc_cluster *c = story_begin(&settings, &program);
    ftc_cluster_run_to(c, 0, 0);
    ftc_member_report(c->process[0].member, &report);
    ck_assert_uint_eq(report.compared, 3);
    ck_assert_int_eq(ftc_set_count(report.wrong), 1);
    story_finish(c);
    for (int rank = 0; rank < 7; rank++)
        story_expect(c, 0, rank, "0-6", "none", 0, 0);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_OUTVOTE), 2);
    ftc_cluster_free(c);
}
END_TEST

/* --- wrong messages and calls --- */

static void ignore(void *arg, int rank, size_t offset, const void *data, size_t size, bool first,
                   void *result)
{
    (void)arg, (void)rank, (void)offset, (void)data, (void)size, (void)first, (void)result;
}

static struct ftc_call allgather_call(const void *input, size_t size)
{
    return (struct ftc_call){
        .signature = {.kind = FTC_CALL_ALLGATHER, .root = -1, .size = 8},
        .input = input,
        .input_size = size,
        .take = ignore,
    };
}

static struct ftc_member *member_of_three(void)
{
    struct ftc_member_settings settings = ftc_cluster_settings(3, 0);
    struct ftc_member *member;

    settings.direct = 3; /* rank 0 awaits an UP of each other rank */
    ck_assert_int_eq(ftc_member_create(&member, &settings), FTC_SUCCESS);
    return member;
}

/* Rank 1 sends this list to rank 0. */
static int send_list(struct ftc_member *member, const struct ftc_value *list)
{
    struct ftc_message message = {.kind = FTC_MESSAGE_UP,
                                  .signature = allgather_call(NULL, 0).signature,
                                  .contribution.value = *list};
    struct ftc_buffer *head = ftc_message_encode(&message, FTC_SCHEME_LIST);
    struct ftc_buffer *bytes = ftc_value_new_message(head->size, list->size);

    memcpy(bytes->data, head->data, head->size);
    memcpy(bytes->data + ftc_value_offset(head->size), ftc_value_bytes(list), list->size);
    int rc = ftc_member_receive(member, 1, bytes);
    ftc_buffer_unref(head);
    ftc_buffer_unref(bytes);
    return rc;
}

START_TEST(the_sender_of_a_malformed_list_is_to_blame)
{
    static const struct {
        int rank;
        size_t size, cut;
        int rc;
    } lists[] = {
        {1, 8, 0, FTC_SUCCESS},   {1, 0, 0, FTC_SUCCESS},   {1, 9, 0, FTC_ERR_PROTO},
        {3, 8, 0, FTC_ERR_PROTO}, {1, 8, 1, FTC_ERR_PROTO},
    };
    struct ftc_member *member = member_of_three();
    struct ftc_call call = allgather_call("12345678", 8);
    const struct ftc_block block = {lists[_i].rank, lists[_i].size,
                                    (const unsigned char *)"123456789"};
    struct ftc_value list;

    ck_assert_int_eq(ftc_member_call(member, &call), FTC_SUCCESS);
    ck_assert_int_eq(ftc_blocks_make(&list, &block, 1), FTC_SUCCESS);
    list.size -= lists[_i].cut;
    ck_assert_int_eq(send_list(member, &list), lists[_i].rc);
    ftc_value_drop(&list);
    ftc_member_destroy(member);
}
END_TEST

/* A word of the node's memory comes before the call, over two levels. */
START_TEST(a_word_whose_value_is_no_list_is_refused)
{
    static const int first_ranks[] = {0, 2, 4};
    static const struct {
        int rank;
        size_t size, cut;
        int rc;
    } words[] = {{1, 8, 0, FTC_SUCCESS},
                 {4, 8, 0, FTC_ERR_PROTO},
                 {1, 9, 0, FTC_ERR_PROTO},
                 {1, 8, 1, FTC_ERR_PROTO}};
    struct ftc_member_settings settings = ftc_cluster_settings(4, 1);
    struct ftc_call call = allgather_call(NULL, 0);
    const struct ftc_block block = {words[_i].rank, words[_i].size,
                                    (const unsigned char *)"123456789"};
    struct ftc_decision *decision = ftc_decision_new(4);
    struct ftc_member *member;

    settings.nodes = 2;
    settings.first_ranks = first_ranks;
    settings.levels_most = ftc_blocks_most(4, 8);
    ck_assert_int_eq(ftc_member_create(&member, &settings), FTC_SUCCESS);
    ck_assert_int_eq(ftc_blocks_make(&decision->value, &block, 1), FTC_SUCCESS);
    decision->value.size -= words[_i].cut;
    ck_assert_int_eq(ftc_member_adopt(member, ftc_member_next_op(member), decision), FTC_SUCCESS);
    ck_assert_int_eq(ftc_member_call(member, &call), words[_i].rc);
    ftc_decision_unref(decision);
    ftc_member_destroy(member);
}
END_TEST

START_TEST(an_input_must_fit_into_the_signature)
{
    struct ftc_member *member = member_of_three();
    struct ftc_call call = allgather_call("123456789", 9);

    ck_assert_int_eq(ftc_member_call(member, &call), FTC_ERR_ARG);
    call = allgather_call(NULL, 8);
    ck_assert_int_eq(ftc_member_call(member, &call), FTC_ERR_ARG);
    call = allgather_call("", 0);
    call.signature.size = (uint64_t)FTC_BLOCK_MOST + 1;
    ck_assert_int_eq(ftc_member_call(member, &call), FTC_ERR_ARG);
    call.signature.size = 8;
    ck_assert_int_eq(ftc_member_call(member, &call), FTC_SUCCESS);
    ftc_member_destroy(member);
}
END_TEST

START_TEST(blocks_go_over_two_levels_while_the_list_of_all_fits)
{
    static const int first_ranks[] = {0, 2, 4};
    struct ftc_member_settings settings = ftc_cluster_settings(4, 1);
    struct ftc_signature sum = {.kind = FTC_CALL_ALLREDUCE, .root = -1, .size = 8};

    settings.nodes = 2;
    settings.first_ranks = first_ranks;
    settings.levels_most = ftc_blocks_most(4, 8);
    ck_assert_ptr_null(ftc_levels_refuse(&settings, &sum, NULL));
    sum.operator_code = FTC_OPERATOR_ORDERED;
    ck_assert_ptr_null(ftc_levels_refuse(&settings, &sum, NULL));
    for (int kind = FTC_CALL_ALLGATHER; kind <= FTC_CALL_SIZES; kind++) {
        struct ftc_signature s = {.kind = (uint8_t)kind, .root = -1, .size = 8};
        bool rooted = ftc_call_table[kind].rooted;
        ck_assert_int_eq(ftc_levels_refuse(&settings, &s, NULL) == NULL, !rooted);
        s.size = 9;
        bool gathers = ftc_call_table[kind].gathers;
        ck_assert_int_eq(ftc_levels_refuse(&settings, &s, NULL) == NULL, !rooted && !gathers);
    }
}
END_TEST

START_TEST(the_senders_of_reduces_with_built_in_operators_go_on)
{
    struct ftc_member_settings settings = {.levels_plain = true};
    struct ftc_signature sum = {.kind = FTC_CALL_REDUCE, .size = 8};

    ck_assert_ptr_null(ftc_sums_refuse(&settings, &sum));
    sum.operator_code = FTC_OPERATOR_USER;
    ck_assert_ptr_nonnull(ftc_sums_refuse(&settings, &sum));
    sum = (struct ftc_signature){.kind = FTC_CALL_ALLREDUCE, .root = -1, .size = 8};
    ck_assert_ptr_nonnull(ftc_sums_refuse(&settings, &sum));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gather");
    TCase *tcase = tcase_create("gather");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_operation_with_every_shape);
    tcase_add_test(tcase, a_gather_gives_its_root_alone_all_blocks);
    tcase_add_test(tcase, the_block_of_a_rank_in_the_failed_set_is_dropped);
    tcase_add_test(tcase, a_rank_that_gives_nothing_in_time_is_named);
    tcase_add_test(tcase, a_decided_list_is_the_list_of_all);
    tcase_add_test(tcase, the_senders_of_reduces_with_built_in_operators_go_on);
    tcase_add_test(tcase, a_scatter_without_its_root_fails_for_all);
    tcase_add_test(tcase, a_gather_fails_after_more_than_f_deaths_and_the_next_one_does_not);
    tcase_add_test(tcase, a_vote_corrects_a_block);
    tcase_add_loop_test(tcase, the_sender_of_a_malformed_list_is_to_blame, 0, 5);
    tcase_add_loop_test(tcase, a_word_whose_value_is_no_list_is_refused, 0, 4);
    tcase_add_test(tcase, an_input_must_fit_into_the_signature);
    tcase_add_test(tcase, blocks_go_over_two_levels_while_the_list_of_all_fits);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
