/* One lease alone: the test is its clock and all other nodes. */
#include "tests/detector/lease_driven.h"
#include "tests/suite.h"

/* Does the first beat to `node` name it, so that it gets a lease? -1: there is no beat. */
static int granted(struct ftc_lease *lease, int node)
{
    struct ftc_lease_output output;
    int named = -1;
    while (ftc_lease_next_output(lease, &output))
        if (output.kind == FTC_LEASE_SEND && output.node == node &&
            output.message.kind == FTC_LEASE_BEAT)
            named = output.message.grants && ftc_set_has(&output.message.named[0], node);
    return named;
}

/* A vote binds for two periods from the question. A node that was paused meanwhile leads, but
 * grants nothing before a quorum echoes. */
START_TEST(votes_that_are_counted_late_back_nobody)
{
    for (int late = 0; late < 2; late++) {
        struct ftc_lease_settings settings = {
            .self = 1, .nodes = 3, .timeout_ns = LEASE_TIMEOUT, .period_ns = LEASE_PERIOD};
        struct ftc_set none;
        struct ftc_lease *lease;
        uint64_t now = 1000 * LEASE_PERIOD;
        ck_assert_int_eq(ftc_set_init(&none, 3), 0);
        ck_assert_int_eq(ftc_lease_create(&lease, &settings), 0);
        ftc_lease_start(lease, now);
        now += LEASE_TIMEOUT / 5;
        ftc_lease_tick(lease, now);
        struct ftc_lease_message message = {
            .kind = FTC_LEASE_WOULD, .term = 2, .refused = &none, .declared = &none};
        ftc_lease_receive(lease, 2, &message, now);
        ck_assert_int_eq(granted(lease, 2), -1);
        message.kind = FTC_LEASE_VOTE;
        ftc_lease_receive(lease, 2, &message, now + (late ? 2 * LEASE_PERIOD : LEASE_PERIOD));
        ck_assert_int_eq(ftc_lease_leader(lease), 1);
        ck_assert_int_eq(granted(lease, 2), !late);
        ftc_lease_destroy(lease);
        ftc_set_fini(&none);
    }
}
END_TEST

/* If messages take half a period in all, answers come to the probe before the last one. */
START_TEST(answers_to_the_last_two_probes_make_a_quorum)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 1, 5, now);
    now += LEASE_TIMEOUT / 5;
    driven_tick(&d, now);
    driven_hear(&d, 2, FTC_LEASE_WOULD, 2, now + LEASE_PERIOD / 3);
    now += LEASE_PERIOD / 2;
    driven_tick(&d, now);
    ck_assert_uint_eq(d.asks, 0);
    driven_hear(&d, 3, FTC_LEASE_WOULD, 2, now + LEASE_PERIOD / 3);
    ck_assert_uint_eq(d.asks, 2);
    driven_stop(&d);
}
END_TEST

/* The wait E + L: grants of the leader before may hold until then. */
START_TEST(a_new_leader_declares_nobody_before_old_leases_are_over)
{
    struct driven d;
    uint64_t start = 1000 * LEASE_PERIOD, elected = start + LEASE_TIMEOUT / 2, now = elected;
    driven_start(&d, 1, 3, start);
    driven_tick(&d, elected);
    driven_hear(&d, 2, FTC_LEASE_WOULD, 2, elected);
    driven_hear(&d, 2, FTC_LEASE_VOTE, 2, elected);
    ck_assert_int_eq(ftc_lease_leader(d.lease), 1);
    for (; d.declares_ns == 0 && now < elected + 2 * LEASE_TIMEOUT; now += LEASE_PERIOD / 2) {
        if (ftc_set_has(ftc_lease_refused(d.lease), 0))
            ftc_set_add(&d.refused, 0);
        driven_hear(&d, 2, FTC_LEASE_ECHO, 2, now);
        driven_tick(&d, now);
    }
    ck_assert_uint_ge(d.declares_ns - elected, LEASE_TIMEOUT / 5 + LEASE_TIMEOUT / 2);
    ck_assert_uint_le(d.declares_ns - elected,
                      LEASE_TIMEOUT / 5 + LEASE_TIMEOUT / 2 + LEASE_PERIOD);
    driven_stop(&d);
}
END_TEST

