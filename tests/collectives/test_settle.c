/* Settlements (agreement.md, rule 9): plain reduces go on after any number of separate deaths. */
#include <stdlib.h>

#include "sim/timed/timed.h"
#include "story.h"
#include "tests/suite.h"

/* Every live rank calls operation `op`, and all that follows from it happens. */
static void all_reduce(struct ftc_cluster *c, int op)
{
    story_all_call(c);
    ftc_cluster_run(c);
    story_kept(c);
    ck_assert_msg(ftc_cluster_delivered(c, op, 0), "operation %d is not delivered", op);
}

static struct ftc_cluster *seven_ranks(const struct ftc_program *program)
{
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);

    return story_begin(&settings, program);
}

START_TEST(separate_deaths_do_not_add_up)
{
    const struct ftc_program program =
        PROGRAM(REDUCE(0), REDUCE(0), REDUCE(0), REDUCE(0), REDUCE(0), REDUCE(0), FINALIZE);

    for (int scheme = 0; scheme < 3; scheme++) {
        struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
        settings.scheme = (enum ftc_scheme)scheme;
        struct ftc_cluster *c = story_begin(&settings, &program);
        for (int op = 0; op < 6; op++) {
            all_reduce(c, op);
            ck_assert_int_eq(ftc_cluster_status(c, op, 0), FTC_SUCCESS);
            ftc_cluster_crash(c, op + 1);
            ftc_cluster_run(c);
        }
        ck_assert_int_eq(ftc_set_count(ftc_member_known_failed(c->process[0].member)), 6);
        story_finish(c);
        ftc_cluster_free(c);
    }
}
END_TEST

START_TEST(two_deaths_at_once_cost_one_result)
{
    const struct ftc_program program = PROGRAM(REDUCE(0), REDUCE(0), REDUCE(0), FINALIZE);
    struct ftc_cluster *c = seven_ranks(&program);

    all_reduce(c, 0);
    story_all_call(c);
    ftc_cluster_crash(c, 1); /* heads of both subtrees */
    ftc_cluster_crash(c, 2);
    ftc_cluster_run(c);
    int status = ftc_cluster_status(c, 1, 0);
    ck_assert(status == FTC_SUCCESS || status == FTC_ERR_TOO_MANY_FAILURES);
    all_reduce(c, 2);
    ck_assert_int_eq(ftc_cluster_status(c, 2, 0), FTC_SUCCESS);
    ck_assert_str_eq(ftc_cluster_value(c, 2, 0), "0,3-6");
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

/* The ledger checks that nobody sends a message of a settlement before a rank has died. */
START_TEST(nothing_is_settled_without_a_need)
{
    const struct ftc_program reduces = PROGRAM(REDUCE(0), REDUCE(1), FINALIZE);
    const struct ftc_program allreduces = PROGRAM(REDUCE(0), ALLREDUCE, ALLREDUCE, FINALIZE);
    struct ftc_cluster *c = seven_ranks(&reduces);

    story_finish(c);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_SETTLE), 0);
    ftc_cluster_free(c);

    c = seven_ranks(&allreduces);
    all_reduce(c, 0);
    all_reduce(c, 1);
    ftc_cluster_crash(c, 3); /* the next allreduce names it */
    story_finish(c);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_SETTLE_ASK), 0);
    ftc_cluster_free(c);
}
END_TEST

/* With `share = off` G stays, and so does the view. */
START_TEST(without_sharing_nothing_is_settled)
{
    const struct ftc_program program = PROGRAM(REDUCE(0), REDUCE(0), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    settings.share = FTC_SHARE_OFF;
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_crash(c, 1);
    ftc_cluster_crash(c, 2);
    story_finish(c);
    ck_assert_int_eq(ftc_cluster_status(c, 0, 0), FTC_ERR_TOO_MANY_FAILURES);
    ck_assert_int_eq(ftc_cluster_status(c, 1, 0), FTC_ERR_TOO_MANY_FAILURES);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_SETTLE_ASK), 0);
    ftc_cluster_free(c);
}
END_TEST

