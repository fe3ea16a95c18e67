/* Positive acknowledgement: a tree of collectors passes up the news that all ranks below have the
 * value. */
#include <math.h>

#include "collectives/spread/topology.h"
#include "sim/baseline/engine.h"

/* --- collectors --- */

static int linear_collector(int ranks, int rank)
{
    (void)ranks;
    (void)rank;
    return 0;
}

static int tree_collector(int ranks, int rank)
{
    static const struct ftc_tree_shape binomial = {FTC_TREE_BINOMIAL, 2};

    (void)ranks;
    return ftc_topology_broadcast_parent(&binomial, rank);
}

static int co_root_collector(int ranks, int rank)
{
    int group = (int)ceil(sqrt(ranks));

    return rank % group == 0 ? 0 : rank - rank % group;
}

/* --- rules --- */

/* When `rank` has the value and all acknowledgements that it awaits, it acknowledges, once. */
static int tell_when_done(struct ftc_baseline_engine *e, int rank)
{
    struct ftc_baseline_process *p = &e->process[rank];

    if (p->told || p->missing > 0 || p->awaited > 0)
        return 0;
    p->told = true;
    if (rank > 0)
        return ftc_baseline_send(e, rank, p->parent, FTC_BASELINE_ACK, 0);
    e->result->complete = true;
    e->result->root_free = e->now;
    return 0;
}

static int wait_for_all(struct ftc_baseline_engine *e, int rank)
{
    return ftc_baseline_wait(e, rank, rank == 0 && e->scheme->local ? 2 : 1);
}

static int start(struct ftc_baseline_engine *e)
{
    for (int rank = 1; rank < e->n; rank++) {
        e->process[rank].parent = e->scheme->collector(e->n, rank);
        e->process[e->process[rank].parent].awaited++;
    }
    if (e->n == 1)
        return tell_when_done(e, 0);
    int rc = ftc_baseline_send_all(e, 0, 0, FTC_BASELINE_DATAGRAM);
    return rc == 0 ? wait_for_all(e, 0) : rc;
}

static int fragment(struct ftc_baseline_engine *e, int rank, int number)
{
    const struct ftc_baseline_process *p = &e->process[rank];
    int rc = 0;

    (void)number;
    if (p->missing == 0 && p->awaited > 0 && e->scheme->local)
        rc = wait_for_all(e, rank); /* it has the value now, so it can repair */
    return rc == 0 ? tell_when_done(e, rank) : rc;
}

static int answer(struct ftc_baseline_engine *e, int rank, int from, int number)
{
    (void)number;
    e->process[from].heard = true;
    e->process[rank].awaited--;
    ftc_baseline_heard_news(e);
    return tell_when_done(e, rank);
}

static int repair_each(struct ftc_baseline_engine *e, int rank)
{
    int rc = 0;

    for (int child = rank + 1; rc == 0 && child < e->n; child++) {
        const struct ftc_baseline_process *c = &e->process[child];
        if (c->parent == rank && !c->heard && !(e->noticed && c->dead))
            rc = ftc_baseline_send_all(e, rank, child, FTC_BASELINE_REPAIR);
    }
    return rc;
}

/* After so many timeouts in a row without news, the rank waits for ever. A notice that is still to
 * come would be news. */
static bool waits_for_ever(struct ftc_baseline_engine *e, struct ftc_baseline_process *p)
{
    p->idle = p->seen == e->news ? p->idle + 1 : 0;
    p->seen = e->news;
    return p->idle > e->patience && (e->noticed || !e->set->detector);
}

static int timeout(struct ftc_baseline_engine *e, int rank)
{
    struct ftc_baseline_process *p = &e->process[rank];

    if (p->told)
        return 0;
    if (waits_for_ever(e, p)) {
        e->gave_up = true;
        return 0;
    }
    int rc = e->scheme->local ? repair_each(e, rank)
                              : ftc_baseline_send_all(e, rank, 0, FTC_BASELINE_DATAGRAM);
    return rc == 0 ? wait_for_all(e, rank) : rc;
}

/* A rank whose collector is dead acknowledges (again) to the nearest live one above it. */
static void find_live_parent(struct ftc_baseline_engine *e, struct ftc_baseline_process *p)
{
    if (!e->process[p->parent].dead)
        return;
    while (e->process[p->parent].dead)
        p->parent = e->process[p->parent].parent;
    p->told = false;
}

static int notice(struct ftc_baseline_engine *e)
{
    int rc = 0;

    for (int rank = 0; rank < e->n; rank++)
        e->process[rank].awaited = 0;
    for (int rank = 1; rank < e->n; rank++) {
        struct ftc_baseline_process *p = &e->process[rank];
        if (p->dead)
            continue;
        find_live_parent(e, p);
        e->process[p->parent].awaited += !p->heard;
    }
    for (int rank = 0; rc == 0 && rank < e->n; rank++) {
        e->process[rank].idle = 0;
        if (!e->process[rank].dead)
            rc = tell_when_done(e, rank);
    }
    return rc;
}

#define RULES                                                                                      \
    .start = start, .fragment = fragment, .answer = answer, .timeout = timeout, .notice = notice

const struct ftc_baseline_scheme ftc_baseline_linear = {
    .name = "ack-linear", RULES, .collector = linear_collector};
const struct ftc_baseline_scheme ftc_baseline_tree = {
    .name = "ack-tree", RULES, .collector = tree_collector};
const struct ftc_baseline_scheme ftc_baseline_co_root = {
    .name = "ack-co-root", RULES, .collector = co_root_collector, .local = true};
