/* Leases: which nodes go on when nodes die, pause, or cannot hear each other. */
#include "tests/detector/lease_net.h"
#include "tests/random.h"
#include "tests/suite.h"

#define BOUND (LEASE_TIMEOUT + 2 * LEASE_PERIOD)

static uint64_t seed_of(int i)
{
    struct test_random random = test_random_start();
    random.state += (uint64_t)i;
    return test_random_bits(&random);
}

static struct lease_net *warm(int nodes, int i)
{
    struct lease_net *net = lease_net_new(nodes, 0, seed_of(i));
    lease_net_run(net, 3 * LEASE_TIMEOUT);
    for (int node = 0; node < nodes; node++)
        ck_assert(lease_net_is_up(net, node));
    return net;
}

/* All nodes in `side` are up and have declared all others failed. All others are dead or have
 * ended. */
static void expect_only(const struct lease_net *net, int nodes, unsigned side)
{
    for (int i = 0; i < nodes; i++) {
        ck_assert_msg(lease_net_is_up(net, i) == (side >> i & 1), "node %d of %d", i, nodes);
        for (int j = 0; j < nodes && (side >> i & 1); j++)
            ck_assert_msg(lease_net_declared_by(net, i, j) == !(side >> j & 1),
                          "node %d of node %d", i, j);
    }
}

START_TEST(nobody_is_refused_while_all_can_talk)
{
    struct lease_net *net = warm(_i, _i);
    lease_net_run(net, 50 * LEASE_TIMEOUT);
    for (int node = 0; node < _i; node++)
        ck_assert(lease_net_is_up(net, node));
    ck_assert_int_eq(lease_net_refused(net), 0);
    lease_net_free(net);
}
END_TEST

/* The leader is node 0. */
START_TEST(a_dead_node_is_declared_in_time)
{
    for (int victim = 0; victim < 5; victim++) {
        struct lease_net *net = warm(5, _i * 5 + victim);
        uint64_t died = lease_net_now(net);
        lease_net_kill(net, victim);
        lease_net_run(net, BOUND + LEASE_PERIOD);
        expect_only(net, 5, 31u & ~(1u << victim));
        ck_assert_msg(lease_net_declared(net, victim) - died <= BOUND,
                      "node %d after %.2f timeouts", victim,
                      (double)(lease_net_declared(net, victim) - died) / (double)LEASE_TIMEOUT);
        lease_net_free(net);
    }
}
END_TEST

START_TEST(the_side_with_the_majority_goes_on_and_the_other_ends)
{
    static const struct {
        int nodes;
        unsigned side; /* the nodes that go on */
    } cuts[] = {{3, 3}, {3, 6}, {5, 7}, {5, 0x1c}, {5, 0x16}, {7, 0x78},
                {4, 9}, {4, 3}, {2, 1}, {6, 0x07}, {6, 0x31}};
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct lease_net *net = warm(cuts[i].nodes, _i * 100 + (int)i);
        lease_net_split(net, cuts[i].side);
        lease_net_run(net, 3 * LEASE_TIMEOUT);
        expect_only(net, cuts[i].nodes, cuts[i].side);
        lease_net_split(net, 0); /* too late for nodes that have ended, harmless for the others */
        lease_net_run(net, 3 * LEASE_TIMEOUT);
        expect_only(net, cuts[i].nodes, cuts[i].side);
        lease_net_free(net);
    }
}
END_TEST

START_TEST(a_cut_that_heals_soon_costs_nobody_anything)
{
    struct lease_net *net = warm(5, _i);
    for (unsigned side = 1; side < 31; side++) {
        lease_net_split(net, side);
        lease_net_run(net, LEASE_TIMEOUT / 5);
        lease_net_split(net, 0);
        lease_net_run(net, LEASE_TIMEOUT);
    }
    for (int node = 0; node < 5; node++)
        ck_assert(lease_net_is_up(net, node));
    ck_assert_int_eq(lease_net_refused(net), 0);
    lease_net_free(net);
}
END_TEST

/* Of two nodes, the second cannot tell the end of the first from a cut, unless somebody has seen
 * the end. */
START_TEST(a_node_that_was_seen_to_end_costs_nobody_its_life)
{
    for (int seen = 0; seen < 2; seen++) {
        struct lease_net *net = warm(2, seen);
        lease_net_kill(net, 0);
        lease_net_run(net, LEASE_PERIOD);
        if (seen)
            lease_net_left(net, 0);
        lease_net_run(net, 2 * LEASE_TIMEOUT);
        ck_assert_int_eq(lease_net_is_up(net, 1), seen);
        ck_assert_int_eq(lease_net_fenced(net, 1), !seen);
        lease_net_free(net);
    }
}
END_TEST