/* Nodes 1 and 2 do not hear the leader any more, and elect node 1. When node 2 leaves, node 0 alone
 * is half of the base with its lowest node, and leads again. From then on the lease of node 1, by
 * the last echo of node 2, holds for half a timeout. */
START_TEST(a_leader_by_a_smaller_base_declares_nobody_before_leases_are_over)
{
    struct driven d;
    uint64_t start = 1000 * LEASE_PERIOD, left = start + LEASE_TIMEOUT / 2 - LEASE_PERIOD,
             now = start;
    driven_start(&d, 0, 3, start);
    for (int from = 1; from < 3; from++)
        driven_hear(&d, from, FTC_LEASE_ECHO, 1, now + (uint64_t)from);
    for (; now < left; now += LEASE_PERIOD / 2)
        driven_tick(&d, now + 2);
    ftc_lease_left(d.lease, 2, left + 2);
    driven_take(&d, left + 2);
    for (; d.declares_ns == 0 && now < left + 2 * LEASE_TIMEOUT; now += LEASE_PERIOD / 2)
        driven_tick(&d, now + 2);
    ck_assert_uint_ge(d.declares_ns - left, LEASE_TIMEOUT / 2);
    ck_assert_uint_le(d.declares_ns - left, LEASE_TIMEOUT / 5 + LEASE_TIMEOUT / 2 + LEASE_PERIOD);
    driven_stop(&d);
}
END_TEST

/* Node 2 has left. It told the leader, but not node 1. Node 1 learns it from the refusal. */
START_TEST(who_could_not_be_told_of_a_node_that_left_is_told_by_the_leader)
{
    struct driven d;
    uint64_t start = 1000 * LEASE_PERIOD, now = start;
    driven_start(&d, 0, 4, start);
    ftc_lease_left(d.lease, 2, now);
    ftc_set_add(&d.unheard, 2);
    for (; d.declares_ns == 0 && now < start + 2 * LEASE_TIMEOUT; now += LEASE_PERIOD / 2) {
        if (ftc_set_has(ftc_lease_refused(d.lease), 2))
            ftc_set_add(&d.refused, 2);
        driven_hear(&d, 1, FTC_LEASE_ECHO, 1, now);
        driven_hear(&d, 3, FTC_LEASE_ECHO, 1, now);
        driven_tick(&d, now);
    }
    ck_assert_uint_ne(d.declares_ns, 0);
    ck_assert(ftc_set_has(ftc_lease_refused(d.lease), 2));
    ck_assert_int_eq(ftc_set_count(ftc_lease_refused(d.lease)), 1);
    driven_stop(&d);
}
END_TEST

/* Rule 2. Both beats name node 1. */
START_TEST(only_a_backed_leader_grants)
{
    for (int grants = 0; grants < 2; grants++) {
        struct driven d;
        uint64_t now = 1000 * LEASE_PERIOD;
        driven_start(&d, 1, 3, now);
        for (uint32_t beat = 1; beat <= 2; beat++, now += LEASE_PERIOD) {
            ftc_set_fill(&d.box.nodes);
            ftc_set_clear(&d.box.named[0]);
            if (beat == 2)
                ftc_set_add(&d.box.named[0], 1);
            struct ftc_lease_message message = {.kind = FTC_LEASE_BEAT,
                                                .term = 1,
                                                .beat = beat,
                                                .refused = &d.refused,
                                                .declared = &d.box.declared,
                                                .silent = &d.box.silent,
                                                .nodes = &d.box.nodes,
                                                .named = d.box.named,
                                                .grants = grants};
            ftc_lease_receive(d.lease, 0, &message, now);
            driven_take(&d, now);
        }
        ck_assert_int_eq(ftc_lease_until(d.lease) != 0, grants);
        driven_stop(&d);
    }
}
END_TEST

/* Its own ranks may have ended meanwhile. Node 3 leaves. */
START_TEST(a_leader_is_awaited_until_all_that_answer_have_a_lease)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 0, 4, now);
    ck_assert(!ftc_lease_awaited(d.lease, now)); /* it can grant nothing yet */
    driven_hear(&d, 1, FTC_LEASE_ECHO, 1, now + 1);
    ck_assert(ftc_lease_awaited(d.lease, now + 1));
    ftc_lease_left(d.lease, 3, now + 2);
    driven_tick(&d, now += LEASE_PERIOD / 4);
    driven_hear(&d, 2, FTC_LEASE_ECHO, 1, now + 1);
    driven_hear(&d, 1, FTC_LEASE_ECHO, 1, now + 1);
    ck_assert(ftc_lease_awaited(d.lease, now + 1)); /* node 2 is not named yet */
    driven_tick(&d, now += LEASE_PERIOD / 4);
    ck_assert(ftc_lease_awaited(d.lease, now)); /* the beat may be lost */
    driven_hear(&d, 2, FTC_LEASE_ECHO, 1, now + 1);
    ck_assert(!ftc_lease_awaited(d.lease, now + 1));
    driven_stop(&d);
}
END_TEST

