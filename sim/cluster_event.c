/* Numbering and choosing the events of a cluster. */
#include "sim/cluster_event.h"

#include <assert.h>

/* Numbers: n*n arrivals, n*n notices, n timers, n calls. */

int ftc_cluster_event_count(int n)
{
    return 2 * n * n + 2 * n;
}

int ftc_cluster_arrival(const struct ftc_cluster *c, int from, int to)
{
    return from * c->n + to;
}

int ftc_cluster_notice(const struct ftc_cluster *c, int observer, int dead)
{
    return c->n * c->n + observer * c->n + dead;
}

int ftc_cluster_timer(const struct ftc_cluster *c, int rank)
{
    return 2 * c->n * c->n + rank;
}

int ftc_cluster_call(const struct ftc_cluster *c, int rank)
{
    return 2 * c->n * c->n + c->n + rank;
}

struct ftc_cluster_event ftc_cluster_event_of(int n, int event)
{
    int pairs = n * n;

    if (event < pairs)
        return (struct ftc_cluster_event){FTC_CLUSTER_ARRIVAL, event / n, event % n};
    if (event < 2 * pairs)
        return (struct ftc_cluster_event){FTC_CLUSTER_NOTICE, (event - pairs) / n, (event - pairs) % n};
    if (event < 2 * pairs + n)
        return (struct ftc_cluster_event){FTC_CLUSTER_TIMER, event - 2 * pairs, 0};
    return (struct ftc_cluster_event){FTC_CLUSTER_CALL, event - 2 * pairs - n, 0};
}

uint64_t ftc_cluster_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void ftc_cluster_broadcast_value(int op, int root, unsigned char bytes[FTC_CLUSTER_BROADCAST_SIZE])
{
    for (int b = 0; b < FTC_CLUSTER_BROADCAST_SIZE; b++)
        bytes[b] = (unsigned char)(17 * op + 5 * root + b + 1);
}

/* Keep enabled[] = pending and not held, without scans. */
static void place_event(struct ftc_cluster *c, int event)
{
    bool wanted = c->pending[event] && !c->held[event];

    if (wanted && c->place[event] == 0) {
        c->enabled[c->enabled_count++] = event;
        c->place[event] = c->enabled_count;
    } else if (!wanted && c->place[event] != 0) {
        int last = c->enabled[--c->enabled_count];
        c->enabled[c->place[event] - 1] = last;
        c->place[last] = c->place[event];
        c->place[event] = 0;
    }
}

void ftc_cluster_set_pending(struct ftc_cluster *c, int event, bool pending)
{
    c->pending[event] = pending;
    place_event(c, event);
}

void ftc_cluster_hold(struct ftc_cluster *c, int event)
{
    c->held[event] = true;
    place_event(c, event);
}

void ftc_cluster_release(struct ftc_cluster *c, int event)
{
    c->held[event] = false;
    place_event(c, event);
}

void ftc_cluster_hold_notices(struct ftc_cluster *c, int dead)
{
    for (int observer = 0; observer < c->n; observer++)
        ftc_cluster_hold(c, ftc_cluster_notice(c, observer, dead));
}

void ftc_cluster_release_notices(struct ftc_cluster *c, int dead)
{
    for (int observer = 0; observer < c->n; observer++)
        ftc_cluster_release(c, ftc_cluster_notice(c, observer, dead));
}

void ftc_cluster_hold_calls(struct ftc_cluster *c)
{
    for (int rank = 0; rank < c->n; rank++)
        ftc_cluster_hold(c, ftc_cluster_call(c, rank));
}

void ftc_cluster_release_calls(struct ftc_cluster *c)
{
    for (int rank = 0; rank < c->n; rank++)
        ftc_cluster_release(c, ftc_cluster_call(c, rank));
}

/*
 * How much a storm dislikes an event: by its class, its ranks and by itself. An event that scores high
 * waits until nothing else is left, so that long one-sided schedules come up that uniform choice would
 * hardly ever make.
 */
static uint64_t dislike(const struct ftc_cluster *c, int event)
{
    struct ftc_cluster_event e = ftc_cluster_event_of(c->n, event);
    uint64_t by_class = ftc_cluster_mix(c->bias + (uint64_t)e.kind) & 0x3ff;
    uint64_t by_rank = ftc_cluster_mix(c->bias + 100 + (uint64_t)e.a) & 0x3ff;
    uint64_t by_event = ftc_cluster_mix(c->bias + 1000 + (uint64_t)event) & 0x3ff;
    return by_class + by_rank + 2 * by_event;
}

/* Of a few enabled events, the one that is disliked least. */
static int pick_liked(struct ftc_cluster *c)
{
    int best = c->enabled[ftc_cluster_below(c, c->enabled_count)];
    uint64_t least = dislike(c, best);
    int tries = c->enabled_count < 12 ? c->enabled_count : 12;

    for (int t = 0; t < tries; t++) {
        int event = c->enabled[c->enabled_count <= tries ? t : ftc_cluster_below(c, c->enabled_count)];
        uint64_t dislikes = dislike(c, event);
        if (dislikes < least) {
            least = dislikes;
            best = event;
        }
    }
    return best;
}

int ftc_cluster_pick(struct ftc_cluster *c)
{
    assert(c->enabled_count > 0);
    if (c->bias != 0 && ftc_cluster_below(c, 64) == 0)
        c->bias = ftc_cluster_random(c) | 1; /* tastes change */
    if (c->bias == 0 || ftc_cluster_below(c, 16) == 0)
        return c->enabled[ftc_cluster_below(c, c->enabled_count)];
    return pick_liked(c);
}
