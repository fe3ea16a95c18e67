/* The end of a gossip aggregation. All ranks come to the same verdict, and the result that they
 * agree on is right. */
#include "collectives/gossip/end.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectives/mutation.h"
#include "include/ftcoll.h"
#include "tests/collectives/gossip_ending.h"
#include "tests/random.h"
#include "tests/suite.h"

enum ftc_mutation ftc_mutation;

#define FREE_RUNS (TEST_SANITIZED ? 60 : 600)

/* Returns the error of the agreed result, relative to the largest element. */
static double error_of(const struct ending *e)
{
    double sum = 0, worst = 0;
    int living = 0, some = 0;

    for (int rank = 0; rank < e->frame.ranks; rank++) {
        sum += ending_lives(e, rank) ? rank + 1 : 0;
        living += ending_lives(e, rank);
        some = ending_lives(e, rank) ? rank : some;
    }
    double size = sum / living * (double)e->frame.count;
    for (size_t i = 0; i < e->frame.count; i++)
        worst = fmax(worst, fabs(e->average[some][i] - sum / living * (double)(i + 1)) / size);
    return worst;
}

/* The result may be off by half the accuracy, and a little for rounding. */
static void check_average(const struct ending *e)
{
    ck_assert_double_le(error_of(e), e->frame.accuracy / 2 + 0x1p-46 * e->frame.ranks);
}

START_TEST(what_all_agree_on_is_the_average)
{
    static const int sizes[] = {1, 2, 3, 8, 16, 32};
    static const double accuracies[] = {1e-2, 1e-6, 1e-9, 1e-12};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t a = 0; a < sizeof(accuracies) / sizeof(accuracies[0]); a++) {
            struct gossip_net_frame frame =
                ending_frame((enum ftc_gossip_algorithm)_i, sizes[s], accuracies[a]);
            struct ending e;
            frame.seed += s * 10 + a;
            ending_begin(&e, &frame);
            ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_AGREED);
            check_average(&e);
            ending_finish(&e);
        }
    }
}
END_TEST

/* --- without turns: one channel may be slow --- */

/* All ranks have come to the barrier, and leave it one after the other. A rank that has all marks
 * takes in nothing more. */
static void freeze(struct ending *e)
{
    for (int rank = 0; rank < e->frame.ranks; rank++) {
        for (int from = 0; from < e->frame.ranks && !ftc_gossip_end_complete(e->end[rank]); from++)
            while (gossip_net_waiting(e->net, from, rank) > 0) {
                gossip_net_deliver(e->net, from, rank);
                ftc_gossip_end_look(e->end[rank]);
            }
        ck_assert(ftc_gossip_end_complete(e->end[rank]));
    }
}

/* Draws a run in which one channel is slow. Returns whether the agreed result is right. */
static bool ends_right(uint64_t seed)
{
    static const enum ftc_gossip_algorithm algorithms[] = {FTC_GOSSIP_PUSH_SUM,
                                                           FTC_GOSSIP_PUSH_FLOW, FTC_GOSSIP_PFLC};
    struct gossip_net_frame frame = ending_frame(algorithms[seed % 3], 8, seed % 2 ? 1e-3 : 1e-6);
    enum ftc_gossip_verdict verdict = FTC_GOSSIP_AGAIN;
    struct ending e;

    frame.turns = false;
    frame.seed = seed;
    if (seed / 3 % 2)
        frame.neighbourhood = FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE;
    ending_begin(&e, &frame);
    while (verdict == FTC_GOSSIP_AGAIN) {
        gossip_net_hold(e.net, (int)(seed % 8), (int)(seed % 8) ^ 1 << seed / 8 % 3);
        ck_assert(ending_barrier(&e));
        freeze(&e);
        verdict = ending_decide(&e, &e.failed);
    }
    double worst = verdict == FTC_GOSSIP_AGREED ? error_of(&e) : 0;
    ending_finish(&e);
    return worst <= frame.accuracy / 2 + 0x1p-46 * frame.ranks;
}

START_TEST(without_turns_nothing_that_was_sent_before_is_left_out)
{
    for (uint64_t seed = 1; seed <= FREE_RUNS; seed++)
        ck_assert_msg(ends_right(seed), "seed %d", (int)seed);
}
END_TEST

START_TEST(who_does_not_wait_for_marks_agrees_on_what_is_wrong)
{
    uint64_t seed = 1;

    ftc_mutation = FTC_MUTATION_FREEZE_UNMARKED;
    while (seed <= FREE_RUNS && ends_right(seed))
        seed++;
    ftc_mutation = FTC_MUTATION_NONE;
    ck_assert_int_le(seed, FREE_RUNS);
    printf("found by run %d\n", (int)seed);
}
END_TEST

