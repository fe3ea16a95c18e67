/* The head of a subtree that stands still, though it lives (agreement.md, rule 2: "take"). Seven
 * ranks, f = 1: the heads of the two subtrees are ranks 1 and 2. */
#include <stdlib.h>

#include "collectives/agreement/member.h"
#include "story.h"
#include "tests/suite.h"

/* Its operator is one of the user: nobody knows whether the order of combination shows. */
static const struct ftc_program sum = PROGRAM(ALLREDUCE, FINALIZE);

/* Rank 1 has told its group what it contributes, and then nothing of it comes to rank 0. */
static struct ftc_cluster *rank_1_stalls(enum ftc_take take, const struct ftc_program *program)
{
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);

    settings.take = take;
    struct ftc_cluster *c = story_begin(&settings, program);
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 1, 0));
    ftc_cluster_hold(c, ftc_cluster_timer(c, 0));
    story_all_call(c);
    ftc_cluster_run(c);
    story_kept(c);
    return c;
}

static void end(struct ftc_cluster *c)
{
    ftc_cluster_release_calls(c);
    ftc_cluster_release(c, ftc_cluster_timer(c, 0));
    ftc_cluster_release(c, ftc_cluster_arrival(c, 1, 0));
    story_finish(c);
    ftc_cluster_free(c);
}

START_TEST(first_takes_the_other_subtree_at_once)
{
    struct ftc_cluster *c = rank_1_stalls(FTC_TAKE_FIRST, &sum);

    for (int rank = 0; rank < 7; rank++)
        ck_assert(ftc_cluster_delivered(c, 0, rank));
    story_expect(c, 0, 0, "0-6", "none", 0, 0);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_TAKE_EARLY), 1);
    end(c);
}
END_TEST

/* A barrier has no value, and a union is the same in any order. */
START_TEST(auto_does_so_where_the_bits_are_the_same)
{
    const struct ftc_program barrier = PROGRAM(BARRIER, FINALIZE),
                             validate = PROGRAM(VALIDATE, FINALIZE);
    struct ftc_cluster *c = rank_1_stalls(FTC_TAKE_AUTO, _i == 0 ? &barrier : &validate);

    ck_assert(ftc_cluster_delivered(c, 0, 0));
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_TAKE_EARLY), 1);
    end(c);
}
END_TEST

START_TEST(auto_waits_for_the_bits_of_the_lowest_but_not_for_ever)
{
    struct ftc_cluster *c = rank_1_stalls(FTC_TAKE_AUTO, &sum);

    ck_assert(!ftc_cluster_delivered(c, 0, 0));
    ftc_cluster_release(c, ftc_cluster_timer(c, 0));
    ftc_cluster_run(c);
    for (int rank = 0; rank < 7; rank++)
        ck_assert(ftc_cluster_delivered(c, 0, rank));
    story_expect(c, 0, 0, "0-6", "none", 0, 0);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_STRAGGLER), 1);
    end(c);
}
END_TEST

START_TEST(a_lower_subtree_that_comes_in_time_is_taken)
{
    struct ftc_cluster *c = rank_1_stalls(FTC_TAKE_AUTO, &sum);

    ftc_cluster_release(c, ftc_cluster_arrival(c, 1, 0));
    ftc_cluster_run(c);
    ck_assert(ftc_cluster_delivered(c, 0, 0));
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_STRAGGLER), 0);
    end(c);
}
END_TEST

/* It waits until rank 1 is declared failed, and then takes the other subtree. */
START_TEST(lowest_waits_for_a_notice)
{
    struct ftc_cluster *c = rank_1_stalls(FTC_TAKE_LOWEST, &sum);

    ftc_cluster_release(c, ftc_cluster_timer(c, 0));
    ftc_cluster_run(c);
    ck_assert(!ftc_cluster_delivered(c, 0, 0));
    ftc_cluster_crash(c, 1);
    ftc_cluster_lose(c, 1, 0);
    ftc_cluster_run(c);
    story_expect(c, 0, 0, "0-6", "1", 0, 0);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_TAKE_EARLY), 0);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_STRAGGLER), 0);
    end(c);
}
END_TEST

/* Rank 0 tells rank 1 alone its decision, and dies. In ballot (1,0) rank 1 contributes the
 * decision. Rank 2 heads the lower of the two subtrees and stands still. */
START_TEST(a_decision_is_taken_from_any_subtree)
{
    struct ftc_member_settings settings = ftc_cluster_settings(7, 1);
    struct ftc_cluster *c = story_begin(&settings, &sum);

    ftc_cluster_doom(c, 0, FTC_MESSAGE_DECIDE, 1, false);
    ftc_cluster_hold_notices(c, 0);
    story_all_call(c);
    ftc_cluster_run(c);
    ck_assert(ftc_cluster_delivered(c, 0, 1) && !ftc_cluster_delivered(c, 0, 2));
    uint64_t early = ftc_cluster_rule(c, FTC_RULE_TAKE_EARLY);
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 2, 1));
    ftc_cluster_hold(c, ftc_cluster_timer(c, 1));
    ftc_cluster_release_notices(c, 0);
    ftc_cluster_run(c);
    for (int rank = 1; rank < 7; rank++)
        story_expect(c, 0, rank, "0-6", "none", 0, 0);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_DECIDE_UNCHANGED), 1);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_TAKE_EARLY), early + 1);
    ftc_cluster_release(c, ftc_cluster_timer(c, 1));
    ftc_cluster_release(c, ftc_cluster_arrival(c, 2, 1));
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("straggler");
    TCase *stalls = tcase_create("stalls");

    tcase_add_test(stalls, first_takes_the_other_subtree_at_once);
    tcase_add_loop_test(stalls, auto_does_so_where_the_bits_are_the_same, 0, 2);
    tcase_add_test(stalls, auto_waits_for_the_bits_of_the_lowest_but_not_for_ever);
    tcase_add_test(stalls, a_lower_subtree_that_comes_in_time_is_taken);
    tcase_add_test(stalls, lowest_waits_for_a_notice);
    tcase_add_test(stalls, a_decision_is_taken_from_any_subtree);
    suite_add_tcase(suite, stalls);
    return test_suite_run(suite);
}
