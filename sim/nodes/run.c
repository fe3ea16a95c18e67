/* A run: the events of several nodes, one after the other. */
#include <assert.h>
#include <stdlib.h>

#include "base/mix.h"
#include "sim/nodes/world.h"

/* A sound run ends sooner after the calm: silent nodes are declared, one after the other, and
 * operations finish. */
#define BOUND_NS (40 * FTC_NODES_TIMEOUT)

/* --- events --- */

/* Hand the packets that have arrived to the receiver, one after the other, as long as it takes
 * them. */
static void take_packets(struct ftc_world *w, int from, int to)
{
    struct ftc_packet *packet;

    while ((packet = ftc_world_take(w, from, to)) != NULL) {
        if (to < w->nodes)
            ftc_agent_take(w, to, from, packet);
        else
            ftc_rank_take(w, to - w->nodes, from - w->nodes, packet);
        ftc_packet_free(packet);
    }
}

static void go_on(struct ftc_world *w, int actor)
{
    if (actor < w->nodes)
        ftc_agent_go_on(w, actor);
    else
        ftc_rank_go_on(w, actor - w->nodes);
}

static void happen_to_rank(struct ftc_world *w, enum ftc_world_event kind, int rank, int other)
{
    if (kind == FTC_WORLD_CALL)
        ftc_rank_call(w, rank);
    else if (kind == FTC_WORLD_TIMER)
        ftc_rank_timer(w, rank);
    else if (kind == FTC_WORLD_MORE)
        ftc_rank_more(w, rank);
    else if (kind == FTC_WORLD_TOLD)
        ftc_rank_told(w, rank, other);
}

static void happen_to_agent(struct ftc_world *w, enum ftc_world_event kind, int node, int other)
{
    if (kind == FTC_WORLD_START)
        ftc_node_agent_start(w, node);
    else if (kind == FTC_WORLD_TICK)
        ftc_agent_tick(w, node);
    else if (kind == FTC_WORLD_EXIT)
        ftc_agent_exit(w, node, other);
    else if (kind == FTC_WORLD_LOOK)
        ftc_node_agent_look(w, node);
    else if (kind == FTC_WORLD_RESIGN)
        ftc_agent_resign(w, node);
}

/* A paused actor takes the event later. An actor that was paused within a step first finishes that
 * step. */
static void happen_to_actor(struct ftc_world *w, const struct ftc_event *event)
{
    int actor = (int)event->rank, other = (int)event->other;
    struct ftc_world_actor *a = &w->actor[actor];

    if (!a->alive)
        return;
    if (a->paused_ns > w->now_ns) {
        if (event->kind != FTC_WORLD_RESUME)
            ftc_world_plan(w, a->paused_ns, (enum ftc_world_event)event->kind, actor, other);
        return;
    }
    if (a->busy)
        go_on(w, actor);
    if (!ftc_world_runs(w, actor) || a->busy) { /* struck again */
        ftc_world_plan(w, a->paused_ns, (enum ftc_world_event)event->kind, actor, other);
        return;
    }
    if (event->kind == FTC_WORLD_POLL)
        take_packets(w, other, actor);
    else if (actor < w->nodes)
        happen_to_agent(w, (enum ftc_world_event)event->kind, actor, other);
    else
        happen_to_rank(w, (enum ftc_world_event)event->kind, actor - w->nodes, other);
}

static void happen(struct ftc_world *w, const struct ftc_event *event)
{
    w->sums->events++;
    if (event->kind == FTC_WORLD_STRIKE)
        ftc_strike_now(w, (int)event->other);
    else if (event->kind == FTC_WORLD_CALM)
        ftc_strike_calm(w);
    else if (event->kind == FTC_WORLD_JUDGE)
        ftc_judge_lost(w);
    else if (event->kind == FTC_WORLD_ORPHAN)
        ftc_rank_die(w, (int)event->rank - w->nodes, "follows its agent");
    else
        happen_to_actor(w, event);
}

static void plan_story(struct ftc_world *w)
{
    const struct ftc_nodes_story *s = w->story;

    for (int i = 0; i < w->nodes; i++)
        ftc_world_plan(w, s->start_ns[i], FTC_WORLD_START, i, 0);
    for (int i = 0; i < s->strikes; i++)
        ftc_world_plan(w, s->strike[i].at_ns, FTC_WORLD_STRIKE, 0, i);
    ftc_world_plan(w, s->calm_ns, FTC_WORLD_CALM, 0, 0);
}

