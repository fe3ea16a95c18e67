/* Virtual time, channels and events of several nodes. */
#include "sim/nodes/world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/mix.h"

/* A sound run ends sooner after the calm: silent nodes are declared, one after the other, and
 * operations finish. */
#define BOUND_NS (40 * FTC_NODES_TIMEOUT)

uint64_t ftc_world_below(struct ftc_world *w, uint64_t limit)
{
    return limit == 0 ? 0 : ftc_mix(w->random += 0x9e3779b97f4a7c15u) % limit;
}

void ftc_world_plan(struct ftc_world *w, uint64_t at_ns, enum ftc_world_event event, int actor,
                    int other)
{
    struct ftc_event planned = {.key = at_ns > w->now_ns ? at_ns : w->now_ns,
                                .rank = (uint32_t)actor,
                                .kind = (uint32_t)event & 0xf,
                                .other = (uint32_t)other & 0xfffffff};

    if (ftc_queue_push(&w->queue, &planned) != FTC_SUCCESS)
        ftc_cluster_no_memory(w->ranks);
}

uint64_t ftc_world_clock(const struct ftc_world *w, int node)
{
    int64_t now = (int64_t)w->now_ns;
    return (uint64_t)(now + w->story->offset_ns[node] + now * w->story->rate_ppm[node] / 1000000);
}

bool ftc_world_runs(const struct ftc_world *w, int actor)
{
    return w->actor[actor].alive && w->actor[actor].paused_ns <= w->now_ns;
}

bool ftc_world_broken(const struct ftc_world *w)
{
    return ftc_ledger_violation(w->ledger)[0] != '\0';
}

void ftc_world_say(struct ftc_world *w, const char *format, ...)
{
    va_list arguments;

    if (w->log == NULL)
        return;
    fprintf(w->log, "%10.6f  ", (double)w->now_ns / 1e9);
    va_start(arguments, format);
    vfprintf(w->log, format, arguments);
    va_end(arguments);
    fputc('\n', w->log);
}

/* --- channels --- */

struct ftc_packet *ftc_world_send(struct ftc_world *w, int from, int to, enum ftc_packet_kind kind)
{
    struct ftc_world_channel *channel = &w->channel[from][to];
    struct ftc_packet *packet = ftc_cluster_alloc(w->ranks, 1, sizeof(*packet));
    uint64_t at = w->now_ns + ftc_world_below(w, w->story->delay_ns);

    packet->kind = kind;
    packet->at_ns = channel->at_ns = at > channel->at_ns ? at : channel->at_ns;
    *(channel->first == NULL ? &channel->first : &channel->last->next) = packet;
    channel->last = packet;
    ftc_world_plan(w, packet->at_ns, FTC_WORLD_POLL, to, from);
    return packet;
}

static void packet_free(struct ftc_packet *packet)
{
    ftc_buffer_unref(packet->bytes);
    free(packet);
}

static void keep_first(struct ftc_world_channel *channel, uint64_t keep)
{
    struct ftc_packet **link = &channel->first;

    channel->last = NULL;
    for (; *link != NULL && keep > 0; keep--) {
        channel->last = *link;
        link = &(*link)->next;
    }
    for (struct ftc_packet *packet = *link, *next; packet != NULL; packet = next) {
        next = packet->next;
        packet_free(packet);
    }
    *link = NULL;
}

static uint64_t count(const struct ftc_world_channel *channel)
{
    uint64_t count = 0;

    for (const struct ftc_packet *packet = channel->first; packet != NULL; packet = packet->next)
        count++;
    return count;
}

void ftc_world_cut_short(struct ftc_world *w, int actor)
{
    for (int to = 0; to < w->actors; to++) {
        struct ftc_world_channel *channel = &w->channel[actor][to];
        keep_first(channel, ftc_world_below(w, count(channel) + 1));
        keep_first(&w->channel[to][actor], 0);
    }
}

static uint64_t cut_until(const struct ftc_world *w, int from, int to)
{
    int a = w->actor[from].node, b = w->actor[to].node;
    return a == b ? 0 : w->cut_ns[a][b];
}

/* Hand the packets that have arrived to the receiver, one after the other, as long as it takes
 * them. */
static void poll(struct ftc_world *w, int from, int to)
{
    struct ftc_world_channel *channel = &w->channel[from][to];

    while (ftc_world_runs(w, to) && !ftc_world_broken(w) && channel->first != NULL &&
           channel->first->at_ns <= w->now_ns) {
        if (cut_until(w, from, to) > w->now_ns) {
            ftc_world_plan(w, cut_until(w, from, to), FTC_WORLD_POLL, to, from);
            return;
        }
        struct ftc_packet *packet = channel->first;
        channel->first = packet->next;
        if (to < w->nodes)
            ftc_agent_take(w, to, from, packet);
        else
            ftc_rank_take(w, to - w->nodes, from - w->nodes, packet);
        packet_free(packet);
    }
    if (w->actor[to].alive && w->actor[to].paused_ns > w->now_ns && channel->first != NULL)
        ftc_world_plan(w, w->actor[to].paused_ns, FTC_WORLD_POLL, to, from);
}

void ftc_world_poll_all(struct ftc_world *w)
{
    for (int from = 0; from < w->actors; from++)
        for (int to = 0; to < w->actors; to++)
            if (w->channel[from][to].first != NULL)
                ftc_world_plan(w, w->now_ns, FTC_WORLD_POLL, to, from);
}

void ftc_world_pause(struct ftc_world *w, int actor, uint64_t ns)
{
    struct ftc_world_actor *a = &w->actor[actor];

    if (!a->alive || w->now_ns + ns <= a->paused_ns)
        return;
    a->paused_ns = w->now_ns + ns;
    ftc_world_plan(w, a->paused_ns, FTC_WORLD_RESUME, actor, 0);
}

/* --- events --- */

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
        poll(w, other, actor);
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
    if (w->ledger == NULL || ftc_set_init(&w->refused, w->nodes) != FTC_SUCCESS ||
        ftc_set_init(&w->declared, w->nodes) != FTC_SUCCESS ||
        ftc_set_init(&w->unheard, w->nodes) != FTC_SUCCESS)
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
    w->random = ftc_mix(story->seed + 0x6e6f646573);
    ftc_queue_init(&w->queue);
    make_nodes(w);
    make_ranks(w);
    return w;
}

static void world_free(struct ftc_world *w)
{
    for (int from = 0; from < w->actors; from++)
        for (int to = 0; to < w->actors; to++)
            keep_first(&w->channel[from][to], 0);
    for (int i = 0; i < w->nodes; i++)
        ftc_lease_destroy(w->node[i].lease);
    for (int r = 0; r < w->ranks; r++)
        ftc_member_destroy(w->rank[r].member);
    ftc_ledger_free(w->ledger);
    ftc_set_fini(&w->refused);
    ftc_set_fini(&w->declared);
    ftc_set_fini(&w->unheard);
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
