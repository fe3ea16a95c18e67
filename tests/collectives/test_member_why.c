/* The counter-examples of agreement.md, "Why it is safe", as schedules. The protocol must give the
 * right outcome in each. */
#include <stdlib.h>

#include "story.h"
#include "tests/suite.h"

/* "Why entering (i, s) fills L": c_2 hears of the death of c_1 only, but must know of the death of
 * the root as well. */
START_TEST(who_enters_a_ballot_knows_that_earlier_coordinators_failed)
{
    const struct ftc_program program = PROGRAM(BCAST(0), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(4, 1);
    settings.scheme = FTC_SCHEME_BIT;
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_crash(c, 0);
    ftc_cluster_hold(c, ftc_cluster_notice(c, 2, 0));
    ftc_cluster_hold(c, ftc_cluster_notice(c, 3, 0));
    story_all_call(c);
    ftc_cluster_do(c, ftc_cluster_notice(c, 1, 0)); /* rank 1 starts (1,0) */
    ftc_cluster_crash(c, 1);
    ftc_cluster_run(c);
    story_expect(c, 0, 2, "-", "0-1", 2, 0);
    ck_assert_int_eq(ftc_cluster_status(c, 0, 2), FTC_ERR_ROOT_FAILED);
    ck_assert_int_eq(ftc_cluster_status(c, 0, 3), FTC_ERR_ROOT_FAILED);
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

/* "Why rule 5 drops old decisions": rank 1 delivers D in (0,0), passes it to 3, and dies. By then 3
 * is in (2,0). */
START_TEST(a_decision_of_a_smaller_ballot_is_dropped)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(4, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_hold_notices(c, 0);
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 1, 3));
    story_all_call(c);
    ftc_cluster_run_to(c, 0, 0);
    ftc_cluster_crash(c, 0);
    ftc_cluster_lose(c, 0, 2);
    ftc_cluster_run_to(c, 0, 1);
    ftc_cluster_crash(c, 1);
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 3, 2)); /* the contribution of 3 to (2,0) */
    ftc_cluster_release_notices(c, 0);
    ftc_cluster_run(c);
    uint64_t dropped = ftc_cluster_rule(c, FTC_RULE_DROP_SMALLER);
    ck_assert_int_eq(ftc_cluster_on_the_way(c, 1, 3), 1);
    ftc_cluster_do(c, ftc_cluster_arrival(c, 1, 3));
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_DROP_SMALLER), dropped + 1);
    ck_assert(!ftc_cluster_delivered(c, 0, 3));

    ftc_cluster_release(c, ftc_cluster_arrival(c, 3, 2));
    story_finish(c);
    story_expect(c, 0, 2, "2-3", "0-1", 2, 0);
    story_expect(c, 0, 3, "2-3", "0-1", 2, 0);
    ftc_cluster_free(c);
}
END_TEST

/* "Why the epoch", n = 4: rank 0 delivers D, starts operation 1 in the view of D, and pokes 2. D
 * dies with rank 0. In the view of the survivors the POKE would put live rank 3 into L. */
START_TEST(a_message_built_on_a_lost_decision_is_dropped)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, ALLREDUCE, FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(4, 1);
    settings.rotation = FTC_ROTATION_SPREAD;
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_hold_notices(c, 0);
    ftc_cluster_hold_notices(c, 1);
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 0, 1));
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 0, 2));
    story_all_call(c);
    ftc_cluster_run_to(c, 0, 0); /* D = {0,1,2,3} */
    ftc_cluster_crash(c, 1);
    ftc_cluster_do(c, ftc_cluster_call(c, 0));
    ftc_cluster_do(c, ftc_cluster_notice(c, 0, 1));
    ck_assert_uint_eq(ftc_cluster_sent(c, 1, FTC_MESSAGE_POKE), 1);
    ftc_cluster_crash(c, 0);
    ftc_cluster_release_notices(c, 0);
    ftc_cluster_release_notices(c, 1);
    ftc_cluster_run(c);
    story_expect(c, 0, 2, "2-3", "0-1", 2, 0);

    ftc_cluster_release(c, ftc_cluster_arrival(c, 0, 2));
    ftc_cluster_run(c);
    story_finish(c);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_DROP_EPOCH), 0);
    story_expect(c, 1, 2, "2-3", "0-1", 0, 0);
    ftc_cluster_free(c);
}
END_TEST

