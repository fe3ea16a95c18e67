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

/* Rule 1, "No name": the four nodes below node 1 hear its beats, and their echoes stop there. */
START_TEST(a_node_that_cannot_answer_the_leader_takes_nobody_below_with_it)
{
    struct lease_net *net = warm(LEASE_NODES, _i);
    lease_net_cut(net, 1, 0, true);
    lease_net_run(net, 3 * LEASE_TIMEOUT);
    expect_only(net, LEASE_NODES, ((1u << LEASE_NODES) - 1) & ~(1u << 1));
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
    tcase_add_loop_test(tcase, a_node_that_cannot_answer_the_leader_takes_nobody_below_with_it, 0,
                        6);
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
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
