/* News of a failed rank in virtual time, and the table of their times. */
#include "sim/nodes/spread.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"
#include "detector/notices.h"
#include "sim/timed/queue.h"

#define BYTES 64 /* of a message: the head, and what TCP's frame adds */
#define NEWS  2  /* the notice and the end */
#define RUNS  5
#define DUE   0         /* a correction is due: kind of event; the others are numbers of news */
#define P_NS  250000000 /* the default of detector.heartbeat_period_ms */

struct node {
    struct ftc_notices notices;
    uint64_t free_ns; /* it is busy until then */
    uint64_t due_ns;  /* when its timer fires */
    int sent;
    bool dead;
};

struct world {
    struct ftc_spread *spread;
    struct node *node;
    struct ftc_queue queue;
    int origin, reached;
    uint64_t random;
};

static int below(struct world *w, int limit)
{
    return (int)(ftc_mix(w->random += 0x9e3779b97f4a7c15u) % (uint64_t)limit);
}

/* --- steps --- */

static int set_timer(struct world *w, int i)
{
    struct node *node = &w->node[i];
    uint64_t due = ftc_notices_due(&node->notices);
    struct ftc_event event = {.key = due, .rank = (uint32_t)i, .kind = DUE};

    if (due == UINT64_MAX || due == node->due_ns)
        return FTC_SUCCESS;
    node->due_ns = due;
    return ftc_queue_push(&w->queue, &event);
}

/* Two sends of a node lie at least o and the gap apart. */
static int put_out(struct world *w, int i, uint64_t now)
{
    struct node *node = &w->node[i];
    const struct ftc_cost *cost = &w->spread->cost;
    uint64_t gap = ftc_cost_gap(cost, BYTES), overhead = ftc_cost_overhead(cost);
    struct ftc_notices_output output;
    int rc = FTC_SUCCESS;

    node->free_ns = node->free_ns > now ? node->free_ns : now;
    while (ftc_notices_next(&node->notices, &output) && rc == FTC_SUCCESS) {
        struct ftc_event event = {.key = node->free_ns + ftc_cost_flight(cost, BYTES),
                                  .rank = (uint32_t)output.to,
                                  .kind = output.number & 0xf,
                                  .other = (uint32_t)i & 0xfffffff};
        rc = ftc_queue_push(&w->queue, &event);
        node->free_ns += gap > overhead ? gap : overhead;
        node->sent++;
    }
    return rc == FTC_SUCCESS ? set_timer(w, i) : rc;
}

static int take(struct world *w, const struct ftc_event *event)
{
    struct node *node = &w->node[event->rank];
    uint64_t begun = node->free_ns > event->key ? node->free_ns : event->key;

    if (node->dead)
        return FTC_SUCCESS;
    if (event->kind == DUE) {
        ftc_notices_tick(&node->notices, event->key);
        return put_out(w, (int)event->rank, event->key);
    }
    node->free_ns = begun + ftc_cost_overhead(&w->spread->cost);
    if (!ftc_notices_take(&node->notices, (int)event->other, w->origin, event->kind, NULL, begun))
        return FTC_SUCCESS;
    if (event->kind == 1) {
        w->reached++;
        if (node->free_ns > w->spread->notice_ns)
            w->spread->notice_ns = node->free_ns;
    }
    return put_out(w, (int)event->rank, node->free_ns);
}

/* --- a run --- */

static void draw(struct world *w)
{
    w->origin = below(w, w->spread->nodes);
    for (int dead = 0; dead < w->spread->dead;) {
        int i = below(w, w->spread->nodes);
        if (i == w->origin || w->node[i].dead)
            continue;
        w->node[i].dead = true;
        dead++;
    }
}

static int spread_news(struct world *w)
{
    struct ftc_event event;
    int rc = FTC_SUCCESS;

    for (int news = 0; news < NEWS; news++)
        (void)ftc_notices_tell(&w->node[w->origin].notices, NULL, 0);
    rc = put_out(w, w->origin, 0);
    while (rc == FTC_SUCCESS && ftc_queue_pop(&w->queue, &event))
        rc = take(w, &event);
    return rc;
}

int ftc_spread_run(struct ftc_spread *spread)
{
    struct world w = {.spread = spread, .reached = 1, .random = ftc_mix(spread->seed)};
    int rc;

    w.node = calloc((size_t)spread->nodes, sizeof(*w.node));
    if (w.node == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d nodes", spread->nodes);
    spread->notice_ns = 0;
    spread->busiest = 0;
    ftc_queue_init(&w.queue);
    for (int i = 0; i < spread->nodes; i++)
        ftc_notices_init(&w.node[i].notices, i, spread->nodes, P_NS / FTC_NOTICES_WAITS);
    draw(&w);
    rc = spread_news(&w);
    for (int i = 0; i < spread->nodes; i++) {
        if (w.node[i].sent > spread->busiest)
            spread->busiest = w.node[i].sent;
        ftc_notices_fini(&w.node[i].notices);
    }
    spread->missed = spread->nodes - spread->dead - w.reached;
    ftc_queue_fini(&w.queue);
    free(w.node);
    return rc;
}

uint64_t ftc_spread_flat(const struct ftc_spread *spread)
{
    uint64_t gap = ftc_cost_gap(&spread->cost, BYTES), overhead = ftc_cost_overhead(&spread->cost);
    uint64_t between = gap > overhead ? gap : overhead;

    return (uint64_t)(spread->nodes - 2) * between + ftc_cost_flight(&spread->cost, BYTES) +
           overhead;
}

/* --- the table --- */

static int by_time(const void *a, const void *b)
{
    const struct ftc_spread *one = a, *other = b;
    return (one->notice_ns > other->notice_ns) - (one->notice_ns < other->notice_ns);
}

static int print_row(const struct ftc_spread *row, FILE *out)
{
    struct ftc_spread run[RUNS];
    int busiest = 0, missed = 0, log = 0, rc = FTC_SUCCESS;

    while (1 << log < row->nodes)
        log++;
    for (int i = 0; i < RUNS && rc == FTC_SUCCESS; i++) {
        run[i] = *row;
        run[i].seed = row->seed + (uint64_t)i;
        rc = ftc_spread_run(&run[i]);
        busiest = run[i].busiest > busiest ? run[i].busiest : busiest;
        missed += run[i].missed;
    }
    if (rc != FTC_SUCCESS)
        return rc;
    qsort(run, RUNS, sizeof(*run), by_time);
    fprintf(out, "%d,%d,%d,%" PRIu64 ",%" PRIu64 ",%d,%d,%d,%d\n", row->nodes, row->dead, RUNS,
            run[RUNS / 2].notice_ns, ftc_spread_flat(row), busiest, 4 * log,
            NEWS * (row->nodes - 1), missed);
    return FTC_SUCCESS;
}

int ftc_spread_table(const struct ftc_cost *cost, int most, uint64_t seed, FILE *out)
{
    int rc = FTC_SUCCESS;

    fputs("nodes,dead,runs,notice_ns,flat_ns,busiest,limit,flat_busiest,missed\n", out);
    for (int nodes = 2; nodes <= most && rc == FTC_SUCCESS; nodes *= 2) {
        struct ftc_spread row = {.cost = *cost, .nodes = nodes, .seed = seed};
        rc = print_row(&row, out);
        row.dead = nodes / 100;
        if (rc == FTC_SUCCESS && row.dead > 0)
            rc = print_row(&row, out);
    }
    return rc;
}
