/* One lease alone: the test is its clock and all other nodes. */
#include "tests/detector/lease_net.h"
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

#define NODES 25

/* A lease that the test drives by hand, and its outputs. */
struct driven {
    struct ftc_lease *lease;
    struct ftc_lease_box box; /* contents of the messages to it */
    struct ftc_set refused, unheard;
    uint32_t beat;         /* its last beat; 0: none */
    uint64_t probes, asks; /* terms of the last ones; 0: none */
    uint64_t declares_ns;  /* when it first declared a node failed; 0: not yet */
    int beats_to[NODES];   /* how many it has sent to each node */
    /* how many it has sent; nodes and pairs of the last one */
    int echoes, echo_nodes, echo_pairs;
};

static void take(struct driven *d, uint64_t now)
{
    struct ftc_lease_output output;
    while (ftc_lease_next_output(d->lease, &output)) {
        if (output.kind == FTC_LEASE_SEND && output.message.kind == FTC_LEASE_BEAT) {
            d->beat = output.message.beat;
            if (output.node < NODES)
                d->beats_to[output.node]++;
        }
        if (output.kind == FTC_LEASE_SEND && output.message.kind == FTC_LEASE_ECHO) {
            d->echoes++;
            d->echo_nodes = ftc_set_count(output.message.nodes);
            d->echo_pairs = output.message.pairs;
        }
        if (output.kind == FTC_LEASE_SEND && output.message.kind == FTC_LEASE_PROBE)
            d->probes = output.message.term;
        if (output.kind == FTC_LEASE_SEND && output.message.kind == FTC_LEASE_ASK)
            d->asks = output.message.term;
        if (output.kind == FTC_LEASE_DECLARE && d->declares_ns == 0)
            d->declares_ns = now;
    }
}

static void drive(struct driven *d, int self, int nodes, uint64_t now)
{
    struct ftc_lease_settings settings = {
        .self = self, .nodes = nodes, .timeout_ns = LEASE_TIMEOUT, .period_ns = LEASE_PERIOD};
    *d = (struct driven){0};
    ck_assert_int_eq(ftc_lease_box_init(&d->box, nodes), 0);
    ck_assert_int_eq(ftc_set_init(&d->refused, nodes), 0);
    ck_assert_int_eq(ftc_set_init(&d->unheard, nodes), 0);
    ck_assert_int_eq(ftc_lease_create(&d->lease, &settings), 0);
    ftc_lease_start(d->lease, now);
    take(d, now);
}

static void tick(struct driven *d, uint64_t now)
{
    ftc_lease_tick(d->lease, now);
    take(d, now);
}

static void hear(struct driven *d, int from, enum ftc_lease_kind kind, uint64_t term, uint64_t now)
{
    int unheard = ftc_set_next(&d->unheard, 0);
    ftc_set_clear(&d->box.nodes);
    ftc_set_add(&d->box.nodes, from);
    d->box.pair[0] = (struct ftc_lease_pair){from, unheard};
    struct ftc_lease_message message = {.kind = kind,
                                        .term = term,
                                        .leader = from,
                                        .beat = kind == FTC_LEASE_BEAT ? 1 : d->beat,
                                        .refused = &d->refused,
                                        .declared = &d->box.declared,
                                        .silent = &d->box.silent,
                                        .nodes = &d->box.nodes,
                                        .named = d->box.named,
                                        .pair = d->box.pair,
                                        .pairs = unheard >= 0};
    ftc_lease_receive(d->lease, from, &message, now);
    take(d, now);
}

static void stop(struct driven *d)
{
    ftc_lease_destroy(d->lease);
    ftc_lease_box_fini(&d->box);
    ftc_set_fini(&d->refused);
    ftc_set_fini(&d->unheard);
}

/* If messages take half a period in all, answers come to the probe before the last one. */
START_TEST(answers_to_the_last_two_probes_make_a_quorum)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    drive(&d, 1, 5, now);
    now += LEASE_TIMEOUT / 5;
    tick(&d, now);
    hear(&d, 2, FTC_LEASE_WOULD, 2, now + LEASE_PERIOD / 3);
    now += LEASE_PERIOD / 2;
    tick(&d, now);
    ck_assert_uint_eq(d.asks, 0);
    hear(&d, 3, FTC_LEASE_WOULD, 2, now + LEASE_PERIOD / 3);
    ck_assert_uint_eq(d.asks, 2);
    stop(&d);
}
END_TEST

