/* Leases of thousands of nodes in virtual time, and the table of their costs. */
#include "sim/nodes/beats.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"
#include "detector/lease/lease.h"
#include "sim/timed/queue.h"

#define T (UINT64_C(5) * 1000 * 1000 * 1000)
#define P (T / 20)

#define COUNTED_FROM (2 * T) /* messages are counted for T from then on */
#define STRUCK       (3 * T) /* and again, for T after the leader is paused or has died */
#define DIES         (4 * T) /* the victim, where the leader was paused */
#define LAST         (6 * T)
#define PAUSE        (3 * P) /* nodes have asked for beats by then, and nobody has lost patience */
#define VICTIM       1       /* it has others below it in the tree of node 0 */
#define LATE_NS      (P / 100) /* longest time by which a tick comes late */

enum { TICK, ARRIVE };

struct letter {
    size_t size;
    unsigned char bytes[];
};

struct node {
    struct ftc_lease *lease;
    uint64_t messages, after, tick_ns;
    bool ended, lost;
};

struct world {
    struct ftc_beats *beats;
    struct node *node;
    struct ftc_queue queue;
    struct ftc_lease_box box;
    uint64_t now_ns, random;
};

/* --- steps --- */

static int plan(struct world *w, uint64_t at_ns, unsigned kind, int node, int from, void *item)
{
    struct ftc_event event = {.key = at_ns,
                              .rank = (uint32_t)node,
                              .kind = kind & 0xf,
                              .other = (uint32_t)from & 0xfffffff,
                              .item = item};
    return ftc_queue_push(&w->queue, &event);
}

static bool is_struck(const struct world *w)
{
    return w->now_ns >= STRUCK && w->now_ns < STRUCK + T;
}

/* The leader, those that would come after it, and each seventh of the rest: a quarter. */
static bool in_rack(const struct world *w, int node)
{
    return node == 0 || node < w->beats->nodes / 8 || node % 7 == 0;
}

static bool dies(const struct world *w, int node)
{
    return w->beats->rack ? in_rack(w, node) : node == VICTIM;
}

static bool is_dead(const struct world *w, int node)
{
    return dies(w, node) && w->now_ns >= (w->beats->rack ? STRUCK : DIES);
}

static void count(const struct world *w, struct node *node)
{
    node->messages += w->now_ns >= COUNTED_FROM && w->now_ns < STRUCK;
    node->after += is_struck(w);
}

/* Before the leader dies only nodes below its last child get its beats. Their promises last longer
 * than those of the others, who elect a leader without them. */
static bool is_unsent(const struct world *w, int from, int to)
{
    return w->beats->rack && from == 0 && w->now_ns >= STRUCK - PAUSE && to != FTC_LEASE_ARITY;
}

static int send(struct world *w, int from, const struct ftc_lease_output *output)
{
    if (is_unsent(w, from, output->node))
        return FTC_SUCCESS;
    size_t size = ftc_lease_size(&output->message);
    struct letter *letter = malloc(sizeof(*letter) + size);

    if (letter == NULL)
        return FTC_ERR_NOMEM;
    letter->size = ftc_lease_encode(&output->message, letter->bytes, size);
    count(w, &w->node[from]);
    return plan(w, w->now_ns + ftc_cost_flight(&w->beats->cost, size), ARRIVE, output->node, from,
                letter);
}

static void lose(struct world *w, int node)
{
    w->beats->lost += !is_dead(w, node) && !w->node[node].lost;
    w->node[node].lost = true;
}

static void declares(struct world *w, int node)
{
    if (is_dead(w, node) && w->beats->declared_ns == 0)
        w->beats->declared_ns = w->now_ns - (w->beats->rack ? STRUCK : DIES);
    lose(w, node);
}

/* Carry out what the lease puts out, and plan its next tick. */
static int step_done(struct world *w, int i)
{
    struct node *node = &w->node[i];
    struct ftc_lease_output output;
    int rc = FTC_SUCCESS;

    while (rc == FTC_SUCCESS && ftc_lease_next_output(node->lease, &output)) {
        if (output.kind == FTC_LEASE_SEND)
            rc = send(w, i, &output);
        else if (output.kind == FTC_LEASE_DECLARE)
            declares(w, output.node);
        node->ended |= output.kind == FTC_LEASE_FENCE;
    }
    if (node->ended)
        lose(w, i);
    uint64_t due = ftc_lease_due(node->lease);
    if (node->ended || rc != FTC_SUCCESS || (node->tick_ns > w->now_ns && node->tick_ns <= due))
        return rc;
    w->random += 0x9e3779b97f4a7c15u;
    node->tick_ns = (due > w->now_ns ? due : w->now_ns) + 1 + ftc_mix(w->random) % LATE_NS;
    return plan(w, node->tick_ns, TICK, i, 0, NULL);
}

