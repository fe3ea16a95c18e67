/* Draws runs of several nodes from seeds. */
#include "base/mix.h"
#include "detector/lease/lease.h"
#include "sim/nodes/nodes.h"

#define T FTC_NODES_TIMEOUT
#define P FTC_NODES_PERIOD

static uint64_t below(struct ftc_nodes_story *s, uint64_t limit)
{
    s->random += 0x9e3779b97f4a7c15u;
    return ftc_mix(s->random) % limit;
}

static bool one_in(struct ftc_nodes_story *s, unsigned times)
{
    return below(s, times) == 0;
}

const char *ftc_nodes_fault_name(enum ftc_nodes_fault fault)
{
    static const char *const names[FTC_NODES_FAULTS] = {"sound", "unchecked", "stays", "by-l"};
    return names[fault];
}

/* --- nodes, settings, program --- */

static void draw_nodes(struct ftc_nodes_story *s, const struct ftc_nodes_frame *frame)
{
    int least = frame->least > 0 ? frame->least : 2,
        most = frame->most > 0 ? frame->most : FTC_NODES_USUAL;

    s->nodes = least + (int)below(s, (uint64_t)(most - least + 1));
    if (frame->least == 0 && one_in(s, 2))
        s->nodes = 2 + (int)below(s, 3); /* small numbers find most faults */
    else if (frame->least == 0 && one_in(s, 8))
        s->nodes = FTC_NODES_USUAL + 1 + (int)below(s, FTC_NODES_MOST - FTC_NODES_USUAL);
    for (int i = 0; i < s->nodes; i++) {
        s->first[i + 1] = s->first[i] + 1 + (int)below(s, one_in(s, 2) ? 1 : FTC_NODES_RANKS);
        s->offset_ns[i] = (int64_t)below(s, 1000000000000);
        s->rate_ppm[i] = (int64_t)below(s, 8001) - 4000;
        s->start_ns[i] = P + below(s, P);
    }
}

/* The settings of a storm, but times are in periods, and messages use connections. */
static void draw_settings(struct ftc_nodes_story *s, uint64_t seed)
{
    int n = s->first[s->nodes];
    struct ftc_storm_frame frame = {.least = n,
                                    .most = n,
                                    .pinned = FTC_STORM_PIN_INTEGRITY | FTC_STORM_PIN_FLIP,
                                    .settings = ftc_cluster_settings(n, 0)};
    struct ftc_member_settings *set = &s->storm.settings;

    ftc_storm_draw(&s->storm, &frame, ftc_mix(seed + 0x73746f726d));
    if (set->dissemination == FTC_DISSEMINATION_MULTICAST)
        set->dissemination = FTC_DISSEMINATION_TREE;
    set->correction_delay_ns = set->correction_delay_ns > 0 ? P / 20 : 0;
    set->patience_ns = set->patience_ns > 0 ? 2 * P : 0;
    set->straggler_ns = 2 * P;
}

/* --- strikes --- */

static int draw_node(struct ftc_nodes_story *s)
{
    return one_in(s, 3) ? FTC_NODES_LEADER : (int)below(s, (uint64_t)s->nodes);
}

static unsigned draw_side(struct ftc_nodes_story *s)
{
    return (unsigned)below(s, (UINT64_C(1) << s->nodes) - 1) + 1;
}

/* A span around E, around T, or to the end of the run. */
static uint64_t draw_span(struct ftc_nodes_story *s, bool cut)
{
    switch (below(s, 5)) {
    case 0:
        return below(s, T / 4);
    case 1:
        return cut ? 100 * T : below(s, 2 * T);
    case 2:
        return T / 5 + below(s, T / 3);
    default:
        return below(s, 2 * T);
    }
}