/* All other ranks mark, and rank 0 takes in all that lies there for it. Returns whether it has
 * settled. */
static bool settles_by_marks(void)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PUSH_SUM, RANKS_MOST, 1e-12);
    struct gossip_net *net = gossip_net_new(&frame);

    for (int rank = 1; rank < frame.ranks; rank++) {
        ftc_gossip_mark(gossip_net_rank(net, rank), 1);
        gossip_net_take(net, rank);
        while (gossip_net_waiting(net, rank, 0) > 1)
            gossip_net_deliver(net, rank, 0);
    }
    for (int rank = 1; rank < frame.ranks; rank++)
        gossip_net_deliver(net, rank, 0);
    bool settled = ftc_gossip_settled(gossip_net_rank(net, 0));
    gossip_net_free(net);
    return settled;
}

START_TEST(marks_that_carry_nothing_settle_no_rank)
{
    ck_assert(!settles_by_marks());
    ftc_mutation = FTC_MUTATION_MARKS_SETTLE;
    ck_assert(settles_by_marks());
    ftc_mutation = FTC_MUTATION_NONE;
}
END_TEST

START_TEST(a_push_that_is_owed_is_owed_after_a_mark_too)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PUSH_SUM, 2, 1e-12);
    struct gossip_net *net = gossip_net_new(&frame);
    struct ftc_gossip *gossip = gossip_net_rank(net, 0);

    ftc_gossip_mark(gossip_net_rank(net, 1), 1);
    gossip_net_take(net, 1);
    ftc_gossip_more(gossip, true);
    gossip_net_deliver(net, 1, 0);
    gossip_net_deliver(net, 1, 0);
    int before = gossip_net_waiting(net, 0, 1);
    ftc_gossip_answer(gossip);
    gossip_net_take(net, 0);
    ck_assert_int_eq(gossip_net_waiting(net, 0, 1), before + 1);
    gossip_net_free(net);
}
END_TEST

START_TEST(a_death_leaves_the_average_of_the_others_or_ends_it)
{
    enum ftc_gossip_algorithm algorithm = (enum ftc_gossip_algorithm)_i;
    struct gossip_net_frame frame = ending_frame(algorithm, 16, 1e-9);
    struct ending e;

    ending_begin(&e, &frame);
    for (int steps = 0; steps < 200; steps++) {
        gossip_net_step(e.net);
        ending_look(&e);
    }
    ending_kill(&e, 5);
    if (ftc_gossip_survives(algorithm)) {
        ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_AGREED);
        check_average(&e);
    } else {
        ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_GIVEN_UP);
    }
    ending_finish(&e);
}
END_TEST

/* A hypercube of three ranks is a line: 1 - 0 - 2. The survivors hear nothing of each other, but
 * both know that they are parted. */
START_TEST(survivors_that_a_death_has_parted_begin_anew)
{
    static const enum ftc_gossip_algorithm algorithms[] = {FTC_GOSSIP_PUSH_FLOW, FTC_GOSSIP_PFLC,
                                                           FTC_GOSSIP_PFCC};
    struct gossip_net_frame frame = ending_frame(algorithms[_i], 3, 1e-6);
    struct ending e;

    frame.neighbourhood = FTC_NEIGHBOURHOOD_HYPERCUBE;
    ending_begin(&e, &frame);
    ck_assert(ending_barrier(&e)); /* all hold the average of the three, not that of the two */
    ending_kill(&e, 0);
    ck_assert(ending_barrier(&e));
    ck_assert_int_eq(ending_decide(&e, &e.failed), FTC_GOSSIP_ANEW);
    for (int rank = 1; rank < 3; rank++)
        for (size_t i = 0; i < frame.count; i++)
            ck_assert_double_eq(ftc_gossip_initial(gossip_net_rank(e.net, rank))[i],
                                (double)(rank + 1) * (double)(i + 1));
    ending_finish(&e);
}
END_TEST

/* No rank waits until it has settled. */
START_TEST(what_does_not_survive_a_death_ends_with_it)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PUSH_SUM, 8, 1e-12);
    struct ending e;

    ending_begin(&e, &frame);
    ending_kill(&e, 5);
    for (int rank = 0; rank < 8; rank++)
        ck_assert(rank == 5 || ftc_gossip_end_ready(e.end[rank], 0));
    ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_GIVEN_UP);
    ending_finish(&e);
}
END_TEST

