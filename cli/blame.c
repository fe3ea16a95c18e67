/*
 * Which rank waits for which, and which rank all of them wait for in the end.
 *
 * Each waiting rank names the lowest rank for which it waits. These links make chains, and some
 * chains run into a cycle. A chain ends at one of these ranks:
 *
 *   - A rank that waits for a rank past its own operation. The awaited message is under way, so the
 *     awaited rank is not the cause.
 *   - A rank whose heartbeat stands still. Its progress thread could not take any message.
 *   - A rank that waits for no other rank: it computes, sleeps, has failed or has not joined.
 *
 * A cycle is named by its lowest rank.
 */
#include "cli/status.h"
#include "collectives/agreement/member.h"

enum { UNSEEN = -1, ON_PATH = -2 }; /* values of `culprit` before it is known */

/* How many operations the rank has called. The slot says it in two places, and each may be late. */
static uint64_t progress(const struct ftc_status_rank *rank)
{
    bool inside = rank->activity.kind > FTC_CALL_NONE && rank->activity.op != UINT64_MAX;
    uint64_t called = inside ? rank->activity.op + 1 : 0;
    return called > rank->called ? called : rank->called;
}

static void measure_lag(struct ftc_status *status)
{
    status->most = 0;
    for (int i = 0; i < status->ranks; i++) {
        struct ftc_status_rank *rank = &status->rank[i];
        rank->progress = progress(rank);
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

static int next_link(const struct ftc_status *status, int i)
{
    const struct ftc_status_rank *rank = &status->rank[i];
    int next = rank->activity.waits_for;
    if (!waits(rank) || rank->pulse == FTC_PULSE_STILL || next < 0 || next == i)
        return -1;
    const struct ftc_status_rank *awaited = &status->rank[next];
    return ftc_status_live(awaited) && awaited->progress > rank->progress ? -1 : next;
}

/* The path that is walked now has come back to `from`. Returns the lowest rank of this cycle. */
static int close_cycle(struct ftc_status *status, int from)
{
    int lowest = from, length = 1;
    for (int i = status->rank[from].next; i != from; i = status->rank[i].next) {
        lowest = i < lowest ? i : lowest;
        length++;
    }
    status->rank[lowest].cycle = length;
    return lowest;
}

/* Walk from `start` to the end of its chain, then again to note the end in each rank. */
static void follow(struct ftc_status *status, int start)
{
    int i = start;
    while (status->rank[i].culprit == UNSEEN && status->rank[i].next >= 0) {
        status->rank[i].culprit = ON_PATH;
        i = status->rank[i].next;
    }
    int end = i;
    if (status->rank[i].culprit == ON_PATH)
        end = close_cycle(status, i);
    else if (status->rank[i].culprit >= 0)
        end = status->rank[i].culprit;
    for (i = start; i >= 0 && status->rank[i].culprit == ON_PATH; i = status->rank[i].next)
        status->rank[i].culprit = end;
}

void ftc_status_blame(struct ftc_status *status)
{
    measure_lag(status);
    for (int i = 0; i < status->ranks; i++) {
        struct ftc_status_rank *rank = &status->rank[i];
        rank->next = next_link(status, i);
        rank->culprit = UNSEEN;
        rank->blamed = rank->cycle = 0;
    }
    for (int i = 0; i < status->ranks; i++)
        follow(status, i);
    for (int i = 0; i < status->ranks; i++)
        if (status->rank[i].culprit >= 0)
            status->rank[status->rank[i].culprit].blamed++;
}