static void part(struct lease_net *net, int a, int b, bool cut)
{
    lease_net_cut(net, a, b, cut);
    lease_net_cut(net, b, a, cut);
}

/* Rule 8. The leader stays the same. The lease of the other node must be over before the node is
 * declared. */
START_TEST(of_two_that_cannot_reach_each_other_the_higher_one_goes)
{
    static const int pairs[][2] = {{1, 2}, {3, 1}, {2, 4}, {0, 3}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        int a = pairs[i][0], b = pairs[i][1], goes = a > b ? a : b;
        struct lease_net *net = warm(5, _i * 10 + (int)i);
        uint64_t cut = lease_net_now(net);
        part(net, a, b, true);
        lease_net_run(net, 2 * LEASE_TIMEOUT);
        expect_only(net, 5, 31u & ~(1u << goes));
        ck_assert_msg(lease_net_declared(net, goes) - cut <=
                          LEASE_TIMEOUT * 3 / 2 + 2 * LEASE_PERIOD,
                      "nodes %d and %d: after %.2f timeouts", a, b,
                      (double)(lease_net_declared(net, goes) - cut) / (double)LEASE_TIMEOUT);
        lease_net_free(net);
    }
}
END_TEST

/* Rule 8, where a node greets three others in a round. Nodes that seldom greet each other find out
 * later that they cannot reach each other. */
START_TEST(of_two_that_seldom_greet_each_other_one_goes)
{
    struct lease_net *net = lease_net_new(LEASE_NODES, 3, seed_of(_i));
    lease_net_run(net, 3 * LEASE_TIMEOUT);
    part(net, 2, 6, true);
    lease_net_run(net, 6 * LEASE_TIMEOUT);
    expect_only(net, LEASE_NODES, ((1u << LEASE_NODES) - 1) & ~(1u << 6));
    lease_net_free(net);
}
END_TEST

START_TEST(a_node_that_seldom_greets_is_not_unheard)
{
    struct lease_net *net = lease_net_new(LEASE_NODES, 3, seed_of(_i));
    lease_net_run(net, 10 * LEASE_TIMEOUT);
    lease_net_kill(net, 1 + _i % 7);
    lease_net_run(net, 20 * LEASE_TIMEOUT);
    lease_net_pause(net, 8, LEASE_TIMEOUT / 6);
    lease_net_run(net, 10 * LEASE_TIMEOUT);
    expect_only(net, LEASE_NODES, ((1u << LEASE_NODES) - 1) & ~(1u << (1 + _i % 7)));
    lease_net_free(net);
}
END_TEST

START_TEST(it_suffices_that_one_does_not_hear_the_other)
{
    struct lease_net *net = warm(4, _i);
    lease_net_cut(net, _i % 2 ? 1 : 3, _i % 2 ? 3 : 1, true);
    lease_net_run(net, 2 * LEASE_TIMEOUT);
    expect_only(net, 4, 7);
    lease_net_free(net);
}
END_TEST

/* Ranks report that they cannot reach each other, because their connections do not go where those
 * of agents go. A leader whose ranks reach no other node leaves the others alone. */
START_TEST(nodes_whose_ranks_cannot_reach_each_other_are_apart)
{
    for (int first = 0; first < 3; first++) {
        struct lease_net *net = warm(5, _i * 3 + first);
        int goes = first == 0 ? 0 : 4;
        for (int other = first == 0 ? 1 : 4; other < 5; other++)
            lease_net_reach(net, first, other, false);
        lease_net_run(net, 3 * LEASE_TIMEOUT);
        expect_only(net, 5, 31u & ~(1u << goes));
        lease_net_free(net);
    }
}
END_TEST

START_TEST(ranks_that_reach_each_other_again_cost_nobody)
{
    struct lease_net *net = warm(4, _i);
    lease_net_reach(net, 1, 3, false);
    lease_net_run(net, LEASE_TIMEOUT / 5);
    lease_net_reach(net, 1, 3, true);
    lease_net_run(net, 2 * LEASE_TIMEOUT);
    ck_assert_int_eq(lease_net_refused(net), 0);
    lease_net_free(net);
}
END_TEST

