/* Stories of how a decision reaches every rank: by gossip, by multicast in pieces, by the ring, and
 * by patience. */
#include "collectives/agreement/member.h"
#include "story.h"
#include "tests/suite.h"

#define N 8

static const struct ftc_program one = PROGRAM(BCAST(0), FINALIZE);

static struct ftc_cluster *begin(enum ftc_dissemination dissemination,
                                 enum ftc_correction correction)
{
    struct ftc_member_settings settings = ftc_cluster_settings(N, 1);

    settings.dissemination = dissemination;
    settings.correction = correction;
    settings.fragment = 32;
    struct ftc_cluster *c = story_begin(&settings, &one);
    story_all_call(c);
    return c;
}

static uint64_t pieces(const struct ftc_cluster *c, int rank, enum ftc_pieces_kind kind)
{
    return ftc_member_pieces(c->process[rank].member)[kind];
}

/* Lets every datagram arrive before anything else happens. */
static void let_datagrams_arrive(struct ftc_cluster *c)
{
    for (int rank = 0; rank < N; rank++)
        while (c->process[rank].alive && c->pending[ftc_cluster_datagram(c, rank)])
            ftc_cluster_do(c, ftc_cluster_datagram(c, rank));
}

static void all_have_delivered(struct ftc_cluster *c, bool yes)
{
    story_kept(c);
    for (int rank = 1; rank < N; rank++)
        ck_assert_msg(!c->process[rank].alive || ftc_cluster_delivered(c, 0, rank) == yes,
                      "rank %d", rank);
}

/* --- multicast --- */

START_TEST(multicast_needs_no_other_message)
{
    struct ftc_cluster *c = begin(FTC_DISSEMINATION_MULTICAST, FTC_CORRECTION_RING);

    c->loss_ppm = 0;
    let_datagrams_arrive(c);
    all_have_delivered(c, true);
    for (int rank = 1; rank < N; rank++) {
        ck_assert_uint_gt(pieces(c, rank, FTC_PIECES_DATAGRAM), 1);
        ck_assert_uint_eq(pieces(c, rank, FTC_PIECES_RING), 0);
    }
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

/* The network loses messages by the seed of the settings. This seed loses everything. */
static struct ftc_cluster *begin_deaf(enum ftc_dissemination dissemination,
                                      enum ftc_correction correction)
{
    struct ftc_cluster *c = begin(dissemination, correction);

    for (int rank = 0; rank < N; rank++)
        ftc_cluster_hold(c, ftc_cluster_datagram(c, rank));
    return c;
}

START_TEST(the_ring_brings_what_all_have_lost)
{
    struct ftc_cluster *c = begin_deaf(FTC_DISSEMINATION_MULTICAST, FTC_CORRECTION_RING);

    for (int rank = 0; rank < N; rank++)
        ftc_cluster_hold(c, ftc_cluster_timer(c, rank));
    ftc_cluster_run(c);
    all_have_delivered(c, true);
    uint64_t count = pieces(c, 1, FTC_PIECES_RING);
    for (int rank = 1; rank < N; rank++) {
        ck_assert_uint_eq(pieces(c, rank, FTC_PIECES_DATAGRAM), 0);
        ck_assert_uint_eq(pieces(c, rank, FTC_PIECES_RING), count);
    }
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_PASS_PIECE), count * (N - 1));
    ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_DECIDE), 0);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(a_dead_successor_is_asked_past)
{
    struct ftc_cluster *c = begin_deaf(FTC_DISSEMINATION_MULTICAST, FTC_CORRECTION_RING);

    ftc_cluster_crash(c, 3);
    ftc_cluster_hold_notices(c, 3);
    for (int rank = 0; rank < N; rank++)
        ftc_cluster_hold(c, ftc_cluster_timer(c, rank));
    ftc_cluster_run(c);
    ck_assert(ftc_cluster_delivered(c, 0, 2));
    ck_assert(!ftc_cluster_delivered(c, 0, 4));
    ftc_cluster_release_notices(c, 3);
    ftc_cluster_run(c);
    all_have_delivered(c, true);
    ck_assert_uint_ge(pieces(c, 4, FTC_PIECES_OTHER), 1);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(with_no_correction_patience_ends)
{
    struct ftc_cluster *c = begin_deaf(FTC_DISSEMINATION_MULTICAST, FTC_CORRECTION_NONE);

    for (int rank = 0; rank < N; rank++)
        ftc_cluster_hold(c, ftc_cluster_timer(c, rank));
    ftc_cluster_run(c);
    all_have_delivered(c, false);
    for (int rank = 0; rank < N; rank++)
        ftc_cluster_release(c, ftc_cluster_timer(c, rank));
    ftc_cluster_run(c);
    all_have_delivered(c, true);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_PULL_IMPATIENT), N - 1);
    ftc_cluster_free(c);
}
END_TEST

/* A piece that comes before the call is kept. The same bytes say nothing new when they come
 * again. */
START_TEST(a_late_caller_finds_its_pieces)
{
    struct ftc_member_settings settings = ftc_cluster_settings(N, 1);

    settings.dissemination = FTC_DISSEMINATION_MULTICAST;
    settings.correction = FTC_CORRECTION_RING;
    settings.fragment = 32;
    struct ftc_cluster *c = story_begin(&settings, &one);
    ftc_cluster_hold_calls(c);
    c->loss_ppm = 0;
    ftc_cluster_do(c, ftc_cluster_call(c, 0));
    let_datagrams_arrive(c);
    for (int rank = 1; rank < N; rank++) {
        ftc_cluster_do(c, ftc_cluster_call(c, rank));
        ck_assert(ftc_cluster_delivered(c, 0, rank)); /* within the call */
    }
    story_finish(c);
    ftc_cluster_free(c);
}
END_TEST