START_TEST(a_leader_is_not_awaited_by_the_silent)
{
    struct driven d;
    uint64_t start = 1000 * LEASE_PERIOD, now = start;
    driven_start(&d, 0, 4, now);
    for (; now < start + LEASE_TIMEOUT; now += LEASE_PERIOD / 2) {
        driven_hear(&d, 1, FTC_LEASE_ECHO, 1, now);
        driven_hear(&d, 2, FTC_LEASE_ECHO, 1, now);
        driven_tick(&d, now);
        bool silent = now - start >= LEASE_TIMEOUT / 2;
        ck_assert(now == start || ftc_lease_awaited(d.lease, now) == !silent);
    }
    driven_stop(&d);
}
END_TEST

START_TEST(a_node_without_ranks_takes_part_in_nothing)
{
    struct ftc_lease_output output;
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 0, 3, now);
    ftc_lease_left(d.lease, 0, now);
    driven_tick(&d, now + LEASE_PERIOD);
    driven_hear(&d, 1, FTC_LEASE_ASK, 2, now + LEASE_PERIOD);
    driven_tick(&d, now + 2 * LEASE_TIMEOUT);
    ck_assert(!ftc_lease_next_output(d.lease, &output));
    ck_assert_uint_eq(d.beat, 1);
    ck_assert_uint_eq(ftc_lease_due(d.lease), UINT64_MAX);
    driven_stop(&d);
}
END_TEST

/* After the base has shrunk, two nodes may lead in one term. Node 0 is told of the other leader. */
START_TEST(two_leaders_of_a_term_become_one_of_a_later_term)
{
    struct driven d, other;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 0, 4, now);
    driven_hear(&d, 2, FTC_LEASE_BEAT, 1, now + LEASE_PERIOD);
    ck_assert_int_eq(ftc_lease_leader(d.lease), 0);
    ck_assert_uint_eq(d.probes, 3);
    driven_start(&other, 0, 4, now);
    driven_hear(&other, 1, FTC_LEASE_ECHO, 1, now + 1);
    driven_hear(&other, 2, FTC_LEASE_PROBE, d.probes, now + 2);
    ck_assert_uint_eq(other.asks, d.probes);
    driven_stop(&other);
    driven_stop(&d);
}
END_TEST

/* Node 1 of DRIVEN_NODES is elected by the nodes to 14. */
static void elect(struct driven *d, uint64_t *now)
{
    driven_start(d, 1, DRIVEN_NODES, *now);
    driven_tick(d, *now += LEASE_TIMEOUT / 5);
    for (int from = 2; from < 15; from++)
        driven_hear(d, from, FTC_LEASE_WOULD, 2, *now);
    for (int from = 2; from < 15; from++)
        driven_hear(d, from, FTC_LEASE_VOTE, 2, *now);
    ck_assert_int_eq(ftc_lease_leader(d->lease), 1);
}

/* Rule 1, "Not reached". Node 20 has not voted, and is not right below the new leader. */
START_TEST(a_new_leader_sends_beats_to_whom_nobody_else_sends_them)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    elect(&d, &now);
    for (int from = 2; from < DRIVEN_NODES; from++)
        if (from != 20)
            driven_hear(&d, from, FTC_LEASE_ECHO, 2, now);
    driven_tick(&d, now + LEASE_PERIOD / 4);
    ck_assert_int_eq(d.beats_to[20], 0);
    driven_tick(&d, now += LEASE_PERIOD * 5 / 4);
    ck_assert_int_eq(d.beats_to[20], 1);
    ck_assert_int_eq(d.beats_to[19], 0);
    driven_hear(&d, 20, FTC_LEASE_ECHO, 2, now);
    driven_tick(&d, now += LEASE_PERIOD);
    ck_assert_int_eq(d.beats_to[20], 1);
    driven_stop(&d);
}
END_TEST

