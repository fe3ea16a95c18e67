/* A few ranks that gossip until they have agreed on an end. */
#include "tests/collectives/gossip_ending.h"

#include "tests/random.h"
#include "tests/suite.h"
#include <math.h>
#include <string.h>

#define SLOW_MOST 4000 /* steps for which a channel delivers nothing */

void ending_begin(struct ending *e, const struct gossip_net_frame *frame)
{
    struct ftc_gossip_end_settings settings = {.count = frame->count,
                                               .accuracy = frame->accuracy,
                                               .survives = ftc_gossip_survives(frame->algorithm),
                                               .most_messages = 100000,
                                               .most_attempts = 20};

    *e = (struct ending){.frame = *frame, .net = gossip_net_new(frame)};
    ck_assert_int_eq(ftc_set_init(&e->failed, frame->ranks), 0);
    settings.removed = &e->failed;
    for (int rank = 0; rank < frame->ranks; rank++) {
        ck_assert_int_eq(
            ftc_gossip_end_create(&e->end[rank], &settings, gossip_net_rank(e->net, rank)), 0);
        ftc_gossip_end_look(e->end[rank]);
    }
}

void ending_finish(struct ending *e)
{
    for (int rank = 0; rank < e->frame.ranks; rank++)
        ftc_gossip_end_destroy(e->end[rank]);
    ftc_set_fini(&e->failed);
    gossip_net_free(e->net);
}

bool ending_lives(const struct ending *e, int rank)
{
    return !ftc_set_has(&e->failed, rank);
}

void ending_look(struct ending *e)
{
    for (int rank = 0; rank < e->frame.ranks; rank++)
        if (ending_lives(e, rank))
            ftc_gossip_end_look(e->end[rank]);
}

static void enter(struct ending *e, int rank)
{
    ftc_gossip_end_enter(e->end[rank], e->sent[rank]);
    gossip_net_take(e->net, rank);
}

bool ending_barrier(struct ending *e)
{
    memset(e->entered, 0, sizeof(e->entered));
    for (int steps = 0; steps < MOST_STEPS; steps++) {
        bool all = true;
        for (int rank = 0; rank < e->frame.ranks; rank++) {
            if (!ending_lives(e, rank) || e->entered[rank])
                continue;
            e->entered[rank] = ftc_gossip_end_ready(e->end[rank], e->sent[rank]);
            if (e->entered[rank])
                enter(e, rank);
            all &= e->entered[rank];
        }
        if (all)
            return true;
        if (steps == SLOW_MOST)
            gossip_net_hold(e->net, -1, -1);
        gossip_net_step(e->net);
        ending_look(e);
    }
    return false;
}

enum ftc_gossip_verdict ending_decide(struct ending *e, const struct ftc_set *failed)
{
    double decided[ROOM];
    size_t room = ftc_gossip_end_contributes(e->frame.count);
    enum ftc_gossip_verdict verdict = FTC_GOSSIP_AGAIN;
    int first = -1;

    for (size_t i = 0; i < room; i++)
        decided[i] = -INFINITY;
    for (int rank = 0; rank < e->frame.ranks; rank++) {
        const double *own = ending_lives(e, rank) ? ftc_gossip_end_freeze(e->end[rank]) : decided;
        for (size_t i = 0; i < room; i++)
            decided[i] = own[i] > decided[i] || isnan(own[i]) ? own[i] : decided[i];
    }
    for (int rank = 0; rank < e->frame.ranks; rank++) {
        if (!ending_lives(e, rank))
            continue;
        enum ftc_gossip_verdict own =
            ftc_gossip_end_decide(e->end[rank], decided, failed, e->average[rank]);
        if (first < 0)
            first = rank;
        verdict = rank == first ? own : verdict;
        ck_assert_int_eq(own, verdict);
        ck_assert_mem_eq(e->average[rank], e->average[first], e->frame.count * sizeof(double));
    }
    return verdict;
}

enum ftc_gossip_verdict ending_run(struct ending *e)
{
    enum ftc_gossip_verdict verdict = FTC_GOSSIP_AGAIN;

    while (verdict == FTC_GOSSIP_AGAIN) {
        ck_assert(ending_barrier(e));
        verdict = ending_decide(e, &e->failed);
    }
    return verdict;
}

void ending_kill(struct ending *e, int rank)
{
    gossip_net_kill(e->net, rank);
    ftc_set_add(&e->failed, rank);
    for (int other = 0; other < e->frame.ranks; other++)
        if (ending_lives(e, other))
            ftc_gossip_end_removed(e->end[other], rank);
}

struct gossip_net_frame ending_frame(enum ftc_gossip_algorithm algorithm, int ranks,
                                     double accuracy)
{
    return (struct gossip_net_frame){
        .algorithm = algorithm,
        .neighbourhood = FTC_NEIGHBOURHOOD_FULL,
        .ranks = ranks,
        .count = 3,
        .accuracy = accuracy,
        .turns = algorithm != FTC_GOSSIP_PUSH_SUM,
        .seed = (uint64_t)test_random_start().state,
    };
}
