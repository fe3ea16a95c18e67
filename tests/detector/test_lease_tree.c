/* One lease in the tree of beats: rule 1 of nodes.md. The test is its clock and all other nodes. */
#include "detector/mutation.h"
#include "detector/places.h"
#include "tests/detector/lease_driven.h"
#include "tests/suite.h"

enum ftc_lease_mutation ftc_lease_mutation;

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

/* `from` wants beats. Its last one was beat `last` of `leader` in `term`. */
static void hear_want_of(struct driven *d, int from, uint64_t term, int leader, uint32_t last,
                         uint64_t now)
{
    struct ftc_lease_message message = driven_message(d, FTC_LEASE_WANT, term, last);
    message.leader = leader;
    driven_receive(d, from, &message, now);
}

static void hear_want(struct driven *d, int from, uint32_t last, uint64_t now)
{
    hear_want_of(d, from, 1, 0, last, now);
}

/* Levels have 1, 4, 16 and the last 4 nodes. */
START_TEST(the_depth_of_a_node_is_counted_from_the_leader)
{
    static const struct {
        int leader, node, depth;
    } nodes[] = {{0, 0, 0},  {0, 1, 1},  {0, 4, 1},   {0, 5, 2},   {0, 20, 2},
                 {0, 21, 3}, {0, 24, 3}, {10, 11, 1}, {10, 10, 0}, {10, 9, 3}};
    struct ftc_places places;
    ftc_places_init(&places, DRIVEN_NODES);
    ck_assert_int_eq(ftc_places_height(&places, 4), 3);
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        ck_assert_int_eq(ftc_places_depth(&places, nodes[i].leader, nodes[i].node, 4),
                         nodes[i].depth);
    for (int node = 1; node <= 4; node++)
        (void)ftc_places_remove(&places, node);
    ck_assert_int_eq(ftc_places_height(&places, 4), 2);
    ck_assert_int_eq(ftc_places_depth(&places, 0, 5, 4), 1);
    ck_assert_int_eq(ftc_places_depth(&places, 0, 4, 4), 0); /* it is gone */
    ftc_places_fini(&places);
}
END_TEST

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

/* Node 1 does not hear 256 nodes, which the leader refuses, and one more. */
START_TEST(refused_nodes_take_no_room_from_other_pairs)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 1, 300, now);
    for (int node = 20; node <= 20 + FTC_LEASE_PAIRS; node++)
        ftc_lease_reach(d.lease, node, false);
    for (int node = 20; node < 20 + FTC_LEASE_PAIRS; node++)
        ftc_set_add(&d.refused, node);
    hear_beat(&d, 0, now);
    driven_tick(&d, now + LEASE_PERIOD / 4);
    ck_assert_int_eq(d.echo_pairs, 1);
    ck_assert(d.echo_pair.node == 1 && d.echo_pair.unheard == 20 + FTC_LEASE_PAIRS);
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

/* Two nodes may lead in one term. Their beats have numbers of their own. */
START_TEST(who_follows_another_leader_of_the_term_is_kept)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 0, DRIVEN_NODES, now);
    hear_want_of(&d, 9, 1, 0, 10, now);
    ck_assert_int_eq(d.beats_to[9], 0);
    hear_want_of(&d, 9, 1, 3, 10, now);
    ck_assert_int_eq(d.beats_to[9], 1);
    driven_stop(&d);
}
END_TEST

/* Its parent, node 5, has died or sends nothing. */
START_TEST(who_wants_beats_says_of_which_leader)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    struct ftc_lease_message message;
    driven_start(&d, 21, DRIVEN_NODES, now);
    ftc_set_fill(&d.box.nodes);
    message = driven_message(&d, FTC_LEASE_BEAT, 2, 1);
    message.leader = 3;
    driven_receive(&d, 5, &message, now);
    ck_assert_int_eq(d.wants_of, -1);
    driven_tick(&d, now + 3 * LEASE_PERIOD);
    ck_assert_int_eq(d.wants_of, 3);
    driven_stop(&d);
}
END_TEST

