/* The strikes on nodes, agents, ranks, and the ways between nodes. */
#include "sim/nodes/world.h"

#define LOST_NS (FTC_NODES_TIMEOUT * 11 / 10) /* E + L, plus the time to finish after a pause */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void disturb(struct ftc_world *w, int node)
{
    w->node[node].disturbed = true;
}

static void part(struct ftc_world *w)
{
    for (int i = 0; i < w->nodes; i++)
        if (w->story->apart[i] != 0 || w->story->side != 0)
            disturb(w, i);
}

/* --- ways --- */

static void cut(struct ftc_world *w, int from, int to, uint64_t ns)
{
    if (from == to)
        return;
    w->cut_ns[from][to] = later(w->cut_ns[from][to], w->now_ns + ns);
    disturb(w, from);
    disturb(w, to);
}

static void split(struct ftc_world *w, unsigned side, uint64_t ns)
{
    for (int i = 0; i < w->nodes; i++)
        for (int j = 0; j < w->nodes; j++)
            if (((side >> i ^ side >> j) & 1) != 0)
                cut(w, i, j, ns);
}

static void deafen(struct ftc_world *w, int node, unsigned to, uint64_t ns)
{
    for (int i = 0; i < w->nodes; i++)
        if (to >> i & 1)
            cut(w, i, node, ns);
}

/* "0,2" */
struct words {
    char text[3 * FTC_NODES_MOST + 1];
};

static struct words words_of(unsigned side)
{
    struct words words = {""};
    size_t length = 0;

    for (int i = 0; i < FTC_NODES_MOST; i++)
        if (side >> i & 1)
            length += (size_t)snprintf(words.text + length, sizeof(words.text) - length, "%s%d",
                                       length > 0 ? "," : "", i);
    return words;
}

static void strike_ways(struct ftc_world *w, const struct ftc_nodes_strike *s, int a, int b)
{
    if (s->kind <= FTC_NODES_PAIR && a == b)
        return;
    w->sums->cuts++;
    if (s->kind == FTC_NODES_SPLIT) {
        ftc_world_say(w, "CUT: nodes %s from the others, %.3f s", words_of(s->side).text,
                      (double)s->span_ns / 1e9);
        split(w, s->side, s->span_ns);
    } else if (s->kind == FTC_NODES_DEAF) {
        ftc_world_say(w, "CUT: node %d from what nodes %s send, %.3f s", a, words_of(s->side).text,
                      (double)s->span_ns / 1e9);
        deafen(w, a, s->side, s->span_ns);
    } else {
        bool both = s->kind == FTC_NODES_PAIR;
        ftc_world_say(w, "CUT: node %d %s node %d, %.3f s", a, both ? "and" : "to", b,
                      (double)s->span_ns / 1e9);
        cut(w, a, b, s->span_ns);
        if (both)
            cut(w, b, a, s->span_ns);
    }
}

/* --- processes --- */

static void pause_host(struct ftc_world *w, int node, uint64_t ns)
{
    ftc_world_pause(w, node, ns);
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++)
        ftc_world_pause(w, ftc_rank_actor(w, r), ns);
}

static void kill_rank(struct ftc_world *w, int rank)
{
    w->sums->ranks_died += w->actor[ftc_rank_actor(w, rank)].alive;
    ftc_rank_die(w, rank, "DIES");
}

static void kill_ranks(struct ftc_world *w, int node)
{
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++)
        kill_rank(w, r);
}

