/* Numbers, ages and choice of the events of a cluster. */
#include "sim/model/cluster_event.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mix.h"

/* --- numbers: n*n arrivals, n*n notices, n timers, n calls, n datagrams --- */

int ftc_cluster_event_count(int n)
{
    return 2 * n * n + 3 * n;
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

int ftc_cluster_datagram(const struct ftc_cluster *c, int to)
{
    return 2 * c->n * c->n + 2 * c->n + to;
}

struct ftc_cluster_event ftc_cluster_event_of(int n, int event)
{
    int pairs = n * n;

    if (event < pairs)
        return (struct ftc_cluster_event){FTC_CLUSTER_ARRIVAL, event / n, event % n};
    if (event < 2 * pairs)
        return (struct ftc_cluster_event){FTC_CLUSTER_NOTICE, (event - pairs) / n,
                                          (event - pairs) % n};
    if (event < 2 * pairs + n)
        return (struct ftc_cluster_event){FTC_CLUSTER_TIMER, event - 2 * pairs, 0};
    if (event < 2 * pairs + 2 * n)
        return (struct ftc_cluster_event){FTC_CLUSTER_CALL, event - 2 * pairs - n, 0};
    return (struct ftc_cluster_event){FTC_CLUSTER_DATAGRAM, event - 2 * pairs - 2 * n, 0};
}

int ftc_cluster_event_number(int n, struct ftc_cluster_event e)
{
    int pairs = n * n;

    if (e.kind == FTC_CLUSTER_ARRIVAL)
        return e.a * n + e.b;
    if (e.kind == FTC_CLUSTER_NOTICE)
        return pairs + e.a * n + e.b;
    return 2 * pairs + (e.kind - FTC_CLUSTER_TIMER) * n + e.a;
}

/* --- which are enabled, and since when --- */

/* What a storm prefers: an event with a lower value happens sooner. */
struct ftc_cluster_tastes {
    uint64_t bias; /* the seed of the rest */
    uint16_t by_class[FTC_CLUSTER_CLASSES];
    uint16_t *by_rank;
    uint16_t *dislike; /* by event; valid for enabled ones */
};

static void taste(struct ftc_cluster *c, int event);

void ftc_cluster_make_events(struct ftc_cluster *c)
{
    size_t count = (size_t)ftc_cluster_event_count(c->n);
    char *memory = ftc_cluster_alloc(c->n, count, 4 * sizeof(int) + 2 * sizeof(bool));

    c->event_memory = memory;
    c->events = (int)count;
    c->place = (int *)memory;
    c->enabled = c->place + count;
    c->older = c->enabled + count;
    c->younger = c->older + count;
    c->pending = (bool *)(c->younger + count);
    c->held = c->pending + count;
    c->oldest = c->youngest = -1;
}

void ftc_cluster_free_events(struct ftc_cluster *c)
{
    if (c->tastes != NULL) {
        free(c->tastes->by_rank);
        free(c->tastes->dislike);
    }
    free(c->tastes);
    free(c->event_memory);
}

static void enable(struct ftc_cluster *c, int event)
{
    c->enabled[c->enabled_count++] = event;
    c->place[event] = c->enabled_count;
    c->older[event] = c->youngest;
    c->younger[event] = -1;
    *(c->youngest >= 0 ? &c->younger[c->youngest] : &c->oldest) = event;
    c->youngest = event;
    if (c->tastes != NULL)
        taste(c, event);
}

static void disable(struct ftc_cluster *c, int event)
{
    int last = c->enabled[--c->enabled_count];
    int older = c->older[event], younger = c->younger[event];

    c->enabled[c->place[event] - 1] = last;
    c->place[last] = c->place[event];
    c->place[event] = 0;
    *(older >= 0 ? &c->younger[older] : &c->oldest) = younger;
    *(younger >= 0 ? &c->older[younger] : &c->youngest) = older;
}

/* Keep the list of enabled events (pending and not held) without scanning all events. */
static void place_event(struct ftc_cluster *c, int event)
{
    bool wanted = c->pending[event] && !c->held[event];

    if (wanted && c->place[event] == 0)
        enable(c, event);
    else if (!wanted && c->place[event] != 0)
        disable(c, event);
}

void ftc_cluster_set_pending(struct ftc_cluster *c, int event, bool pending)
{
    c->pending[event] = pending;
    place_event(c, event);
}

int ftc_cluster_aged(const struct ftc_cluster *c, uint64_t passed)
{
    int event = c->oldest;

    assert(event >= 0);
    while (passed-- > 0 && c->younger[event] >= 0)
        event = c->younger[event];
    return event;
}

uint64_t ftc_cluster_age(const struct ftc_cluster *c, int event)
{
    uint64_t older = 0;

    assert(c->place[event] > 0);
    while ((event = c->older[event]) >= 0)
        older++;
    return older;
}

/* --- holding back --- */

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

/* --- chance --- */

/*
 * How much a storm dislikes an event: by its class, by its ranks and by itself. The next event is
 * the least disliked one of 12 neighbours; one time in 16 it is any event. So a disliked event
 * mostly waits long. This gives one-sided schedules, which uniform choice would hardly ever give.
 */
static void taste(struct ftc_cluster *c, int event)
{
    struct ftc_cluster_tastes *t = c->tastes;
    struct ftc_cluster_event e = ftc_cluster_event_of(c->n, event);
    unsigned by_event = ftc_mix(t->bias + 1000 + (uint64_t)event) & 0x3ff;

    t->dislike[event] = (uint16_t)(t->by_class[e.kind] + t->by_rank[e.a] + 2 * by_event);
}

/* Draw new tastes from a new bias. */
static void change_tastes(struct ftc_cluster *c)
{
    struct ftc_cluster_tastes *t = c->tastes;

    if (t == NULL) {
        t = c->tastes = ftc_cluster_alloc(c->n, 1, sizeof(*t));
        t->by_rank = ftc_cluster_alloc(c->n, (size_t)c->n, sizeof(*t->by_rank));
        t->dislike = ftc_cluster_alloc(c->n, (size_t)c->events, sizeof(*t->dislike));
    }
    t->bias = c->bias;
    for (int kind = 0; kind < FTC_CLUSTER_CLASSES; kind++)
        t->by_class[kind] = ftc_mix(c->bias + (uint64_t)kind) & 0x3ff;
    for (int rank = 0; rank < c->n; rank++)
        t->by_rank[rank] = ftc_mix(c->bias + 100 + (uint64_t)rank) & 0x3ff;
    for (int i = 0; i < c->enabled_count; i++)
        taste(c, c->enabled[i]);
}

/* The least disliked of a few neighbours in enabled[], which has no order. */
static int pick_liked(const struct ftc_cluster *c, int first)
{
    const uint16_t *dislike = c->tastes->dislike;
    int tries = c->enabled_count < 12 ? c->enabled_count : 12;
    int best = c->enabled[first];

    for (int t = 1, i = first; t < tries; t++) {
        i = i + 1 < c->enabled_count ? i + 1 : 0;
        if (dislike[c->enabled[i]] < dislike[best])
            best = c->enabled[i];
    }
    return best;
}

int ftc_cluster_pick(struct ftc_cluster *c)
{
    uint64_t random = ftc_cluster_random(c);
    int any = (int)(((random >> 32) * (uint64_t)c->enabled_count) >> 32);

    assert(c->enabled_count > 0);
    if (c->bias == 0)
        return c->enabled[any];
    if (random % 64 == 0)
        c->bias = ftc_mix(random) | 1;
    if (c->tastes == NULL || c->tastes->bias != c->bias)
        change_tastes(c);
    return random / 64 % 16 == 0 ? c->enabled[any] : pick_liked(c, any);
}