/* Nobody echoes, so from 2 P on the leader is not backed. A node leaves each P/4. */
START_TEST(nodes_that_leave_do_not_put_off_beats_to_whom_nobody_else_sends_them)
{
    static const int leaves[] = {24, 23, 22, 21, 19, 18, 17, 16};
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    elect(&d, &now);
    for (int quarter = 0; quarter < 8; quarter++)
        driven_tick(&d, now += LEASE_PERIOD / 4);
    int before = d.beats_to[20];
    for (int i = 0; i < 8; i++) {
        driven_left(&d, leaves[i], now += LEASE_PERIOD / 4);
        driven_tick(&d, now);
    }
    ck_assert_int_eq(d.beats_to[20] - before, 2);
    driven_stop(&d);
}
END_TEST

/* E + L after the election, or after the base became smaller while the leader was not backed. Node
 * 20 has voted late, and echoes nothing. */
START_TEST(beats_go_to_whom_nobody_else_sends_them_until_older_leases_are_over)
{
    for (int shrinks = 0; shrinks < 2; shrinks++) {
        struct driven d;
        uint64_t now = 1000 * LEASE_PERIOD;
        int sent[20];
        elect(&d, &now);
        driven_hear(&d, 20, FTC_LEASE_VOTE, 2, now);
        for (int period = 1; period < 18; period++) {
            for (int from = 2; from < DRIVEN_NODES && (period < 6 || period > 11); from++)
                if (from != 20)
                    driven_hear(&d, from, FTC_LEASE_ECHO, 2, now);
            driven_tick(&d, now += LEASE_PERIOD);
            if (period == 11 && shrinks)
                driven_left(&d, 24, now);
            sent[period] = d.beats_to[20];
        }
        ck_assert_int_eq(sent[13] - sent[9], 4);
        ck_assert_int_eq(sent[17] - sent[14], shrinks ? 3 : 0);
        driven_stop(&d);
    }
}
END_TEST

/* Rule 5, "When". Nine nodes come before node 10, and have died with the leader. */
START_TEST(a_node_leaves_two_periods_at_most_to_those_before_it)
{
    static const struct {
        int self;
        uint64_t wait;
    } turns[] = {{1, 0}, {2, LEASE_PERIOD}, {10, LEASE_PERIOD + 8 * 2 * LEASE_PERIOD / 20}};
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        struct driven d;
        uint64_t now = 1000 * LEASE_PERIOD, at = now + LEASE_TIMEOUT / 5 + turns[i].wait;
        driven_start(&d, turns[i].self, 20, now);
        driven_tick(&d, at - 1);
        ck_assert_uint_eq(d.probes, 0);
        driven_tick(&d, at);
        ck_assert_uint_eq(d.probes, 2);
        driven_stop(&d);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("one lease");
    TCase *tcase = tcase_create("one lease");
    tcase_add_test(tcase, votes_that_are_counted_late_back_nobody);
    tcase_add_test(tcase, answers_to_the_last_two_probes_make_a_quorum);
    tcase_add_test(tcase, a_new_leader_declares_nobody_before_old_leases_are_over);
    tcase_add_test(tcase, a_leader_by_a_smaller_base_declares_nobody_before_leases_are_over);
    tcase_add_test(tcase, who_could_not_be_told_of_a_node_that_left_is_told_by_the_leader);
    tcase_add_test(tcase, only_a_backed_leader_grants);
    tcase_add_test(tcase, a_leader_is_awaited_until_all_that_answer_have_a_lease);
    tcase_add_test(tcase, a_leader_is_not_awaited_by_the_silent);
    tcase_add_test(tcase, a_node_without_ranks_takes_part_in_nothing);
    tcase_add_test(tcase, two_leaders_of_a_term_become_one_of_a_later_term);
    tcase_add_test(tcase, a_new_leader_sends_beats_to_whom_nobody_else_sends_them);
    tcase_add_test(tcase, nodes_that_leave_do_not_put_off_beats_to_whom_nobody_else_sends_them);
    tcase_add_test(tcase, beats_go_to_whom_nobody_else_sends_them_until_older_leases_are_over);
    tcase_add_test(tcase, a_node_leaves_two_periods_at_most_to_those_before_it);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