START_TEST(a_decision_that_names_others_than_were_removed_is_none)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 8, 1e-6);
    struct ftc_set none = {0};
    struct ending e;

    ending_begin(&e, &frame);
    ck_assert_int_eq(ftc_set_init(&none, 8), 0);
    ending_kill(&e, 3);
    ck_assert(ending_barrier(&e));
    ck_assert_int_eq(ending_decide(&e, &none),
                     FTC_GOSSIP_AGAIN); /* all know that 3 is dead, but the decision does not */
    ck_assert(ending_barrier(&e));
    ck_assert_int_eq(ending_decide(&e, &e.failed), FTC_GOSSIP_AGREED);
    check_average(&e);
    ck_assert_int_eq(ftc_gossip_end_attempts(e.end[0]), 2);
    ftc_set_fini(&none);
    ending_finish(&e);
}
END_TEST

START_TEST(who_does_not_know_of_a_death_that_others_know_of_stops_it)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 8, 1e-6);
    struct ending e;

    ending_begin(&e, &frame);
    gossip_net_kill(e.net, 3);
    ftc_set_add(&e.failed, 3);
    for (int rank = 0; rank < 7; rank++)
        ftc_gossip_end_removed(e.end[rank], 3);
    ck_assert(ending_barrier(&e));
    ck_assert_int_eq(ending_decide(&e, &e.failed), FTC_GOSSIP_AGAIN);
    ftc_gossip_end_removed(e.end[7], 3);
    ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_AGREED);
    check_average(&e);
    ending_finish(&e);
}
END_TEST

START_TEST(who_moves_after_the_barrier_stops_it)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 8, 1e-6);
    struct ftc_flip flip = {.variable = FTC_FLIP_INPUT, .bit = 62};
    struct ending e;

    ending_begin(&e, &frame);
    ck_assert(ending_barrier(&e));
    ftc_gossip_unsettle(gossip_net_rank(e.net, 2)); /* as a death would */
    ending_look(&e);
    ck_assert_int_eq(ending_decide(&e, &e.failed), FTC_GOSSIP_AGAIN);
    ck_assert(ending_barrier(&e));
    ck_assert(ftc_gossip_flip(gossip_net_rank(e.net, 2),
                              &flip)); /* the flip heals before any rank has settled again */
    ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_AGREED);
    check_average(&e);
    ending_finish(&e);
}
END_TEST

START_TEST(one_that_gives_up_ends_it_for_all)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 8, 1e-16);
    struct ending e;

    ending_begin(&e, &frame);
    for (int rank = 0; rank < 8; rank++)
        e.sent[rank] = 100000;
    ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_GIVEN_UP);
    ck_assert_int_eq(ftc_gossip_end_attempts(e.end[0]), 1);
    ck_assert_int_eq(ftc_gossip_end_cause(e.end[0]), FTC_GOSSIP_CAUSE_MESSAGES);
    ending_finish(&e);
    frame.accuracy = 1e-6;
    ending_begin(&e, &frame);
    ftc_gossip_end_give_up(e.end[4]);
    ck_assert_int_eq(ending_run(&e),
                     FTC_GOSSIP_GIVEN_UP); /* though all have settled, and near each other */
    ck_assert_int_eq(ftc_gossip_end_cause(e.end[0]), FTC_GOSSIP_CAUSE_HOPELESS);
    ending_finish(&e);
}
END_TEST

START_TEST(one_whose_time_is_up_ends_it_for_all_and_all_know_why)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 8, 1e-6);
    struct ending e;

    ending_begin(&e, &frame);
    ftc_gossip_end_late(e.end[4]);
    ck_assert(ftc_gossip_end_ready(e.end[4], 0)); /* it waits for nothing more */
    ck_assert(!ftc_gossip_end_ready(e.end[3], 0));
    ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_GIVEN_UP);
    for (int rank = 0; rank < 8; rank++)
        ck_assert_int_eq(ftc_gossip_end_cause(e.end[rank]), FTC_GOSSIP_CAUSE_TIME);
    ending_finish(&e);
}
END_TEST

/* The estimate of the rank has stood still, but no rank has answered its last push, which may carry
 * anything. */
START_TEST(one_that_was_not_answered_has_not_stood_still)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 8, 1e-6);
    struct ending e;

    ending_begin(&e, &frame);
    for (int steps = 0; steps < MOST_STEPS && !ftc_gossip_settled(gossip_net_rank(e.net, 4));
         steps++) {
        gossip_net_step(e.net);
        ending_look(&e);
    }
    for (int i = 0; i < 4; i++)
        gossip_net_fire(e.net,
                        4); /* along one link after the other: only links where it has the turn */
    ftc_gossip_end_look(e.end[4]);
    ck_assert(!ftc_gossip_end_ready(e.end[4], 0));
    ftc_gossip_end_late(e.end[4]);
    ftc_gossip_end_enter(e.end[4], 0);
    const double *own = ftc_gossip_end_freeze(e.end[4]);
    ck_assert_double_eq(own[3], 1); /* the greater rank of the second pair: it has moved */
    ending_finish(&e);
}
END_TEST