/* "Why a call waits": rank 6 has contributed, and gets the decision late. */
START_TEST(a_call_waits_for_the_settlement)
{
    const struct ftc_program program = PROGRAM(REDUCE(0), REDUCE(0), FINALIZE);
    struct ftc_cluster *c = seven_ranks(&program);

    all_reduce(c, 0);
    for (int from = 0; from < 6; from++)
        ftc_cluster_hold(c, ftc_cluster_arrival(c, from, 6));
    ftc_cluster_crash(c, 1);
    ftc_cluster_run(c);
    ck_assert(!ftc_member_held_back(c->process[6].member)); /* it has not contributed */
    while (ftc_cluster_on_the_way(c, 0, 6) > 0)
        ftc_cluster_do(c, ftc_cluster_arrival(c, 0, 6)); /* PREPARE */
    ck_assert(ftc_member_held_back(c->process[6].member));
    ftc_cluster_release_calls(c);
    ftc_cluster_run(c);
    ck_assert_int_eq(ftc_ledger_called(c->ledger, 6), 1);
    for (int from = 0; from < 6; from++)
        ftc_cluster_release(c, ftc_cluster_arrival(c, from, 6));
    story_finish(c);
    ck_assert_str_eq(ftc_cluster_value(c, 1, 0), "0,2-6");
    ftc_cluster_free(c);
}
END_TEST

/* "Why K is the maximum": rank 6 is three operations ahead of the root, which goes through these
 * in the view before. */
START_TEST(the_settlement_is_in_force_where_nobody_has_been)
{
    const struct ftc_program program =
        PROGRAM(REDUCE(0), REDUCE(0), REDUCE(0), REDUCE(0), REDUCE(0), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    settings.direct = 7; /* so rank 6 waits for nobody */
    struct ftc_cluster *c = story_begin(&settings, &program);

    all_reduce(c, 0);
    for (int op = 1; op < 4; op++)
        ftc_cluster_do(c, ftc_cluster_call(c, 6));
    ck_assert_int_eq(ftc_ledger_called(c->ledger, 6), 4);
    ftc_cluster_crash(c, 1);
    ftc_cluster_run(c); /* settles */
    ck_assert(!ftc_member_unsettled(c->process[0].member));
    for (int op = 1; op < 5; op++) {
        for (int rank = 0; rank < 7; rank++)
            if (rank != 1 && ftc_ledger_called(c->ledger, rank) == op)
                ftc_cluster_do(c, ftc_cluster_call(c, rank));
        ftc_cluster_run(c);
        story_kept(c);
        bool left_out = ftc_set_has(ftc_member_agreed_failed(c->process[0].member), 1);
        ck_assert_int_eq(left_out, op == 4);
        ck_assert_str_eq(ftc_cluster_value(c, op, 0), "0,2-6");
    }
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

/* "Why a settlement is retained until the next one": rank 1 alone has it, and rank 0, which decided
 * it, dies. */
START_TEST(a_settlement_that_one_rank_has_delivered_stays)
{
    const struct ftc_program program = PROGRAM(REDUCE(1), REDUCE(1), REDUCE(1), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(5, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    story_all_call(c);
    ftc_cluster_run(c);
    ftc_cluster_doom(c, 0, FTC_MESSAGE_DECIDE, 1, false); /* the first DECIDE goes to rank 1 */
    ftc_cluster_hold_notices(c, 0);
    ftc_cluster_crash(c, 4);
    ftc_cluster_run(c);
    ck_assert(!c->process[0].alive);
    ck_assert(!ftc_member_held_back(c->process[1].member));
    ck_assert(ftc_member_held_back(c->process[2].member));
    ftc_cluster_release_notices(c, 0);
    ftc_cluster_run(c);
    story_kept(c);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_CONTRIBUTE_DECIDED), 0);
    ck_assert(!ftc_member_held_back(c->process[3].member));
    story_finish(c);
    ck_assert_str_eq(ftc_cluster_value(c, 2, 1), "1-3");
    ftc_cluster_free(c);
}
END_TEST

/* A rank that has come to the end of its program answers, and is not held back. */
START_TEST(a_settlement_ends_while_others_finalize)
{
    const struct ftc_program program = PROGRAM(REDUCE(0), FINALIZE);
    struct ftc_cluster *c = seven_ranks(&program);

    ftc_cluster_hold_notices(c, 5);
    all_reduce(c, 0);
    ftc_cluster_crash(c, 5);
    for (int rank = 1; rank < 7; rank++)
        if (rank != 5)
            ftc_cluster_do(c, ftc_cluster_call(c, rank));
    ftc_cluster_release_notices(c, 5);
    ftc_cluster_run(c); /* rank 0 asks: it has not called finalize */
    story_finish(c);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_SETTLE_ASK), 0);
    ftc_cluster_free(c);
}
END_TEST