START_TEST(who_is_apart_from_several_goes_alone)
{
    struct lease_net *net = warm(6, _i);
    int centre = 1 + _i % 5;
    for (int other = 1; other < 6; other++)
        if (other != centre)
            part(net, centre, other, true);
    lease_net_run(net, 2 * LEASE_TIMEOUT);
    expect_only(net, 6, 63u & ~(1u << centre));
    lease_net_free(net);
}
END_TEST

START_TEST(a_pair_that_is_cut_for_less_than_six_tenths_of_the_timeout_costs_nobody)
{
    struct lease_net *net = warm(5, _i);
    for (int a = 1; a < 5; a++)
        for (int b = 1; b < a; b++) {
            part(net, a, b, true);
            lease_net_run(net, LEASE_TIMEOUT * 6 / 10);
            part(net, a, b, false);
            lease_net_run(net, LEASE_TIMEOUT / 2);
        }
    ck_assert_int_eq(lease_net_refused(net), 0);
    lease_net_free(net);
}
END_TEST

/* Four of the five reach only the leader. Whichever nodes remain, they are no quorum. */
START_TEST(who_keeps_no_quorum_ends)
{
    struct lease_net *net = warm(5, _i);
    for (int a = 1; a < 5; a++)
        for (int b = 1; b < a; b++)
            part(net, a, b, true);
    lease_net_run(net, 3 * LEASE_TIMEOUT);
    for (int node = 0; node < 5; node++)
        ck_assert_msg(!lease_net_is_up(net, node), "node %d goes on", node);
    lease_net_free(net);
}
END_TEST

START_TEST(one_after_the_other_may_die_where_each_is_left_out_of_the_base)
{
    static const int victims[] = {0, 1, 2, 3, 5}; /* 4 is the lower one of the last two */
    struct lease_net *net = warm(6, _i);
    for (int i = 0; i < 5; i++) {
        lease_net_kill(net, victims[i]);
        lease_net_run(net, 2 * BOUND);
        ck_assert(lease_net_declared_by(net, 4, victims[i]));
        lease_net_left(net, victims[i]); /* a decision has it in G */
    }
    ck_assert(lease_net_is_up(net, 4));
    lease_net_free(net);
}
END_TEST

START_TEST(a_paused_node_ends_if_it_was_too_long)
{
    struct lease_net *net = warm(5, _i);
    lease_net_pause(net, _i % 5, LEASE_TIMEOUT / 6);
    lease_net_run(net, 2 * LEASE_TIMEOUT);
    ck_assert(lease_net_is_up(net, _i % 5));
    lease_net_pause(net, _i % 5, 2 * LEASE_TIMEOUT);
    lease_net_run(net, 4 * LEASE_TIMEOUT);
    ck_assert(lease_net_fenced(net, _i % 5));
    expect_only(net, 5, 31u & ~(1u << _i % 5));
    lease_net_free(net);
}
END_TEST

static void strike(struct lease_net *net, int nodes, struct test_random *random)
{
    int a = (int)test_random_between(random, 0, nodes - 1),
        b = (int)test_random_between(random, 0, nodes - 1);

    switch (test_random_between(random, 0, 9)) {
    case 0:
        lease_net_kill(net, a);
        break;
    case 1:
    case 2:
        lease_net_pause(net, a,
                        (uint64_t)test_random_between(random, 0, 2 * (int64_t)LEASE_TIMEOUT));
        break;
    case 3:
        lease_net_split(net, (unsigned)test_random_bits(random));
        break;
    case 4:
        lease_net_split(net, 0);
        break;
    case 5:
        if (lease_net_declared(net, a) != 0 || lease_net_stopped(net, a))
            lease_net_left(net, a);
        break;
    default:
        lease_net_cut(net, a, b, test_random_chance(random, 60));
    }
}

/* lease_net.c checks that no node is declared failed that may still act. */
START_TEST(whatever_is_cut_paused_or_dead_nobody_is_declared_who_is_heard)
{
    struct test_random random = {seed_of(_i)};
    int declared = 0;
    for (int run = 0; run < (TEST_SANITIZED ? 10 : 60); run++) {
        int nodes = (int)test_random_between(&random, 2, LEASE_NODES);
        struct lease_net *net = lease_net_new(nodes, 0, test_random_bits(&random));
        for (int i = 0; i < 60; i++) {
            lease_net_run(net,
                          (uint64_t)test_random_between(&random, 0, (int64_t)LEASE_TIMEOUT / 2));
            strike(net, nodes, &random);
        }
        for (int node = 0; node < nodes; node++)
            declared += lease_net_declared(net, node) != 0;
        lease_net_free(net);
    }
    ck_assert_int_gt(declared, TEST_SANITIZED ? 0 : 30); /* otherwise the runs tried nothing */
}
END_TEST