START_TEST(an_initial_value_that_cannot_be_repaired_ends_it)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFLC, 8, 1e-6);
    struct ftc_flip flip = {.variable = FTC_FLIP_INPUT, .bit = 51};
    struct ending e;

    ending_begin(&e, &frame);
    for (int steps = 0; steps < 100; steps++) {
        gossip_net_step(e.net);
        ending_look(&e);
    }
    ending_kill(&e, 3); /* a part of the last estimate, from which it would be repaired, is gone */
    ck_assert(ftc_gossip_flip(gossip_net_rank(e.net, 2), &flip));
    ck_assert_int_eq(ending_run(&e), FTC_GOSSIP_GIVEN_UP);
    ck_assert_int_eq(ftc_gossip_end_attempts(e.end[0]),
                     20); /* though all estimates stand still, and near each other */
    ending_finish(&e);
}
END_TEST

START_TEST(attempts_end)
{
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 4, 1e-6);
    struct ftc_set other = {0};
    struct ending e;

    ending_begin(&e, &frame);
    ck_assert_int_eq(ftc_set_init(&other, 4), 0);
    ftc_set_add(&other, 1); /* never a rank that was removed */
    for (int attempt = 1; attempt <= 20; attempt++) {
        ck_assert(ending_barrier(&e));
        ck_assert_int_eq(ending_decide(&e, &other),
                         attempt < 20 ? FTC_GOSSIP_AGAIN : FTC_GOSSIP_GIVEN_UP);
    }
    ftc_set_fini(&other);
    ending_finish(&e);
}
END_TEST

START_TEST(estimates_that_lie_apart_or_are_not_finite_are_none)
{
    static const double lows[] = {-1, NAN, -INFINITY, -1};
    static const double highs[] = {1.0001, 1, 1, INFINITY};
    struct gossip_net_frame frame = ending_frame(FTC_GOSSIP_PFCC, 4, 1e-6);
    struct ending e;
    double decided[ROOM], average[COUNT_MOST];

    ending_begin(&e, &frame);
    for (size_t i = 0; i < sizeof(lows) / sizeof(lows[0]); i++) {
        ck_assert(ending_barrier(&e));
        memcpy(decided, ftc_gossip_end_freeze(e.end[0]),
               sizeof(double) * ftc_gossip_end_contributes(3));
        size_t last = ftc_gossip_end_contributes(3) - 2;
        decided[last] = lows[i];
        decided[last + 1] = highs[i];
        ck_assert_int_eq(ftc_gossip_end_decide(e.end[0], decided, &e.failed, average),
                         FTC_GOSSIP_AGAIN);
    }
    ending_finish(&e);
}
END_TEST

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("gossip_end");
    TCase *agree = tcase_create("agree");
    tcase_set_timeout(agree, TEST_SANITIZED ? 600 : 120);
    tcase_add_loop_test(agree, what_all_agree_on_is_the_average, 0, FTC_GOSSIP_ALGORITHMS);
    tcase_add_test(agree, without_turns_nothing_that_was_sent_before_is_left_out);
    tcase_add_test(agree, who_does_not_wait_for_marks_agrees_on_what_is_wrong);
    tcase_add_test(agree, marks_that_carry_nothing_settle_no_rank);
    tcase_add_test(agree, a_push_that_is_owed_is_owed_after_a_mark_too);
    tcase_add_loop_test(agree, a_death_leaves_the_average_of_the_others_or_ends_it, 0,
                        FTC_GOSSIP_ALGORITHMS);
    tcase_add_loop_test(agree, survivors_that_a_death_has_parted_begin_anew, 0, 3);
    tcase_add_test(agree, what_does_not_survive_a_death_ends_with_it);
    suite_add_tcase(suite, agree);
    TCase *refuse = tcase_create("refuse");
    tcase_set_timeout(refuse, TEST_SANITIZED ? 600 : 60);
    tcase_add_test(refuse, a_decision_that_names_others_than_were_removed_is_none);
    tcase_add_test(refuse, who_does_not_know_of_a_death_that_others_know_of_stops_it);
    tcase_add_test(refuse, who_moves_after_the_barrier_stops_it);
    tcase_add_test(refuse, one_that_gives_up_ends_it_for_all);
    tcase_add_test(refuse, one_whose_time_is_up_ends_it_for_all_and_all_know_why);
    tcase_add_test(refuse, one_that_was_not_answered_has_not_stood_still);
    tcase_add_test(refuse, an_initial_value_that_cannot_be_repaired_ends_it);
    tcase_add_test(refuse, attempts_end);
    tcase_add_test(refuse, estimates_that_lie_apart_or_are_not_finite_are_none);
    suite_add_tcase(suite, refuse);
    return test_suite_run(suite);
}