/* The wait E + L: grants of the leader before may hold until then. */
START_TEST(a_new_leader_declares_nobody_before_old_leases_are_over)
{
    struct driven d;
    uint64_t start = 1000 * LEASE_PERIOD, elected = start + LEASE_TIMEOUT / 2, now = elected;
    drive(&d, 1, 3, start);
    tick(&d, elected);
    hear(&d, 2, FTC_LEASE_WOULD, 2, elected);
    hear(&d, 2, FTC_LEASE_VOTE, 2, elected);
    ck_assert_int_eq(ftc_lease_leader(d.lease), 1);
    for (; d.declares_ns == 0 && now < elected + 2 * LEASE_TIMEOUT; now += LEASE_PERIOD / 2) {
        if (ftc_set_has(ftc_lease_refused(d.lease), 0))
            ftc_set_add(&d.refused, 0);
        hear(&d, 2, FTC_LEASE_ECHO, 2, now);
        tick(&d, now);
    }
    ck_assert_uint_ge(d.declares_ns - elected, LEASE_TIMEOUT / 5 + LEASE_TIMEOUT / 2);
    ck_assert_uint_le(d.declares_ns - elected,
                      LEASE_TIMEOUT / 5 + LEASE_TIMEOUT / 2 + LEASE_PERIOD);
    stop(&d);
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
    drive(&d, 0, 3, start);
    for (int from = 1; from < 3; from++)
        hear(&d, from, FTC_LEASE_ECHO, 1, now + (uint64_t)from);
    for (; now < left; now += LEASE_PERIOD / 2)
        tick(&d, now + 2);
    ftc_lease_left(d.lease, 2, left + 2);
    take(&d, left + 2);
    for (; d.declares_ns == 0 && now < left + 2 * LEASE_TIMEOUT; now += LEASE_PERIOD / 2)
        tick(&d, now + 2);
    ck_assert_uint_ge(d.declares_ns - left, LEASE_TIMEOUT / 2);
    ck_assert_uint_le(d.declares_ns - left, LEASE_TIMEOUT / 5 + LEASE_TIMEOUT / 2 + LEASE_PERIOD);
    stop(&d);
}
END_TEST

/* Node 2 has left. It told the leader, but not node 1. Node 1 learns it from the refusal. */
START_TEST(who_could_not_be_told_of_a_node_that_left_is_told_by_the_leader)
{
    struct driven d;
    uint64_t start = 1000 * LEASE_PERIOD, now = start;
    drive(&d, 0, 4, start);
    ftc_lease_left(d.lease, 2, now);
    ftc_set_add(&d.unheard, 2);
    for (; d.declares_ns == 0 && now < start + 2 * LEASE_TIMEOUT; now += LEASE_PERIOD / 2) {
        if (ftc_set_has(ftc_lease_refused(d.lease), 2))
            ftc_set_add(&d.refused, 2);
        hear(&d, 1, FTC_LEASE_ECHO, 1, now);
        hear(&d, 3, FTC_LEASE_ECHO, 1, now);
        tick(&d, now);
    }
    ck_assert_uint_ne(d.declares_ns, 0);
    ck_assert(ftc_set_has(ftc_lease_refused(d.lease), 2));
    ck_assert_int_eq(ftc_set_count(ftc_lease_refused(d.lease)), 1);
    stop(&d);
}
END_TEST

/* Rule 2. Both beats name node 1. */
START_TEST(only_a_backed_leader_grants)
{
    for (int grants = 0; grants < 2; grants++) {
        struct driven d;
        uint64_t now = 1000 * LEASE_PERIOD;
        drive(&d, 1, 3, now);
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
            take(&d, now);
        }
        ck_assert_int_eq(ftc_lease_until(d.lease) != 0, grants);
        stop(&d);
    }
}
END_TEST

/* Its own ranks may have ended meanwhile. Node 3 leaves. */
START_TEST(a_leader_is_awaited_until_all_that_answer_have_a_lease)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    drive(&d, 0, 4, now);
    ck_assert(!ftc_lease_awaited(d.lease, now)); /* it can grant nothing yet */
    hear(&d, 1, FTC_LEASE_ECHO, 1, now + 1);
    ck_assert(ftc_lease_awaited(d.lease, now + 1));
    ftc_lease_left(d.lease, 3, now + 2);
    tick(&d, now += LEASE_PERIOD / 4);
    hear(&d, 2, FTC_LEASE_ECHO, 1, now + 1);
    hear(&d, 1, FTC_LEASE_ECHO, 1, now + 1);
    ck_assert(ftc_lease_awaited(d.lease, now + 1)); /* node 2 is not named yet */
    tick(&d, now += LEASE_PERIOD / 4);
    ck_assert(ftc_lease_awaited(d.lease, now)); /* the beat may be lost */
    hear(&d, 2, FTC_LEASE_ECHO, 1, now + 1);
    ck_assert(!ftc_lease_awaited(d.lease, now + 1));
    stop(&d);
}
END_TEST