/* More than 32 beats back: it is not known when the next one was sent. */
START_TEST(wants_of_any_number_are_answered_by_what_they_lack)
{
    static const struct {
        uint64_t term;
        uint32_t last;
        int answers;
    } wants[] = {{1, 40, 0}, {1, UINT32_MAX, 0}, {1, 3, 1},
                 {0, 40, 1}, {0, UINT32_MAX, 1}, {2, 3, 0}};
    for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
        struct driven d;
        uint64_t now = 1000 * LEASE_PERIOD;
        driven_start(&d, 0, DRIVEN_NODES, now);
        while (d.beat < 40) {
            for (int from = 1; from < DRIVEN_NODES; from++)
                driven_hear(&d, from, FTC_LEASE_ECHO, 1, now);
            driven_tick(&d, now += LEASE_PERIOD);
        }
        hear_want_of(&d, 24, wants[i].term, 0, wants[i].last, now);
        ck_assert_int_eq(d.beats_to[24], wants[i].answers);
        driven_stop(&d);
    }
}
END_TEST

/* Rule 1, "Again". Node 5 is unnamed, and its beat has come from node 0, too. */
START_TEST(an_echo_whose_pairs_have_no_room_goes_to_the_parent_alone)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 5, 300, now);
    hear_beat(&d, 1, now);
    driven_tick(&d, now += LEASE_PERIOD);
    hear_beat(&d, 0, now += LEASE_PERIOD);
    ck_assert(d.echoes_to[1] == 1 && d.echoes_to[0] == 1);
    hear_pairs(&d, 21, 200, now);
    ck_assert(d.echoes_to[1] == 2 && d.echoes_to[0] == 2);
    hear_pairs(&d, 22, 100, now);
    ck_assert(d.echoes_to[1] == 3 && d.echoes_to[0] == 2);
    driven_stop(&d);
}
END_TEST

static int echoes_deep_in_the_tree(void)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 5, DRIVEN_NODES, now);
    hear_beat(&d, 1, now);
    driven_tick(&d, now + LEASE_PERIOD / 5);
    driven_stop(&d);
    return d.echoes;
}

static int echoes_without_room(void)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 1, 300, now);
    hear_beat(&d, 0, now);
    hear_pairs(&d, 5, 200, now);
    hear_pairs(&d, 6, 100, now);
    driven_stop(&d);
    return d.echoes;
}

static int beats_to_who_has_the_last(void)
{
    struct driven d;
    uint64_t now = 1000 * LEASE_PERIOD;
    driven_start(&d, 0, DRIVEN_NODES, now);
    hear_want(&d, 9, 1, now);
    driven_stop(&d);
    return d.beats_to[9];
}

/* Storms of few nodes do not find them. */
START_TEST(a_fault_in_the_tree_is_found)
{
    static const struct {
        enum ftc_lease_mutation mutation;
        int (*story)(void);
        int sound;
    } faults[] = {{FTC_LEASE_MUTATION_WAITS_ALIKE, echoes_deep_in_the_tree, 1},
                  {FTC_LEASE_MUTATION_NO_ROOM, echoes_without_room, 1},
                  {FTC_LEASE_MUTATION_FOLLOW_ANY_WANT, beats_to_who_has_the_last, 0}};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        ftc_lease_mutation = FTC_LEASE_MUTATION_NONE;
        ck_assert_int_eq(faults[i].story(), faults[i].sound);
        ftc_lease_mutation = faults[i].mutation;
        ck_assert_int_ne(faults[i].story(), faults[i].sound);
    }
    ftc_lease_mutation = FTC_LEASE_MUTATION_NONE;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("one lease in the tree");
    TCase *tcase = tcase_create("one lease in the tree");
    tcase_add_test(tcase, the_depth_of_a_node_is_counted_from_the_leader);
    tcase_add_test(tcase, a_node_deep_in_the_tree_waits_less);
    tcase_add_test(tcase, an_echo_whose_pairs_have_no_room_goes_up_by_itself);
    tcase_add_test(tcase, who_has_the_last_beat_is_not_kept);
    tcase_add_test(tcase, refused_nodes_take_no_room_from_other_pairs);
    tcase_add_test(tcase, who_follows_another_leader_of_the_term_is_kept);
    tcase_add_test(tcase, who_wants_beats_says_of_which_leader);
    tcase_add_test(tcase, wants_of_any_number_are_answered_by_what_they_lack);
    tcase_add_test(tcase, an_echo_whose_pairs_have_no_room_goes_to_the_parent_alone);
    tcase_add_test(tcase, a_fault_in_the_tree_is_found);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