START_TEST(few_ranks_and_large_values_go_down_the_tree)
{
    for (int large = 0; large < 2; large++) {
        struct ftc_member_settings settings = ftc_cluster_settings(N, 1);
        settings.dissemination = FTC_DISSEMINATION_MULTICAST;
        settings.correction = FTC_CORRECTION_RING; /* the tree does not need a correction */
        settings.multicast_least = large ? 2 : N + 1;
        settings.multicast_most = large ? 1 : 1000000;
        struct ftc_cluster *c = story_begin(&settings, &one);
        story_finish(c);
        ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_FRAGMENT), 0);
        ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_DECIDE), N - 1);
        ftc_cluster_free(c);
    }
}
END_TEST

/* --- the tree --- */

/* A rank that has the decision from its parent begins to correct: it sends one message at once, the
 * others with the timer. A rank that asked for the decision, because its parent is dead, does not
 * correct. */
START_TEST(an_answer_to_pull_is_no_dissemination)
{
    struct ftc_member_settings settings = ftc_cluster_settings(N, 1);

    settings.correction = FTC_CORRECTION_CHECKED;
    settings.correction_delay_ns = 1000;
    struct ftc_cluster *c = story_begin(&settings, &one);
    for (int rank = 0; rank < N; rank++)
        ftc_cluster_hold(c, ftc_cluster_timer(c, rank));
    ftc_cluster_crash(c, 1);
    story_all_call(c);
    ftc_cluster_run(c);
    all_have_delivered(c, true);
    uint64_t asked = ftc_cluster_rule(c, FTC_RULE_PULL);
    ck_assert_uint_ge(asked, 1);
    ck_assert_uint_eq(ftc_cluster_rule(c, FTC_RULE_CORRECT), N - 1 - asked);
    ftc_cluster_free(c);
}
END_TEST

/* --- gossip --- */

START_TEST(gossip_sends_as_many_messages_as_it_has_rounds)
{
    struct ftc_member_settings settings = ftc_cluster_settings(N, 1);

    settings.dissemination = FTC_DISSEMINATION_GOSSIP;
    settings.gossip_rounds = 3;
    struct ftc_cluster *c = story_begin(&settings, &one);
    story_all_call(c);
    while (c->pending[ftc_cluster_timer(c, 0)] && c->process[0].more)
        ftc_cluster_do(c, ftc_cluster_timer(c, 0));
    ck_assert_uint_eq(ftc_cluster_sent(c, 0, FTC_MESSAGE_DECIDE), 3);
    story_finish(c);
    /* 3 + (2 + 1) + (1) + ...: with 3, 2, 1, 0 rounds left, no more than 2^3 - 1 in all */
    ck_assert_uint_le(ftc_cluster_rule(c, FTC_RULE_GOSSIP), 2 * 7); /* and finalize's */
    ftc_cluster_free(c);
}
END_TEST

START_TEST(gossip_repeats_with_its_seed)
{
    uint64_t sent[2][3];

    for (int again = 0; again < 2; again++) {
        for (int seed = 0; seed < 3; seed++) {
            struct ftc_member_settings settings = ftc_cluster_settings(N, 1);
            settings.dissemination = FTC_DISSEMINATION_GOSSIP;
            settings.correction = FTC_CORRECTION_CHECKED;
            settings.seed = (uint64_t)seed;
            struct ftc_cluster *c = story_begin(&settings, &one);
            story_finish(c);
            sent[again][seed] = ftc_cluster_sent(c, 0, FTC_MESSAGE_DECIDE) * 1000 + c->steps;
            ftc_cluster_free(c);
        }
    }
    ck_assert_mem_eq(sent[0], sent[1], sizeof(sent[0]));
    ck_assert(sent[0][0] != sent[0][1] || sent[0][1] != sent[0][2]);
}
END_TEST

START_TEST(whom_chance_misses_asks)
{
    struct ftc_member_settings settings = ftc_cluster_settings(N, 1);

    settings.dissemination = FTC_DISSEMINATION_GOSSIP;
    settings.gossip_rounds = 0;
    struct ftc_cluster *c = story_begin(&settings, &one);
    story_finish(c);
    ck_assert_uint_ge(ftc_cluster_rule(c, FTC_RULE_PULL_IMPATIENT), N - 1);
    ftc_cluster_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spread");
    TCase *multicast = tcase_create("multicast"), *tree = tcase_create("tree"),
          *gossip = tcase_create("gossip");

    tcase_add_test(multicast, multicast_needs_no_other_message);
    tcase_add_test(multicast, the_ring_brings_what_all_have_lost);
    tcase_add_test(multicast, a_dead_successor_is_asked_past);
    tcase_add_test(multicast, with_no_correction_patience_ends);
    tcase_add_test(multicast, a_late_caller_finds_its_pieces);
    tcase_add_test(multicast, few_ranks_and_large_values_go_down_the_tree);
    suite_add_tcase(suite, multicast);
    tcase_add_test(tree, an_answer_to_pull_is_no_dissemination);
    suite_add_tcase(suite, tree);
    tcase_add_test(gossip, gossip_sends_as_many_messages_as_it_has_rounds);
    tcase_add_test(gossip, gossip_repeats_with_its_seed);
    tcase_add_test(gossip, whom_chance_misses_asks);
    suite_add_tcase(suite, gossip);
    return test_suite_run(suite);
}