/* "Why the epoch", n = 5 with `bit`: the decision of the survivors does not name the sender, which
 * therefore stays in their view. */
START_TEST(to_drop_senders_outside_the_view_is_not_enough)
{
    const struct ftc_program program =
        PROGRAM(BARRIER, BARRIER, BARRIER, BARRIER, BCAST(3), ALLREDUCE, FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(5, 1);
    settings.scheme = FTC_SCHEME_BIT;
    settings.rotation = FTC_ROTATION_SPREAD;
    struct ftc_cluster *c = story_begin(&settings, &program);

    for (int op = 0; op < 4; op++) {
        story_all_call(c);
        ftc_cluster_run(c);
    }
    ftc_cluster_hold_notices(c, 0);
    ftc_cluster_hold_notices(c, 2);
    ftc_cluster_hold_notices(c, 3);
    story_all_call(c);
    ftc_cluster_crash(c, 3); /* its broadcast reaches 2 only */
    ftc_cluster_lose(c, 3, 0);
    ftc_cluster_lose(c, 3, 4);
    ftc_cluster_run_to(c, 4, 2);
    ftc_cluster_crash(c, 0);
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 2, 1));
    ftc_cluster_do(c, ftc_cluster_call(c, 2)); /* in the view of five, c_0 is 0 and c_1 is 1 */
    ftc_cluster_do(c, ftc_cluster_notice(c, 2, 0));
    ck_assert_uint_eq(ftc_cluster_sent(c, 5, FTC_MESSAGE_POKE), 1);
    ftc_cluster_crash(c, 2);
    ftc_cluster_do(c, ftc_cluster_notice(c, 4, 0));
    ftc_cluster_do(c, ftc_cluster_notice(c, 4, 3)); /* it starts (1,0) with 1, 2 and 4 */
    ftc_cluster_release(c, ftc_cluster_notice(c, 1, 2));
    ftc_cluster_run(c);
    story_expect(c, 4, 1, "-", "0,3", 1, 0);
    ck_assert_int_eq(ftc_cluster_status(c, 4, 1), FTC_ERR_ROOT_FAILED);

    ftc_cluster_release(c, ftc_cluster_arrival(c, 2, 1));
    ftc_cluster_run(c);
    ck_assert_int_eq(ftc_cluster_on_the_way(c, 2, 1), 0);
    ftc_cluster_release_notices(c, 0);
    ftc_cluster_release_notices(c, 2);
    ftc_cluster_release_notices(c, 3);
    story_finish(c);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_DROP_EPOCH), 0);
    ck_assert_str_eq(ftc_cluster_value(c, 5, 1), "1,4");
    ftc_cluster_free(c);
}
END_TEST

/* "Why a broadcast does not settle": rank 1 may not forget operation 0 because its own broadcast is
 * done. */
START_TEST(a_broadcast_does_not_settle)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, BCAST(1), FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(3, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_hold_notices(c, 0);
    story_all_call(c);
    ftc_cluster_run_to(c, 0, 0);
    ftc_cluster_crash(c, 0);
    ftc_cluster_lose(c, 0, 2);
    ftc_cluster_run_to(c, 0, 1);
    ftc_cluster_do(c, ftc_cluster_call(c, 1));
    ck_assert(ftc_cluster_delivered(c, 1, 1));
    ck_assert_int_eq(ftc_member_retained(c->process[1].member), 2);
    ck_assert(!ftc_cluster_delivered(c, 0, 2));
    ftc_cluster_release_notices(c, 0);
    story_finish(c);
    story_expect(c, 0, 2, "0-2", "none", 0, 0);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_DECIDE_UNCHANGED), 0);
    ftc_cluster_free(c);
}
END_TEST

/* "Why the decided repair too": in (1,0), rank 2 dies before it passes DECIDE on to 4. Rank 4 has
 * decided already and does not need it, but its child 8 does. */