static void strike_process(struct ftc_world *w, const struct ftc_nodes_strike *s, int a)
{
    bool pause = s->kind == FTC_NODES_PAUSE_RANK || s->kind == FTC_NODES_PAUSE_AGENT ||
                 s->kind == FTC_NODES_PAUSE_HOST;

    w->sums->pauses += pause;
    if (pause)
        ftc_world_say(w, "PAUSE: %s %d, %.3f s",
                      s->kind == FTC_NODES_PAUSE_RANK    ? "rank"
                      : s->kind == FTC_NODES_PAUSE_AGENT ? "agent"
                                                         : "node",
                      a, (double)s->span_ns / 1e9);
    if (s->kind != FTC_NODES_PAUSE_RANK && s->kind != FTC_NODES_KILL_RANK)
        disturb(w, a);
    if (s->kind == FTC_NODES_PAUSE_AGENT || s->kind == FTC_NODES_PAUSE_HOST)
        w->node[a].backed_ns = 0;
    if (s->kind == FTC_NODES_PAUSE_RANK)
        ftc_world_pause(w, ftc_rank_actor(w, a), s->span_ns);
    else if (s->kind == FTC_NODES_PAUSE_AGENT)
        ftc_world_pause(w, a, s->span_ns);
    else if (s->kind == FTC_NODES_PAUSE_HOST)
        pause_host(w, a, s->span_ns);
    else if (s->kind == FTC_NODES_KILL_RANK)
        kill_rank(w, a);
    else if (s->kind == FTC_NODES_KILL_RANKS)
        kill_ranks(w, a);
    else
        ftc_agent_die(w, a);
    if (s->kind == FTC_NODES_KILL_HOST)
        kill_ranks(w, a);
}

/* --- when --- */

/* The node that a strike names. If no node leads, or none is alive, FTC_NODES_LEADER and
 * FTC_NODES_LOWEST mean node 0. */
static int node_of(const struct ftc_world *w, int node)
{
    for (int i = 0; i < w->nodes && node < 0; i++)
        if (w->actor[i].alive && (node == FTC_NODES_LOWEST || w->node[i].leads))
            return i;
    return node < 0 ? 0 : node;
}

static int victim_of(const struct ftc_world *w, const struct ftc_nodes_strike *s)
{
    bool rank = s->kind == FTC_NODES_KILL_RANK || s->kind == FTC_NODES_PAUSE_RANK;
    return rank ? ftc_rank_actor(w, s->a) : s->a;
}

void ftc_strike_now(struct ftc_world *w, int strike)
{
    struct ftc_nodes_strike s = w->story->strike[strike];
    bool rank = s.kind == FTC_NODES_KILL_RANK || s.kind == FTC_NODES_PAUSE_RANK;

    if (!rank)
        s.a = node_of(w, s.a);
    s.b = node_of(w, s.b);
    if (s.kind >= FTC_NODES_CUT) {
        strike_ways(w, &s, s.a, s.b);
    } else if (s.delay_outputs == 0) {
        strike_process(w, &s, s.a);
    } else {
        w->armed_at[w->armeds] = w->actor[victim_of(w, &s)].outputs + s.delay_outputs;
        w->armed[w->armeds++] = s;
    }
}

void ftc_strike_armed(struct ftc_world *w, int actor)
{
    for (int i = 0; i < w->armeds && !w->spent; i++) {
        struct ftc_nodes_strike *s = &w->armed[i];
        if (victim_of(w, s) != actor || w->armed_at[i] != w->actor[actor].outputs)
            continue;
        w->armed_at[i] = 0; /* each strike comes once */
        strike_process(w, s, s->a);
    }
}

static uint64_t paused_until(const struct ftc_world *w)
{
    uint64_t until = 0;

    for (int actor = 0; actor < w->actors; actor++)
        until = w->actor[actor].alive ? later(until, w->actor[actor].paused_ns) : until;
    return until;
}

static bool is_cut_for_good(const struct ftc_nodes_story *s, int i, int j)
{
    return ((s->side >> i ^ s->side >> j) & 1) != 0 || (s->apart[i] >> j & 1) != 0;
}

void ftc_strike_calm(struct ftc_world *w)
{
    w->spent = true;
    if (paused_until(w) > w->now_ns) {
        ftc_world_plan(w, paused_until(w) + 1, FTC_WORLD_CALM, 0, 0);
        return;
    }
    w->calm = true;
    w->calm_ns = w->now_ns;
    ftc_world_plan(w, w->now_ns + LOST_NS, FTC_WORLD_JUDGE, 0, 0);
    for (int i = 0; i < w->nodes; i++)
        for (int j = 0; j < w->nodes; j++) {
            w->was_cut |= w->cut_ns[i][j] + FTC_NODES_TIMEOUT / 10 > w->now_ns;
            w->cut_ns[i][j] = is_cut_for_good(w->story, i, j) ? FTC_WORLD_NEVER : 0;
        }
    part(w);
    ftc_judge_calm(w);
    ftc_world_poll_all(w);
}