static int happen(struct world *w, const struct ftc_event *event)
{
    int i = (int)event->rank;
    struct node *node = &w->node[i];
    const struct letter *letter = event->item;
    struct ftc_lease_message message;

    if (node->ended || is_dead(w, i) || (event->kind == TICK && node->tick_ns != event->key))
        return FTC_SUCCESS;
    if (event->kind == TICK) {
        node->tick_ns = 0;
        ftc_lease_tick(node->lease, w->now_ns);
        return step_done(w, i);
    }
    int rc = ftc_lease_decode(&message, &w->box, letter->bytes, letter->size);
    if (rc != FTC_SUCCESS)
        return rc;
    count(w, node);
    ftc_lease_receive(node->lease, (int)event->other, &message, w->now_ns);
    return step_done(w, i);
}

/* --- a run --- */

static int start(struct world *w)
{
    int rc = ftc_lease_box_init(&w->box, w->beats->nodes);

    w->now_ns = P;
    for (int i = 0; i < w->beats->nodes && rc == FTC_SUCCESS; i++) {
        struct ftc_lease_settings settings = {
            .self = i, .nodes = w->beats->nodes, .timeout_ns = T, .period_ns = P};
        rc = ftc_lease_create(&w->node[i].lease, &settings);
    }
    for (int i = 0; i < w->beats->nodes && rc == FTC_SUCCESS; i++) {
        ftc_lease_start(w->node[i].lease, w->now_ns);
        rc = step_done(w, i);
    }
    return rc;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void sum_up(struct world *w)
{
    uint64_t sum = 0;

    for (int i = 0; i < w->beats->nodes; i++) {
        const struct node *node = &w->node[i];
        sum += node->messages;
        w->beats->busiest = greater(w->beats->busiest, node->messages);
        w->beats->after = greater(w->beats->after, node->after);
        ftc_lease_destroy(node->lease);
    }
    w->beats->mean = sum / (uint64_t)w->beats->nodes;
}

/* The leader is paused: what happens to it happens when that is over. */
static bool is_paused(const struct world *w, int node)
{
    return !w->beats->rack && node == 0 && is_struck(w) && w->now_ns < STRUCK + PAUSE;
}

static int postpone(struct world *w, struct ftc_event *event)
{
    event->key = STRUCK + PAUSE;
    if (event->kind == TICK)
        w->node[event->rank].tick_ns = event->key;
    return ftc_queue_push(&w->queue, event);
}

static int go(struct world *w)
{
    struct ftc_event event;
    int rc = start(w);

    while (rc == FTC_SUCCESS && ftc_queue_pop(&w->queue, &event)) {
        w->now_ns = event.key;
        if (is_paused(w, (int)event.rank)) {
            rc = postpone(w, &event);
            continue;
        }
        if (w->now_ns < LAST)
            rc = happen(w, &event);
        free(event.item);
    }
    return rc;
}

int ftc_beats_run(struct ftc_beats *beats)
{
    struct world w = {.beats = beats, .random = ftc_mix(beats->seed)};
    struct ftc_event event;

    w.node = calloc((size_t)beats->nodes, sizeof(*w.node));
    if (w.node == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d nodes", beats->nodes);
    beats->busiest = beats->mean = beats->after = beats->declared_ns = 0;
    beats->lost = 0;
    ftc_queue_init(&w.queue);
    int rc = go(&w);
    while (ftc_queue_pop(&w.queue, &event))
        free(event.item);
    sum_up(&w);
    ftc_lease_box_fini(&w.box);
    ftc_queue_fini(&w.queue);
    free(w.node);
    return rc;
}

static int row(struct ftc_beats beats, FILE *out)
{
    struct ftc_beats rack = beats;
    int rc = ftc_beats_run(&beats);

    rack.rack = true;
    rc = rc == FTC_SUCCESS ? ftc_beats_run(&rack) : rc;
    if (rc == FTC_SUCCESS)
        fprintf(out, "%d,%.1f,%.1f,%.1f,%" PRIu64 ",%d,%.1f,%d\n", beats.nodes,
                (double)beats.busiest / (T / 1e9), (double)beats.mean / (T / 1e9),
                (double)beats.after / (T / 1e9), beats.declared_ns, beats.lost,
                (double)rack.after / (T / 1e9), rack.lost);
    fflush(out);
    return rc;
}

int ftc_beats_table(const struct ftc_cost *cost, int most, uint64_t seed, FILE *out)
{
    int rc = FTC_SUCCESS;

    fputs("nodes,busiest_per_s,mean_per_s,paused_per_s,declared_ns,lost,rack_per_s,rack_lost\n",
          out);
    for (int nodes = 4; nodes <= most && rc == FTC_SUCCESS; nodes *= 4)
        rc = row((struct ftc_beats){.cost = *cost, .nodes = nodes, .seed = seed}, out);
    return rc;
}