START_TEST(a_leader_is_not_awaited_by_the_silent)
{
    struct driven d;
    uint64_t start = 1000 * LEASE_PERIOD, now = start;
    drive(&d, 0, 4, now);
    for (; now < start + LEASE_TIMEOUT; now += LEASE_PERIOD / 2) {
        hear(&d, 1, FTC_LEASE_ECHO, 1, now);
        hear(&d, 2, FTC_LEASE_ECHO, 1, now);
        tick(&d, now);
        bool silent = now - start >= LEASE_TIMEOUT / 2;
        ck_assert(now == start || ftc_lease_awaited(d.lease, now) == !silent);
    }
    stop(&d);
}
END_TEST

START_TEST(a_node_without_ranks_takes_part_in_nothing)
{
    struct ftc_lease_output output;
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    drive(&d, 0, 3, now);
    ftc_lease_left(d.lease, 0, now);
    tick(&d, now + LEASE_PERIOD);
    hear(&d, 1, FTC_LEASE_ASK, 2, now + LEASE_PERIOD);
    tick(&d, now + 2 * LEASE_TIMEOUT);
    ck_assert(!ftc_lease_next_output(d.lease, &output));
    ck_assert_uint_eq(d.beat, 1);
    ck_assert_uint_eq(ftc_lease_due(d.lease), UINT64_MAX);
    stop(&d);
}
END_TEST

/* After the base has shrunk, two nodes may lead in one term. Node 0 is told of the other leader. */
START_TEST(two_leaders_of_a_term_become_one_of_a_later_term)
{
    struct driven d, other;
    uint64_t now = 1000 * LEASE_PERIOD;
    drive(&d, 0, 4, now);
    hear(&d, 2, FTC_LEASE_BEAT, 1, now + LEASE_PERIOD);
    ck_assert_int_eq(ftc_lease_leader(d.lease), 0);
    ck_assert_uint_eq(d.probes, 3);
    drive(&other, 0, 4, now);
    hear(&other, 1, FTC_LEASE_ECHO, 1, now + 1);
    hear(&other, 2, FTC_LEASE_PROBE, d.probes, now + 2);
    ck_assert_uint_eq(other.asks, d.probes);
    stop(&other);
    stop(&d);
}
END_TEST

/* --- in the tree of beats --- */

/* The first beat of node 0 comes, and all nodes are in its tree. */
static void hear_beat(struct driven *d, int from, uint64_t now)
{
    ftc_set_fill(&d->box.nodes);
    struct ftc_lease_message message = {.kind = FTC_LEASE_BEAT,
                                        .term = 1,
                                        .beat = 1,
                                        .refused = &d->refused,
                                        .declared = &d->box.declared,
                                        .silent = &d->box.silent,
                                        .nodes = &d->box.nodes,
                                        .named = d->box.named};
    ftc_lease_receive(d->lease, from, &message, now);
    take(d, now);
}

static void hear_want(struct driven *d, int from, uint32_t last, uint64_t now)
{
    struct ftc_lease_message message = {.kind = FTC_LEASE_WANT,
                                        .term = 1,
                                        .beat = last,
                                        .refused = &d->refused,
                                        .declared = &d->box.declared};
    ftc_lease_receive(d->lease, from, &message, now);
    take(d, now);
}

/* Rule 1, "Echo". The tree of NODES nodes has three levels. Nobody answers from below. */
START_TEST(a_node_deep_in_the_tree_waits_less)
{
    static const struct {
        int self, parent;
        uint64_t wait;
    } depths[] = {{1, 0, LEASE_PERIOD / 4}, {5, 1, LEASE_PERIOD / 4 * 2 / 3}};
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        struct driven d;
        uint64_t now = 1000 * LEASE_PERIOD;
        drive(&d, depths[i].self, NODES, now);
        hear_beat(&d, depths[i].parent, now);
        tick(&d, now + depths[i].wait - 1);
        ck_assert_int_eq(d.echoes, 0);
        tick(&d, now + depths[i].wait);
        ck_assert_int_eq(d.echoes, 1);
        stop(&d);
    }
}
END_TEST