START_TEST(the_decided_repair_too)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(9, 1);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_hold_notices(c, 0);
    for (int to = 1; to < 9; to++)
        ftc_cluster_hold(c, ftc_cluster_arrival(c, 0, to));
    story_all_call(c);
    ftc_cluster_run_to(c, 0, 0);
    ftc_cluster_crash(c, 0);
    ftc_cluster_lose(c, 0, 1);
    ftc_cluster_lose(c, 0, 2);
    ftc_cluster_lose(c, 0, 8);
    ftc_cluster_release(c, ftc_cluster_arrival(c, 0, 4));
    ftc_cluster_run(c);
    for (int rank = 1; rank < 9; rank++)
        ck_assert_int_eq(ftc_cluster_delivered(c, 0, rank), rank == 4);
    ftc_cluster_doom(c, 2, FTC_MESSAGE_DECIDE, 1, true);
    ftc_cluster_release_notices(c, 0);
    ftc_cluster_run(c);
    ck_assert(!c->process[2].alive);
    story_expect(c, 0, 8, "0-8", "none", 0, 0);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_PULL), 0);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_PASS_AGAIN), 0);
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

/* "Why PREPARE is repaired": rank 2 dies before it passes PREPARE on to 4, which knows of no
 * ballot. */
START_TEST(prepare_is_repaired)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(5, 2);
    settings.prepare = FTC_PREPARE_TREE;
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_crash(c, 0);
    for (int observer = 2; observer < 5; observer++)
        ftc_cluster_hold(c, ftc_cluster_notice(c, observer, 0));
    story_all_call(c);
    ftc_cluster_do(c, ftc_cluster_notice(c, 1, 0));
    ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_PREPARE), 2); /* to 2 and 3, not to 4 */
    ftc_cluster_crash(c, 2);
    ftc_cluster_crash(c, 3);
    ftc_cluster_run(c);
    story_expect(c, 0, 4, "1,4", "0,2-3", 1, 0);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_PREPARE_ADOPT), 0);
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

/* Rule 2: a process whose call has returned never uses the operator again, not even for the
 * contributions of others. */
START_TEST(the_operator_rests_after_the_return)
{
    const struct ftc_program program = PROGRAM(ALLREDUCE, FINALIZE);
    struct ftc_member_settings settings = ftc_cluster_settings(5, 2);
    struct ftc_cluster *c = story_begin(&settings, &program);

    ftc_cluster_hold_notices(c, 0);
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 0, 1));
    ftc_cluster_hold(c, ftc_cluster_arrival(c, 0, 2));
    story_all_call(c);
    ftc_cluster_run_to(c, 0, 0);
    ftc_cluster_crash(c, 0);
    ftc_cluster_lose(c, 0, 1);
    ftc_cluster_lose(c, 0, 2);
    ftc_cluster_run_to(c, 0, 4); /* of the group 2, 3, 4 in (1,0), only 4 has decided */
    ck_assert(!ftc_cluster_delivered(c, 0, 2) && !ftc_cluster_delivered(c, 0, 3));
    ftc_cluster_release_notices(c, 0);
    story_finish(c);
    story_expect(c, 0, 3, "0-4", "none", 0, 0);
    ck_assert_uint_gt(ftc_cluster_rule(c, FTC_RULE_DECIDED_BEATS), 0);
    ftc_cluster_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("member why");
    TCase *why = tcase_create("why it is safe");

    tcase_add_test(why, who_enters_a_ballot_knows_that_earlier_coordinators_failed);
    tcase_add_test(why, a_decision_of_a_smaller_ballot_is_dropped);
    tcase_add_test(why, a_message_built_on_a_lost_decision_is_dropped);
    tcase_add_test(why, to_drop_senders_outside_the_view_is_not_enough);
    tcase_add_test(why, a_broadcast_does_not_settle);
    tcase_add_test(why, the_decided_repair_too);
    tcase_add_test(why, prepare_is_repaired);
    tcase_add_test(why, the_operator_rests_after_the_return);
    suite_add_tcase(suite, why);
    return test_suite_run(suite);
}