static struct ftc_nodes_strike draw_strike(struct ftc_nodes_story *s, uint64_t at)
{
    static const enum ftc_nodes_strike_kind kinds[] = {
        FTC_NODES_KILL_RANK,  FTC_NODES_KILL_RANK,  FTC_NODES_KILL_RANKS,  FTC_NODES_KILL_AGENT,
        FTC_NODES_KILL_HOST,  FTC_NODES_PAUSE_RANK, FTC_NODES_PAUSE_AGENT, FTC_NODES_PAUSE_AGENT,
        FTC_NODES_PAUSE_HOST, FTC_NODES_PAUSE_HOST, FTC_NODES_CUT,         FTC_NODES_CUT,
        FTC_NODES_CUT,        FTC_NODES_PAIR,       FTC_NODES_PAIR,        FTC_NODES_SPLIT,
        FTC_NODES_SPLIT,      FTC_NODES_SPLIT,      FTC_NODES_DEAF,        FTC_NODES_DEAF};
    enum ftc_nodes_strike_kind kind = kinds[below(s, sizeof(kinds) / sizeof(kinds[0]))];
    bool rank = kind == FTC_NODES_KILL_RANK || kind == FTC_NODES_PAUSE_RANK;
    struct ftc_nodes_strike strike = {.kind = kind, .at_ns = at};

    /* in separate statements, because the compiler chooses the order of initialisers */
    strike.delay_outputs = one_in(s, 2) ? 0 : 1 + below(s, 12);
    strike.span_ns = draw_span(s, kind >= FTC_NODES_CUT);
    strike.a = rank ? (int)below(s, (uint64_t)s->first[s->nodes]) : draw_node(s);
    strike.b = draw_node(s);
    strike.side = draw_side(s);
    return strike;
}

static void add(struct ftc_nodes_story *s, struct ftc_nodes_strike strike)
{
    if (s->strikes < FTC_NODES_STRIKES)
        s->strike[s->strikes++] = strike;
}

/* Several strikes close together, so that one meets the effects of another. */
static void draw_burst(struct ftc_nodes_story *s, uint64_t at)
{
    uint64_t width = one_in(s, 2) ? T : T / 4;

    for (int i = 0, burst = 1 + (int)below(s, 4); i < burst; i++)
        add(s, draw_strike(s, at + below(s, width)));
}

/* First one node is cut off, and then more nodes with it. Until recently the leader had a quorum of
 * which the first node knows nothing. */
static void draw_creeping(struct ftc_nodes_story *s, uint64_t at)
{
    unsigned first = 1u << below(s, (uint64_t)s->nodes), then = first | draw_side(s);
    uint64_t span = T / 5 + below(s, T / 5);

    add(s, (struct ftc_nodes_strike){
               .kind = FTC_NODES_SPLIT, .at_ns = at, .span_ns = span, .side = first});
    add(s, (struct ftc_nodes_strike){.kind = FTC_NODES_SPLIT,
                                     .at_ns = at + span,
                                     .span_ns = draw_span(s, true) + T,
                                     .side = then});
}

/* The leader is cut off until there is another leader. One node reaches the old leader again before
 * the others do, and then leaves. So each of the two leaders may have half of the remaining
 * nodes. */
static void draw_usurped(struct ftc_nodes_story *s, uint64_t at)
{
    int leaves = (int)below(s, (uint64_t)s->nodes);
    uint64_t span = T / 5 + below(s, T / 3);

    for (int i = 0; i < s->nodes; i++)
        add(s, (struct ftc_nodes_strike){.kind = FTC_NODES_PAIR,
                                         .at_ns = at,
                                         .span_ns = i == leaves ? span : 2 * T,
                                         .a = FTC_NODES_LEADER,
                                         .b = i});
    add(s, (struct ftc_nodes_strike){
               .kind = FTC_NODES_KILL_RANKS, .at_ns = at + span + below(s, T / 4), .a = leaves});
}

/* The leader dies, and at once nodes that would come after it, or others. The rest is a quorum, if
 * none has been lost before. Calm comes soon, since leases do not last much longer than it takes to
 * have a new leader. */
static void draw_rack(struct ftc_nodes_story *s, uint64_t at)
{
    int deaths = 1 + (int)below(s, (uint64_t)(s->nodes - 1) / 2);
    bool lowest = !one_in(s, 3);

    for (int i = 0; i < deaths; i++)
        add(s, (struct ftc_nodes_strike){.kind = FTC_NODES_KILL_HOST,
                                         .at_ns = at,
                                         .a = i == 0   ? FTC_NODES_LEADER
                                              : lowest ? FTC_NODES_LOWEST
                                                       : (int)below(s, (uint64_t)s->nodes)});
}

static void part(struct ftc_nodes_story *s, int a, int b)
{
    if (a == b)
        return;
    s->apart[a] |= 1u << b;
    s->apart[b] |= 1u << a;
}

