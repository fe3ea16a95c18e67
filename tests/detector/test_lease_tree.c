/* One lease in the tree of beats: rule 1 of nodes.md. The test is its clock and all other nodes. */
#include "tests/detector/lease_driven.h"
#include "tests/suite.h"

/* The first beat of node 0 comes, and all nodes but those that are refused are in its tree. */
static void hear_beat(struct driven *d, int from, uint64_t now)
{
    struct ftc_lease_message message = driven_message(d, FTC_LEASE_BEAT, 1, 1);
    ftc_set_fill(&d->box.nodes);
    ftc_set_subtract(&d->box.nodes, &d->refused);
    driven_receive(d, from, &message, now);
}

/* An echo of beat 1 with so many pairs. */
static void hear_pairs(struct driven *d, int from, int pairs, uint64_t now)
{
    struct ftc_lease_message message = driven_message(d, FTC_LEASE_ECHO, 1, 1);
    ftc_set_clear(&d->box.nodes);
    ftc_set_add(&d->box.nodes, from);
    for (int i = 0; i < pairs; i++)
        d->box.pair[i] = (struct ftc_lease_pair){from, 20 + i};
    message.pairs = pairs;
    driven_receive(d, from, &message, now);
}

/* `from` wants beats. Its last one was beat `last` of node 0. */
static void hear_want(struct driven *d, int from, uint32_t last, uint64_t now)
{
    struct ftc_lease_message message = driven_message(d, FTC_LEASE_WANT, 1, last);
    driven_receive(d, from, &message, now);
}

/* Rule 1, "Echo". The tree of DRIVEN_NODES nodes has three levels. Nobody answers from below. */
START_TEST(a_node_deep_in_the_tree_waits_less)
{
    static const struct {
        int self, parent;
        uint64_t wait;
    } depths[] = {{1, 0, LEASE_PERIOD / 4}, {5, 1, LEASE_PERIOD / 4 * 2 / 3}};
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        struct driven d;
        uint64_t now = 1000 * LEASE_PERIOD;
        driven_start(&d, depths[i].self, DRIVEN_NODES, now);
        hear_beat(&d, depths[i].parent, now);
        driven_tick(&d, now + depths[i].wait - 1);
        ck_assert_int_eq(d.echoes, 0);
        driven_tick(&d, now + depths[i].wait);
        ck_assert_int_eq(d.echoes, 1);
        driven_stop(&d);
    }
}
END_TEST

/* Rule 1, "Pairs": or the leader would take node 6 for one that hears all others. */
START_TEST(an_echo_whose_pairs_have_no_room_goes_up_by_itself)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 1, 300, now);
    hear_beat(&d, 0, now);
    hear_pairs(&d, 5, 200, now + 1);
    ck_assert_int_eq(d.echoes, 0);
    hear_pairs(&d, 6, 100, now + 2);
    ck_assert_int_eq(d.echoes, 1);
    ck_assert(d.echo_nodes == 1 && d.echo_pairs == 100);
    hear_pairs(&d, 7, 50, now + 3);
    driven_tick(&d, now + LEASE_PERIOD / 4);
    ck_assert_int_eq(d.echoes, 2);
    ck_assert(d.echo_nodes == 3 && d.echo_pairs == 250);
    driven_stop(&d);
}
END_TEST

/* Rule 1, "Keep". Node 9 is not right below the leader. It asks since the leader was paused. */
START_TEST(who_has_the_last_beat_is_not_kept)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 0, DRIVEN_NODES, now);
    hear_want(&d, 9, 1, now += 3 * LEASE_PERIOD);
    driven_tick(&d, now);
    hear_want(&d, 9, 1, now);
    driven_tick(&d, now += LEASE_PERIOD);
    ck_assert_uint_eq(d.beat, 3);
    ck_assert_int_eq(d.beats_to[9], 0);
    hear_want(&d, 9, 1, now); /* beat 2 was sent a period ago */
    ck_assert_int_eq(d.beats_to[9], 1);
    driven_tick(&d, now += LEASE_PERIOD);
    ck_assert_int_eq(d.beats_to[9], 2);
    hear_want(&d, 10, 0, now); /* its echoes are lost on their way up */
    ck_assert_int_eq(d.beats_to[10], 1);
    driven_stop(&d);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("one lease in the tree");
    TCase *tcase = tcase_create("one lease in the tree");
    tcase_add_test(tcase, a_node_deep_in_the_tree_waits_less);
    tcase_add_test(tcase, an_echo_whose_pairs_have_no_room_goes_up_by_itself);
    tcase_add_test(tcase, who_has_the_last_beat_is_not_kept);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
