/* Exchanges (agreement.md, rule 2). In these stories of few ranks every rank gets the contributions
 * of all. */
#include "story.h"
#include "tests/suite.h"

static const struct ftc_program allreduce_twice = PROGRAM(ALLREDUCE, ALLREDUCE, FINALIZE);

static struct ftc_member_settings exchanging(int ranks, int f)
{
    struct ftc_member_settings settings = ftc_cluster_settings(ranks, f);

    settings.doubling = ranks;
    return settings;
}

/* Numbers by hand, so that the formula and the program cannot share an error. Of 7 ranks, 0 and 1,
 * 2 and 3, 4 and 5 are pairs; 0, 2, 4 and 6 take two rounds. */
START_TEST(the_numbers_of_seven_ranks_by_hand)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, BCAST(3), BARRIER, FINALIZE);
    struct ftc_member_settings settings = exchanging(7, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    story_finish(c);
    for (int op = 0; op < 3; op += 2) {
        ck_assert_uint_eq(ftc_cluster_sent(c, op, FTC_MESSAGE_UP), 3 + 8);
        ck_assert_uint_eq(ftc_cluster_sent(c, op, FTC_MESSAGE_TREE), 0);
        ck_assert_uint_eq(ftc_cluster_sent(c, op, FTC_MESSAGE_DECIDE), 3);
    }
    ck_assert_uint_eq(ftc_cluster_sent(c, 1, FTC_MESSAGE_DECIDE), 6); /* a broadcast has a root */
    ftc_cluster_free(c);
}
END_TEST

START_TEST(more_ranks_than_allowed_elect_a_coordinator)
{
    struct ftc_member_settings settings = exchanging(4, 0);
    settings.doubling = 3;
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    story_finish(c);
    ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_UP), 0);
    ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_DECIDE), 3);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(who_dies_before_it_gave_anything_costs_a_second_ballot)
{
    struct ftc_member_settings settings = exchanging(4, 1);
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    ftc_cluster_doom(c, 3, FTC_MESSAGE_UP, 1, true);
    story_finish(c);
    for (int rank = 0; rank < 3; rank++) {
        story_expect(c, 0, rank, "0-2", "3", 0, 1);
        story_expect(c, 1, rank, "0-2", "3", 0, 0);
    }
    ftc_cluster_free(c);
}
END_TEST

/* Ranks 0 and 2 have all contributions by then, and 1 waits for 3. c_0 starts a ballot for rank 1,
 * though its own call has returned. */
START_TEST(who_has_given_to_some_is_in_for_all)
{
    struct ftc_member_settings settings = exchanging(4, 1);
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    ftc_cluster_hold_notices(c, 3);
    ftc_cluster_doom(c, 3, FTC_MESSAGE_UP, 1, false);
    ftc_cluster_run(c);
    ck_assert(ftc_cluster_delivered(c, 0, 0) && ftc_cluster_delivered(c, 0, 2));
    ck_assert(!ftc_cluster_delivered(c, 0, 1));
    ftc_cluster_release_notices(c, 3);
    story_finish(c);
    for (int rank = 0; rank < 3; rank++) {
        story_expect(c, 0, rank, "0-3", "none", 0, 0);
        story_expect(c, 1, rank, "0-2", "3", 0, 1); /* operation 1 finds 3 dead */
    }
    ftc_cluster_free(c);
}
END_TEST

START_TEST(the_first_coordinator_dies_in_it)
{
    struct ftc_member_settings settings = exchanging(4, 1);
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    ftc_cluster_doom(c, 0, FTC_MESSAGE_UP, 1, true);
    story_finish(c);
    for (int rank = 1; rank < 4; rank++)
        story_expect(c, 0, rank, "1-3", "0", 1, 0);
    ftc_cluster_free(c);
}
END_TEST

/* Of five ranks, 0 and 1 are a pair. Rank 0 has sent to the ranks of its rounds, but not to 1. */
START_TEST(the_second_of_a_pair_learns_from_others_what_its_first_decided)
{
    struct ftc_member_settings settings = exchanging(5, 1);
    struct ftc_cluster *c = story_begin(&settings, &allreduce_twice);

    ftc_cluster_doom(c, 0, FTC_MESSAGE_DECIDE, 1, true);
    story_finish(c);
    for (int rank = 1; rank < 5; rank++)
        story_expect(c, 0, rank, "0-4", "none", 0, 0);
    ftc_cluster_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");
    TCase *tcase = tcase_create("exchange");

    tcase_add_test(tcase, the_numbers_of_seven_ranks_by_hand);
    tcase_add_test(tcase, more_ranks_than_allowed_elect_a_coordinator);
    tcase_add_test(tcase, who_dies_before_it_gave_anything_costs_a_second_ballot);
    tcase_add_test(tcase, who_has_given_to_some_is_in_for_all);
    tcase_add_test(tcase, the_first_coordinator_dies_in_it);
    tcase_add_test(tcase, the_second_of_a_pair_learns_from_others_what_its_first_decided);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