/* The node leaves, and the nodes that are cut off from it are not told. */
static void draw_untold(struct ftc_nodes_story *s, uint64_t at, int node)
{
    for (int i = 0; i < s->nodes; i++)
        if (s->apart[node] >> i & 1)
            add(s, (struct ftc_nodes_strike){
                       .kind = FTC_NODES_PAIR, .at_ns = at, .span_ns = 100 * T, .a = node, .b = i});
    add(s, (struct ftc_nodes_strike){
               .kind = FTC_NODES_KILL_RANKS, .at_ns = at + below(s, T), .a = node});
}

/* Cut one pair, or one node from some others, or random pairs. */
static void draw_apart(struct ftc_nodes_story *s, uint64_t at)
{
    uint64_t nodes = (uint64_t)s->nodes;
    int how = (int)below(s, 4), a = (int)below(s, nodes);

    for (int i = 0, pairs = how < 2 ? 1 : 2 + (int)below(s, nodes - 1); i < pairs; i++) {
        int b = (a + 1 + (int)below(s, nodes - 1)) % s->nodes;
        part(s, a, b);
        if (how == 3)
            a = (int)below(s, nodes);
    }
    s->centre = how < 3 ? a : -1;
    if (how == 0)
        draw_untold(s, at, a);
}

static void draw_storm(struct ftc_nodes_story *s)
{
    int most = 1 + (int)below(s, one_in(s, 5) ? FTC_NODES_STRIKES : 5);
    uint64_t at = 2 * P + below(s, T);
    bool rack = false; /* it came last */

    while (s->strikes < most && at < 8 * T) {
        int how = (int)below(s, 12);
        rack = how == 2 && s->nodes > 4; /* of fewer one alone may die */
        if (how == 0)
            draw_creeping(s, at);
        else if (how == 1)
            draw_usurped(s, at);
        else if (rack)
            draw_rack(s, at);
        else
            draw_burst(s, at);
        at += below(s, 3 * T);
    }
    s->side = one_in(s, 2) ? 0 : draw_side(s);
    if (s->side == 0 && s->nodes > 2 && one_in(s, 2))
        draw_apart(s, at);
    for (int i = 0; i < s->strikes; i++)
        at = s->strike[i].at_ns > at ? s->strike[i].at_ns : at;
    s->calm_ns = at + below(s, rack ? P : T) + 1;
}

/* Of the deaths only those of ranks remain. Pauses and cuts end before any node may lose
 * patience. */
static void draw_gentle(struct ftc_nodes_story *s)
{
    uint64_t at = P + T;

    for (int i = 0, most = 2 + (int)below(s, 6); i < most; i++, at += T + below(s, T)) {
        struct ftc_nodes_strike strike = draw_strike(s, at);
        strike.span_ns = below(s, T / 5 - P);
        strike.delay_outputs = 0;
        if (strike.kind == FTC_NODES_KILL_RANKS || strike.kind == FTC_NODES_KILL_AGENT ||
            strike.kind == FTC_NODES_KILL_HOST)
            strike.kind = FTC_NODES_PAUSE_HOST;
        s->strike[s->strikes++] = strike;
    }
    s->calm_ns = at;
}

void ftc_nodes_draw(struct ftc_nodes_story *story, const struct ftc_nodes_frame *frame,
                    uint64_t seed)
{
    static const uint64_t delays[] = {P / 20, P / 4, P / 4, P / 2, 3 * P};

    *story = (struct ftc_nodes_story){
        .seed = seed, .random = ftc_mix(seed + 0x6e6f6465), .fault = frame->fault};
    draw_nodes(story, frame);
    story->greetings = one_in(story, 2) ? FTC_LEASE_GREETINGS : 3 + (int)below(story, 2);
    story->arity = one_in(story, 2) ? FTC_LEASE_ARITY : 2 + (int)below(story, 2);
    draw_settings(story, seed);
    story->centre = -1;
    story->think_ns = one_in(story, 4) ? P : T / 4 + below(story, 2 * T);
    story->gentle = one_in(story, 8);
    story->delay_ns = delays[below(story, story->gentle ? 3 : 5)];
    if (story->gentle)
        draw_gentle(story);
    else
        draw_storm(story);
}