/* --- what a settlement costs --- */

static void all_living_reduce(int n, int f, struct ftc_timed_result *result)
{
    struct ftc_member_settings settings = ftc_cluster_settings(n, f);
    struct ftc_timed_settings timed = {.bytes = 8,
                                       .detect_ns = 5000,
                                       .kills = 1,
                                       .at_start = true,
                                       .victims = FTC_VICTIMS_OTHERS,
                                       .seed = 1};
    struct ftc_program program = {0};

    ck_assert_int_eq(ftc_cost_parse(&timed.cost, "rdma"), 0);
    ck_assert_int_eq(ftc_program_parse(&program, "reduce:0*4", n), 0);
    ck_assert_int_eq(ftc_timed_run(&settings, &program, &timed, NULL, result), 0);
    ck_assert_str_eq(result->violation, "");
    ftc_program_fini(&program);
}

/* Küttler, Härtig 2026, Theorem 5: with failures a reduce sends no more than without. The messages
 * of settlements come on top: one settlement for a death, which costs a ballot of the living. */
START_TEST(settlements_are_counted_by_themselves)
{
    for (int f = 0; f <= 3; f++)
        for (int n = f + 3; n <= 100; n += 7) {
            struct ftc_timed_result result = {0};
            const uint64_t *settled = result.settlements.sent;
            uint64_t others = (uint64_t)n - 2; /* the living, but for the root */
            all_living_reduce(n, f, &result);
            for (int op = 0; op < 4; op++) {
                const uint64_t *sent = result.operation[op].sent;
                ck_assert_uint_le(sent[FTC_MESSAGE_UP], (uint64_t)ftc_topology_up_messages(n, f));
                ck_assert_uint_le(sent[FTC_MESSAGE_TREE], others);
                for (int kind = FTC_MESSAGE_DECIDE; kind < FTC_MESSAGES; kind++)
                    ck_assert_uint_eq(sent[kind], 0);
            }
            ck_assert_uint_eq(settled[FTC_MESSAGE_UP],
                              (uint64_t)ftc_topology_up_messages(n - 1, f));
            ck_assert_uint_le(settled[FTC_MESSAGE_TREE], others);
            ck_assert_uint_eq(settled[FTC_MESSAGE_DECIDE], others);
            ck_assert_uint_eq(settled[FTC_MESSAGE_PREPARE], others);
            ck_assert_uint_eq(settled[FTC_MESSAGE_POKE] + settled[FTC_MESSAGE_PULL], 0);
            ftc_timed_result_fini(&result);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settlements");
    TCase *stories = tcase_create("stories");

    tcase_add_test(stories, separate_deaths_do_not_add_up);
    tcase_add_test(stories, two_deaths_at_once_cost_one_result);
    tcase_add_test(stories, nothing_is_settled_without_a_need);
    tcase_add_test(stories, without_sharing_nothing_is_settled);
    tcase_add_test(stories, a_call_waits_for_the_settlement);
    tcase_add_test(stories, the_settlement_is_in_force_where_nobody_has_been);
    tcase_add_test(stories, a_settlement_that_one_rank_has_delivered_stays);
    tcase_add_test(stories, a_settlement_ends_while_others_finalize);
    suite_add_tcase(suite, stories);
    TCase *costs = tcase_create("costs");
    tcase_add_test(costs, settlements_are_counted_by_themselves);
    suite_add_tcase(suite, costs);
    return test_suite_run(suite);
}