/* Does the first beat to `node` name it, so that it gets a lease? -1: there is no beat. */
static int granted(struct ftc_lease *lease, int node)
{
    struct ftc_lease_output output;
    int named = -1;
    while (ftc_lease_next_output(lease, &output))
        if (output.kind == FTC_LEASE_SEND && output.node == node &&
            output.message.kind == FTC_LEASE_BEAT)
            named = ftc_set_has(&output.message.named[0], node);
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

/* A lease that the test drives by hand, and its outputs. */
struct driven {
    struct ftc_lease *lease;
    struct ftc_lease_box box; /* contents of the messages to it */
    struct ftc_set refused, unheard;
    uint32_t beat;         /* its last beat; 0: none */
    uint64_t probes, asks; /* terms of the last ones; 0: none */
    uint64_t declares_ns;  /* when it first declared a node failed; 0: not yet */
};

static void take(struct driven *d, uint64_t now)
{
    struct ftc_lease_output output;
    while (ftc_lease_next_output(d->lease, &output)) {
        if (output.kind == FTC_LEASE_SEND && output.message.kind == FTC_LEASE_BEAT)
            d->beat = output.message.beat;
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

int main(void)
{
    test_seed_announce();
    Suite *suite = suite_create("lease");
    TCase *tcase = tcase_create("lease");
    tcase_set_timeout(tcase, TEST_SANITIZED ? 300 : 60);
    tcase_add_loop_test(tcase, nobody_is_refused_while_all_can_talk, 1, LEASE_NODES + 1);
    tcase_add_loop_test(tcase, a_dead_node_is_declared_in_time, 0, 10);
    tcase_add_loop_test(tcase, the_side_with_the_majority_goes_on_and_the_other_ends, 0, 3);
    tcase_add_loop_test(tcase, a_cut_that_heals_soon_costs_nobody_anything, 0, 5);
    tcase_add_test(tcase, a_node_that_was_seen_to_end_costs_nobody_its_life);
    tcase_add_loop_test(tcase, of_two_that_cannot_reach_each_other_the_higher_one_goes, 0, 5);
    tcase_add_loop_test(tcase, of_two_that_seldom_greet_each_other_one_goes, 0, 5);
    tcase_add_loop_test(tcase, a_node_that_seldom_greets_is_not_unheard, 0, 7);
    tcase_add_loop_test(tcase, it_suffices_that_one_does_not_hear_the_other, 0, 6);
    tcase_add_loop_test(tcase, nodes_whose_ranks_cannot_reach_each_other_are_apart, 0, 5);
    tcase_add_loop_test(tcase, ranks_that_reach_each_other_again_cost_nobody, 0, 5);
    tcase_add_loop_test(tcase, who_is_apart_from_several_goes_alone, 0, 10);
    tcase_add_loop_test(
        tcase, a_pair_that_is_cut_for_less_than_six_tenths_of_the_timeout_costs_nobody, 0, 5);
    tcase_add_loop_test(tcase, who_keeps_no_quorum_ends, 0, 3);
    tcase_add_loop_test(tcase, one_after_the_other_may_die_where_each_is_left_out_of_the_base, 0,
                        3);
    tcase_add_loop_test(tcase, a_paused_node_ends_if_it_was_too_long, 0, 10);
    tcase_add_loop_test(tcase, whatever_is_cut_paused_or_dead_nobody_is_declared_who_is_heard, 0,
                        4);
    tcase_add_test(tcase, votes_that_are_counted_late_back_nobody);
    tcase_add_test(tcase, answers_to_the_last_two_probes_make_a_quorum);
    tcase_add_test(tcase, a_new_leader_declares_nobody_before_old_leases_are_over);
    tcase_add_test(tcase, a_leader_by_a_smaller_base_declares_nobody_before_leases_are_over);
    tcase_add_test(tcase, who_could_not_be_told_of_a_node_that_left_is_told_by_the_leader);
    tcase_add_test(tcase, a_node_without_ranks_takes_part_in_nothing);
    tcase_add_test(tcase, two_leaders_of_a_term_become_one_of_a_later_term);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
