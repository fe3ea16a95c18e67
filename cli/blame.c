/*
 * How far each rank is, and which rank waits for which. A chain of waiting (node/segment/chain.h)
 * ends at one of these ranks:
 *
 *   - A rank that waits for a rank past its own operation. The awaited message is under way, so the
 *     awaited rank is not the cause.
 *   - A rank whose heartbeat stands still. Its progress thread could not take any message.
 *   - A rank that waits for no other rank: it computes, sleeps, has failed or has not joined.
 */
#include <string.h>

#include "cli/status.h"
#include "collectives/agreement/member.h"

/* How many operations of a communicator the rank has called, as far as its slot says it: a send or
 * a receive shows none. For the world the slot says it in two places, and each may be late. */
static uint64_t called(const struct ftc_status_rank *rank, uint64_t communicator)
{
    const struct ftc_status_activity *activity = &rank->activity;
    bool inside = activity->kind > FTC_CALL_NONE && activity->communicator == communicator;
    uint64_t shown = inside && activity->op != UINT64_MAX ? activity->op + 1 : 0;
    return communicator == FTC_COMMUNICATOR_WORLD && rank->called > shown ? rank->called : shown;
}

static void measure_lag(struct ftc_job_status *status)
{
    status->most = 0;
    for (int i = 0; i < status->ranks; i++) {
        struct ftc_status_rank *rank = &status->rank[i];
        rank->progress = called(rank, FTC_COMMUNICATOR_WORLD);
        if (ftc_status_live(rank) && rank->progress > status->most)
            status->most = rank->progress;
    }
    for (int i = 0; i < status->ranks; i++) {
        struct ftc_status_rank *rank = &status->rank[i];
        /* The counters of ranks of other nodes arrive late. */
        bool comparable = ftc_status_live(rank) && rank->node == status->own_node;
        rank->lag = comparable ? status->most - rank->progress : 0;
    }
}

static bool waits(const struct ftc_status_rank *rank)
{
    const struct ftc_status_activity *activity = &rank->activity;
    return ftc_status_live(rank) && activity->kind > FTC_CALL_NONE &&
           activity->wait > FTC_WAIT_NOTHING;
}

static int next_link(const struct ftc_job_status *status, const struct ftc_status_rank *rank)
{
    int next = rank->activity.waits_for;
    uint64_t communicator = rank->activity.communicator;
    if (!waits(rank) || rank->pulse == FTC_PULSE_STILL || next < 0 ||
        rank->activity.wait == FTC_WAIT_REST)
        return -1;
    const struct ftc_status_rank *awaited = &status->rank[next];
    bool past =
        !ftc_status_passes(rank) && called(awaited, communicator) > called(rank, communicator);
    return ftc_status_live(awaited) && past ? -1 : next;
}

static bool stands(const struct ftc_job_status *status, const struct ftc_status_rank *rank)
{
    uint64_t age = rank->activity.age_ns != FTC_STATUS_NEVER ? rank->activity.age_ns : 0;
    return rank->wait_seen_ns != 0 && status->now_ns - rank->wait_seen_ns >= FTC_CHAIN_PAUSE_NS &&
           age >= ftc_chain_least_age_ns(status->ranks, status->nodes, ftc_status_passes(rank));
}

void ftc_status_blame(struct ftc_job_status *status)
{
    measure_lag(status);
    status->communicates = false;
    for (int i = 0; i < status->ranks; i++) {
        const struct ftc_status_rank *rank = &status->rank[i];
        struct ftc_chain_link *link = &status->link[i];
        link->next = next_link(status, rank);
        link->stands = stands(status, rank);
        link->passes = ftc_status_passes(rank);
        link->communicator = ftc_status_inside(rank) ? rank->activity.communicator : 0;
        memcpy(link->name, rank->activity.communicator_name, sizeof(link->name));
        status->communicates |= ftc_status_elsewhere(rank);
    }
    ftc_chain_follow(status->link, status->ranks);
}