static void hear_pairs(struct driven *d, int from, int pairs, uint64_t now)
{
    ftc_set_clear(&d->box.nodes);
    ftc_set_add(&d->box.nodes, from);
    for (int i = 0; i < pairs; i++)
        d->box.pair[i] = (struct ftc_lease_pair){from, 20 + i};
    struct ftc_lease_message message = {.kind = FTC_LEASE_ECHO,
                                        .term = 1,
                                        .beat = 1,
                                        .refused = &d->refused,
                                        .declared = &d->box.declared,
                                        .nodes = &d->box.nodes,
                                        .pair = d->box.pair,
                                        .pairs = pairs};
    ftc_lease_receive(d->lease, from, &message, now);
    take(d, now);
}

/* Rule 1, "Pairs": or the leader would take node 6 for one that hears all others. */
START_TEST(an_echo_whose_pairs_have_no_room_goes_up_by_itself)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    drive(&d, 1, 300, now);
    hear_beat(&d, 0, now);
    hear_pairs(&d, 5, 200, now + 1);
    ck_assert_int_eq(d.echoes, 0);
    hear_pairs(&d, 6, 100, now + 2);
    ck_assert_int_eq(d.echoes, 1);
    ck_assert(d.echo_nodes == 1 && d.echo_pairs == 100);
    hear_pairs(&d, 7, 50, now + 3);
    tick(&d, now + LEASE_PERIOD / 4);
    ck_assert_int_eq(d.echoes, 2);
    ck_assert(d.echo_nodes == 3 && d.echo_pairs == 250);
    stop(&d);
}
END_TEST

/* Rule 1, "Keep". Node 9 is not right below the leader. It asks since the leader was paused. */
START_TEST(who_has_the_last_beat_is_not_kept)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    drive(&d, 0, NODES, now);
    hear_want(&d, 9, 1, now += 3 * LEASE_PERIOD);
    tick(&d, now);
    hear_want(&d, 9, 1, now);
    tick(&d, now += LEASE_PERIOD);
    ck_assert_uint_eq(d.beat, 3);
    ck_assert_int_eq(d.beats_to[9], 0);
    hear_want(&d, 9, 1, now); /* beat 2 was sent a period ago */
    ck_assert_int_eq(d.beats_to[9], 1);
    tick(&d, now += LEASE_PERIOD);
    ck_assert_int_eq(d.beats_to[9], 2);
    hear_want(&d, 10, 0, now); /* its echoes are lost on their way up */
    ck_assert_int_eq(d.beats_to[10], 1);
    stop(&d);
}
END_TEST

/* Rule 1, "Not reached". Node 20 has not voted, and is not right below the new leader. */
START_TEST(a_new_leader_sends_beats_to_whom_nobody_else_sends_them)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    drive(&d, 1, NODES, now);
    tick(&d, now += LEASE_TIMEOUT / 5);
    for (int from = 2; from < 15; from++)
        hear(&d, from, FTC_LEASE_WOULD, 2, now);
    for (int from = 2; from < 15; from++)
        hear(&d, from, FTC_LEASE_VOTE, 2, now);
    ck_assert_int_eq(ftc_lease_leader(d.lease), 1);
    for (int from = 2; from < NODES; from++)
        if (from != 20)
            hear(&d, from, FTC_LEASE_ECHO, 2, now);
    tick(&d, now + LEASE_PERIOD / 4);
    ck_assert_int_eq(d.beats_to[20], 0);
    tick(&d, now += LEASE_PERIOD * 5 / 4);
    ck_assert_int_eq(d.beats_to[20], 1);
    ck_assert_int_eq(d.beats_to[19], 0);
    hear(&d, 20, FTC_LEASE_ECHO, 2, now);
    tick(&d, now += LEASE_PERIOD);
    ck_assert_int_eq(d.beats_to[20], 1);
    stop(&d);
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
        drive(&d, turns[i].self, 20, now);
        tick(&d, at - 1);
        ck_assert_uint_eq(d.probes, 0);
        tick(&d, at);
        ck_assert_uint_eq(d.probes, 2);
        stop(&d);
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
    tcase_add_test(tcase, a_node_deep_in_the_tree_waits_less);
    tcase_add_test(tcase, an_echo_whose_pairs_have_no_room_goes_up_by_itself);
    tcase_add_test(tcase, who_has_the_last_beat_is_not_kept);
    tcase_add_test(tcase, a_new_leader_sends_beats_to_whom_nobody_else_sends_them);
    tcase_add_test(tcase, a_node_leaves_two_periods_at_most_to_those_before_it);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