static void run(struct ftc_world *w)
{
    struct ftc_event event;
    int events = 0;

    plan_story(w);
    while (!ftc_world_broken(w) && !(w->calm && ftc_judge_over(w)) &&
           ftc_queue_pop(&w->queue, &event) && (!w->calm || event.key < w->calm_ns + BOUND_NS)) {
        w->now_ns = event.key;
        if (++events == FTC_CLUSTER_STEPS)
            ftc_ledger_violate(w->ledger, "no end after %d events", FTC_CLUSTER_STEPS);
        happen(w, &event);
    }
    if (!ftc_world_broken(w))
        ftc_judge_end(w);
}

/* --- life --- */

static void make_nodes(struct ftc_world *w)
{
    for (int i = 0; i < w->nodes; i++) {
        struct ftc_lease_settings settings = {.self = i,
                                              .nodes = w->nodes,
                                              .greetings = w->story->greetings,
                                              .arity = w->story->arity,
                                              .timeout_ns = FTC_NODES_TIMEOUT,
                                              .period_ns = FTC_NODES_PERIOD};
        if (ftc_lease_create(&w->node[i].lease, &settings) != FTC_SUCCESS)
            ftc_cluster_no_memory(w->ranks);
        w->actor[i] =
            (struct ftc_world_actor){.node = i, .alive = true, .paused_ns = w->story->start_ns[i]};
        for (int r = w->story->first[i]; r < w->story->first[i + 1]; r++)
            w->actor[w->nodes + r] = (struct ftc_world_actor){.node = i, .alive = true};
    }
}

static void make_ranks(struct ftc_world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        struct ftc_member_settings settings = w->story->storm.settings;
        settings.self = r;
        int rc = ftc_member_create(&w->rank[r].member, &settings);
        if (rc == FTC_ERR_NOMEM)
            ftc_cluster_no_memory(w->ranks);
        assert(rc == FTC_SUCCESS);
    }
    w->ledger = ftc_ledger_new(&w->story->storm.settings, &w->program, NULL);
    if (w->ledger == NULL || ftc_lease_box_init(&w->box, w->nodes) != FTC_SUCCESS)
        ftc_cluster_no_memory(w->ranks);
}

static struct ftc_world *world_new(const struct ftc_nodes_story *story, struct ftc_nodes_sums *sums,
                                   FILE *log)
{
    int ranks = story->first[story->nodes];
    struct ftc_world *w = ftc_cluster_alloc(ranks, 1, sizeof(*w));

    w->story = story;
    w->program = ftc_storm_program(&story->storm);
    w->sums = sums;
    w->log = log;
    w->nodes = story->nodes;
    w->ranks = ranks;
    w->actors = w->nodes + w->ranks;
    w->before_output = ftc_strike_armed;
    w->random = ftc_mix(story->seed + 0x6e6f646573);
    ftc_queue_init(&w->queue);
    make_nodes(w);
    make_ranks(w);
    return w;
}

static void world_free(struct ftc_world *w)
{
    ftc_world_drop_packets(w);
    for (int i = 0; i < w->nodes; i++)
        ftc_lease_destroy(w->node[i].lease);
    for (int r = 0; r < w->ranks; r++)
        ftc_member_destroy(w->rank[r].member);
    ftc_ledger_free(w->ledger);
    ftc_lease_box_fini(&w->box);
    ftc_queue_fini(&w->queue);
    free(w);
}

bool ftc_nodes_run(const struct ftc_nodes_story *story, struct ftc_nodes_sums *sums, FILE *log,
                   char violation[FTC_NODES_WORDS])
{
    struct ftc_world *w = world_new(story, sums, log);

    sums->runs++;
    sums->nodes += (uint64_t)w->nodes;
    sums->ranks += (uint64_t)w->ranks;
    run(w);
    snprintf(violation, FTC_NODES_WORDS, "%s", ftc_ledger_violation(w->ledger));
    bool kept = !ftc_world_broken(w);
    world_free(w);
    return kept;
}
