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

#define COUNTED_FROM (2 * T) /* messages are counted for T from then on; then the victim dies */
#define DIES         (3 * T)
#define END          (5 * T)
#define VICTIM       1         /* it has others below it in the tree of node 0 */
#define LATE_NS      (P / 100) /* longest time by which a tick comes late */

enum { TICK, ARRIVE };

struct letter {
    size_t size;
    unsigned char bytes[];
};

struct node {
    struct ftc_lease *lease;
    uint64_t messages, tick_ns;
    bool ended;
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

static void count(const struct world *w, struct node *node)
{
    node->messages += w->now_ns >= COUNTED_FROM && w->now_ns < DIES;
}

static int send(struct world *w, int from, const struct ftc_lease_output *output)
{
    size_t size = ftc_lease_size(&output->message);
    struct letter *letter = malloc(sizeof(*letter) + size);

    if (letter == NULL)
        return FTC_ERR_NOMEM;
    letter->size = ftc_lease_encode(&output->message, letter->bytes, size);
    count(w, &w->node[from]);
    return plan(w, w->now_ns + ftc_cost_flight(&w->beats->cost, size), ARRIVE, output->node, from,
                letter);
}

static void declares(struct world *w, int node)
{
    if (node == VICTIM && w->beats->declared_ns == 0)
        w->beats->declared_ns = w->now_ns - DIES;
    w->beats->lost += node != VICTIM;
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
    w->beats->lost += node->ended;
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

    if (node->ended || (i == VICTIM && w->now_ns >= DIES) ||
        (event->kind == TICK && node->tick_ns != event->key))
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

static void sum_up(struct world *w)
{
    uint64_t sum = 0;

    for (int i = 0; i < w->beats->nodes; i++) {
        uint64_t messages = w->node[i].messages;
        sum += messages;
        w->beats->busiest = messages > w->beats->busiest ? messages : w->beats->busiest;
        ftc_lease_destroy(w->node[i].lease);
    }
    w->beats->mean = sum / (uint64_t)w->beats->nodes;
}

int ftc_beats_run(struct ftc_beats *beats)
{
    struct world w = {.beats = beats, .random = ftc_mix(beats->seed)};
    struct ftc_event event;

    w.node = calloc((size_t)beats->nodes, sizeof(*w.node));
    if (w.node == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d nodes", beats->nodes);
    beats->busiest = beats->mean = beats->declared_ns = 0;
    beats->lost = 0;
    ftc_queue_init(&w.queue);
    int rc = start(&w);
    while (rc == FTC_SUCCESS && ftc_queue_pop(&w.queue, &event)) {
        w.now_ns = event.key;
        if (w.now_ns < END)
            rc = happen(&w, &event);
        free(event.item);
    }
    while (ftc_queue_pop(&w.queue, &event))
        free(event.item);
    sum_up(&w);
    ftc_lease_box_fini(&w.box);
    ftc_queue_fini(&w.queue);
    free(w.node);
    return rc;
}

int ftc_beats_table(const struct ftc_cost *cost, int most, uint64_t seed, FILE *out)
{
    int rc = FTC_SUCCESS;

    fputs("nodes,busiest_per_s,mean_per_s,declared_ns,lost\n", out);
    for (int nodes = 4; nodes <= most && rc == FTC_SUCCESS; nodes *= 4) {
        struct ftc_beats row = {.cost = *cost, .nodes = nodes, .seed = seed};
        rc = ftc_beats_run(&row);
        if (rc == FTC_SUCCESS)
            fprintf(out, "%d,%.1f,%.1f,%" PRIu64 ",%d\n", nodes, (double)row.busiest / (T / 1e9),
                    (double)row.mean / (T / 1e9), row.declared_ns, row.lost);
        fflush(out);
    }
    return rc;
}
