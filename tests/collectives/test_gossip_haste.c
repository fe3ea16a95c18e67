/* Gossip among ranks that are slow. Timers that are too short for such ranks do no harm. */
#include <stdio.h>

#include "collectives/mutation.h"
#include "tests/collectives/gossip_net.h"
#include "tests/suite.h"

#define MS         ((uint64_t)1000000)
#define SECOND     ((uint64_t)1000000000)
#define RANKS_MOST 32
#define LONGEST    6 /* after so many timers in vain the patience grows no more, as in jobs */
#define SENT_MOST  20000

enum ftc_mutation ftc_mutation;

/* One core, which all ranks share. */
struct machine {
    struct gossip_net *net;
    uint64_t due[RANKS_MOST], now, message_ns;
    unsigned silent[RANKS_MOST];
    int ranks;
};

static int sender_to(const struct machine *m, int rank)
{
    for (int from = 0; from < m->ranks; from++)
        if (gossip_net_waiting(m->net, from, rank) > 0)
            return from;
    return -1;
}

static int waiting(const struct machine *m, int rank)
{
    int messages = 0;

    for (int from = 0; from < m->ranks; from++)
        messages += gossip_net_waiting(m->net, from, rank);
    return messages;
}

/* Gives the rank the core. It takes one message, or its timer fires. Returns false if it has
 * nothing to do. */
static bool run_rank(struct machine *m, int rank)
{
    int from = sender_to(m, rank);

    if (from < 0 && m->due[rank] > m->now)
        return false;
    m->now += m->message_ns;
    if (from >= 0) {
        m->silent[rank] = 0;
        ftc_gossip_more(gossip_net_rank(m->net, rank), waiting(m, rank) > 1);
        gossip_net_deliver(m->net, from, rank);
    } else {
        m->silent[rank] += m->silent[rank] < LONGEST;
        gossip_net_fire(m->net, rank);
    }
    m->due[rank] = m->now + (gossip_net_patience(m->net, rank) << m->silent[rank]);
    return true;
}

static uint64_t most_sent(const struct machine *m)
{
    uint64_t most = 0;

    for (int rank = 0; rank < m->ranks; rank++) {
        struct ftc_gossip_counters counters;
        ftc_gossip_counters(gossip_net_rank(m->net, rank), &counters);
        most = counters.sent > most ? counters.sent : most;
    }
    return most;
}

/* Returns how many messages the busiest rank sends until all ranks are accurate. */
static uint64_t messages_needed(const struct gossip_net_frame *frame, uint64_t message_ns)
{
    struct machine m = {
        .net = gossip_net_new(frame), .ranks = frame->ranks, .message_ns = message_ns};

    for (int rank = 0; rank < m.ranks; rank++)
        m.due[rank] = frame->patience_ns;
    while (gossip_net_error(m.net) > frame->accuracy && most_sent(&m) < SENT_MOST) {
        bool busy = false;
        for (int rank = 0; rank < m.ranks; rank++)
            busy |= run_rank(&m, rank);
        m.now += busy ? 0 : MS / 10;
    }
    uint64_t messages = most_sent(&m);
    gossip_net_free(m.net);
    return messages;
}

START_TEST(ranks_that_share_a_slow_core_do_not_drown_in_repetitions)
{
    static const enum ftc_neighbourhood_kind kinds[] = {FTC_NEIGHBOURHOOD_HYPERCUBE,
                                                        FTC_NEIGHBOURHOOD_TORUS};
    static const enum ftc_gossip_algorithm algorithms[] = {FTC_GOSSIP_PUSH_FLOW, FTC_GOSSIP_PFCC};

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct gossip_net_frame frame = {.algorithm = algorithms[seed / 2 % 2],
                                         .neighbourhood = kinds[seed % 2],
                                         .ranks = 16,
                                         .count = 4,
                                         .accuracy = 1e-11,
                                         .turns = true,
                                         .seed = seed,
                                         .patience_ns = 600 * SECOND};
        uint64_t calm = messages_needed(&frame, MS);
        frame.patience_ns = MS / 2;
        uint64_t hasty = messages_needed(&frame, MS);
        ck_assert_msg(hasty <= 4 * calm, "seed %d: %d messages, %d with all patience", (int)seed,
                      (int)hasty, (int)calm);
    }
}
END_TEST

/* Without turns each message sets off another. So a timer adds a message for good. */
static bool drowns_without_turns(uint64_t seed)
{
    static const enum ftc_gossip_algorithm algorithms[] = {FTC_GOSSIP_PUSH_SUM,
                                                           FTC_GOSSIP_PUSH_FLOW, FTC_GOSSIP_PFLC};
    struct gossip_net_frame frame = {.algorithm = algorithms[seed % 3],
                                     .neighbourhood = seed / 3 % 2 == 0
                                                          ? FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE
                                                          : FTC_NEIGHBOURHOOD_HYPERCUBE,
                                     .ranks = 16,
                                     .count = 4,
                                     .accuracy = 1e-9,
                                     .seed = seed,
                                     .patience_ns = 600 * SECOND};
    uint64_t calm = messages_needed(&frame, MS);

    frame.patience_ns = MS / 2;
    uint64_t hasty = messages_needed(&frame, MS);
    printf("seed %d: %d messages, %d with all patience\n", (int)seed, (int)hasty, (int)calm);
    return hasty > 12 * calm;
}

START_TEST(nor_in_pushes_without_turns)
{
    for (uint64_t seed = 1; seed <= 18; seed++)
        ck_assert_msg(!drowns_without_turns(seed), "seed %d", (int)seed);
}
END_TEST

START_TEST(where_each_message_sets_off_a_push_they_drown)
{
    uint64_t seed = 1;

    ftc_mutation = FTC_MUTATION_PUSH_FOR_EACH;
    while (seed <= 18 && !drowns_without_turns(seed))
        seed++;
    ftc_mutation = FTC_MUTATION_NONE;
    ck_assert_int_le(seed, 18);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("gossip_haste");
    TCase *slow = tcase_create("slow ranks");

    tcase_set_timeout(slow, 120);
    tcase_add_test(slow, ranks_that_share_a_slow_core_do_not_drown_in_repetitions);
    tcase_add_test(slow, nor_in_pushes_without_turns);
    tcase_add_test(slow, where_each_message_sets_off_a_push_they_drown);
    suite_add_tcase(suite, slow);
    return suite;
}

int main(void)
{
    return test_suite_run(suite());
}
