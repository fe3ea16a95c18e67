/* Votes that are split: rule 5 of nodes.md, "Split". The test is the clock and the voters. */
#include "detector/mutation.h"
#include "tests/detector/lease_driven.h"
#include "tests/suite.h"

#define NODES 64
#define VOTER 4 /* the first one; nodes 0 and 1 have died */
#define STEP  (LEASE_PERIOD / 64)
#define FAST  (LEASE_PERIOD / 16)
#define SLOW  (LEASE_PERIOD / 8)

enum ftc_lease_mutation ftc_lease_mutation;

struct voter {
    uint64_t promised_ns, term;
    int whom; /* it has voted for this node; 0: for none */
};

struct candidate {
    struct driven d;
    int node;
    uint64_t asked, arrives[NODES]; /* its last question for votes, and when it comes to a voter */
};

static bool may_vote(const struct voter *voter, const struct candidate *c, uint64_t now)
{
    return now >= voter->promised_ns || voter->whom == c->node;
}

/* Voters answer at once. Questions for votes take a while, and twice as long to half of
 * the voters. */
static void ask(struct candidate *c, const struct voter voter[], uint64_t now)
{
    driven_tick(&c->d, now);
    for (int v = VOTER; v < NODES && c->d.probed_ns == now; v++)
        if (may_vote(&voter[v], c, now))
            driven_hear(&c->d, v, FTC_LEASE_WOULD, c->d.probes, now);
    if (c->d.asks == c->asked)
        return;
    c->asked = c->d.asks;
    for (int v = VOTER; v < NODES; v++)
        c->arrives[v] = now + (v % 2 == c->node % 2 ? SLOW : FAST);
}

static void vote(struct candidate *c, struct voter voter[], uint64_t now)
{
    for (int v = VOTER; v < NODES; v++) {
        if (c->arrives[v] == 0 || now < c->arrives[v])
            continue;
        c->arrives[v] = 0;
        if (c->asked <= voter[v].term || !may_vote(&voter[v], c, now))
            continue;
        voter[v] = (struct voter){now + 2 * LEASE_PERIOD, c->asked, c->node};
        driven_hear(&c->d, v, FTC_LEASE_VOTE, c->asked, now);
    }
}

/* Nodes 2 and 3 ask in one term, and 3 does not hear 2. Returns the node that leads then; 0: none
 * does for L. */
static int leader_after_a_split_vote(void)
{
    struct candidate low = {.node = 2}, high = {.node = 3};
    struct voter voter[NODES] = {{0, 0, 0}};
    uint64_t now = 1000 * LEASE_PERIOD, end = now + LEASE_TIMEOUT / 2;
    int leader = 0;

    driven_start(&low.d, low.node, NODES, now);
    driven_start(&high.d, high.node, NODES, now);
    for (; now < end && leader == 0; now += STEP) {
        ask(&low, voter, now);
        ask(&high, voter, now);
        if (high.d.probed_ns == now)
            driven_hear(&low.d, high.node, FTC_LEASE_PROBE, high.d.probes, now);
        vote(&low, voter, now);
        vote(&high, voter, now);
        leader = ftc_lease_leader(low.d.lease) == low.node     ? low.node
                 : ftc_lease_leader(high.d.lease) == high.node ? high.node
                                                               : 0;
        ck_assert(leader == 0 || low.asked == 3); /* in term 2 votes were split */
    }
    driven_stop(&low.d);
    driven_stop(&high.d);
    return leader;
}

START_TEST(after_a_split_vote_the_lower_node_wins)
{
    ftc_lease_mutation = FTC_LEASE_MUTATION_NONE;
    ck_assert_int_eq(leader_after_a_split_vote(), 2);
    ftc_lease_mutation = FTC_LEASE_MUTATION_SPLIT_AGAIN;
    ck_assert_int_eq(leader_after_a_split_vote(), 0);
    ftc_lease_mutation = FTC_LEASE_MUTATION_NONE;
}
END_TEST

/* The digits of 6 are 1 and 2, and those before are 0. All would vote for it, but their votes do
 * not come. */
START_TEST(a_node_whose_question_failed_waits_for_a_time_of_its_own)
{
    static const uint64_t eighths[] = {3, 2, 1};
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 6, 20, now);
    driven_tick(&d, now += LEASE_TIMEOUT / 5 + 2 * LEASE_PERIOD);
    for (int i = 0; i < 3; i++) {
        for (int from = 8; from < 20; from++)
            driven_hear(&d, from, FTC_LEASE_WOULD, d.probes, now);
        ck_assert_uint_eq(d.asks, d.probes);
        uint64_t next = now + 2 * LEASE_PERIOD + eighths[i] * LEASE_PERIOD / 8;
        driven_tick(&d, next - 1);
        ck_assert_uint_eq(d.probed_ns, now);
        driven_tick(&d, now = next);
        ck_assert_uint_eq(d.probed_ns, now);
    }
    driven_stop(&d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("split votes");
    TCase *tcase = tcase_create("split votes");
    tcase_add_test(tcase, after_a_split_vote_the_lower_node_wins);
    tcase_add_test(tcase, a_node_whose_question_failed_waits_for_a_time_of_its_own);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
