/* Draws storms from seeds. */
#include <assert.h>
#include <limits.h>

#include "base/mix.h"
#include "config/config.h"
#include "sim/storm/storm.h"

static int below(struct ftc_storm *s, int limit)
{
    s->random += 0x9e3779b97f4a7c15u;
    return (int)(ftc_mix(s->random) % (uint64_t)limit);
}

static bool one_in(struct ftc_storm *s, int times)
{
    return below(s, times) == 0;
}

/* The least number of ranks: f < n, and each root is a rank. */
static int least_ranks(const struct ftc_storm_frame *frame)
{
    int least = (frame->pinned & FTC_STORM_PIN_F) != 0 ? frame->settings.f + 1 : 1;

    for (int op = 0; frame->program != NULL && op < frame->program->length; op++)
        if (frame->program->operation[op].root >= least)
            least = frame->program->operation[op].root + 1;
    return least;
}

static int draw_ranks(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    static const int large[] = {16, 16, 16, 33, 33, FTC_STORM_RANKS};

    if (frame->least > 0)
        return frame->least + below(s, frame->most - frame->least + 1);
    int least = least_ranks(frame);
    int n;
    if (one_in(s, 100))
        n = large[below(s, 6)];
    else
        n = one_in(s, 2) ? 2 + below(s, 4) : 1 + below(s, 9); /* small numbers find most faults */
    n = n < least ? least + below(s, 4) : n;
    return n < FTC_SCHEDULE_RANKS ? n : FTC_SCHEDULE_RANKS;
}

bool ftc_storm_waits_for_ever(const struct ftc_member_settings *settings)
{
    enum ftc_correction correction = settings->correction;

    return settings->patience_ns == 0 && settings->dissemination != FTC_DISSEMINATION_TREE &&
           (correction == FTC_CORRECTION_NONE || correction == FTC_CORRECTION_OPPORTUNISTIC ||
            correction == FTC_CORRECTION_OPTIMISED || correction == FTC_CORRECTION_DELAYED);
}

/* Draw how decisions are spread. Of times it matters only whether there is one. */
static void draw_spreading(struct ftc_storm *s)
{
    struct ftc_member_settings *set = &s->settings;

    set->dissemination =
        one_in(s, 2) ? FTC_DISSEMINATION_TREE : (enum ftc_dissemination)(1 + below(s, 2));
    set->tree.tree = (enum ftc_tree)below(s, 3);
    set->tree.arity = 2 + below(s, 3);
    set->correction = one_in(s, 3) ? FTC_CORRECTION_NONE
                                   : (enum ftc_correction)(1 + below(s, FTC_CORRECTION_RING));
    set->distance = below(s, 7);
    set->correction_delay_ns = one_in(s, 2) ? 0 : 1000;
    set->patience_ns = one_in(s, 4) ? 0 : 10000;
    set->gossip_bound = one_in(s, 3) ? FTC_GOSSIP_TIME : FTC_GOSSIP_ROUNDS;
    set->gossip_rounds = below(s, 9);
    set->gossip_hop = 1 + below(s, 4);
    set->seed = (uint64_t)below(s, 1000000);
    set->fragment = (uint32_t)(16 + below(s, 200));
    set->multicast_least = one_in(s, 4) ? 5 : 2;
    set->multicast_most = one_in(s, 8) ? 16 : UINT64_C(1) << 40;
}

/* A pinned setting is drawn, too, so that a pin changes nothing else. */
static void draw_settings(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    int n = draw_ranks(s, frame);

    s->settings = frame->settings;
    s->settings.ranks = n;
    s->settings.f = below(s, n <= FTC_STORM_F ? n : FTC_STORM_F + 1);
    s->settings.scheme = (enum ftc_scheme)below(s, 3);
    s->settings.share = one_in(s, 4) ? FTC_SHARE_OFF : FTC_SHARE_PIGGYBACK;
    s->settings.rotation = one_in(s, 2) ? FTC_ROTATION_SPREAD : FTC_ROTATION_FIRST;
    s->settings.reduce_arity = 1 + below(s, 3);
    draw_spreading(s);
    s->settings.prepare = one_in(s, 2) ? FTC_PREPARE_TREE : FTC_PREPARE_DIRECT;
    s->settings.settle_every = (uint32_t)below(s, 4);
}

static void pin_spreading(struct ftc_member_settings *drawn,
                          const struct ftc_member_settings *given, unsigned pinned)
{
    if (pinned & FTC_STORM_PIN_DISSEMINATION)
        drawn->dissemination = given->dissemination;
    if (pinned & FTC_STORM_PIN_DISTANCE)
        drawn->distance = given->distance;
    if (pinned & FTC_STORM_PIN_PACE)
        drawn->correction_delay_ns = given->correction_delay_ns;
    if (pinned & FTC_STORM_PIN_PATIENCE)
        drawn->patience_ns = given->patience_ns;
    if (pinned & FTC_STORM_PIN_GOSSIP_BOUND)
        drawn->gossip_bound = given->gossip_bound;
    if (pinned & FTC_STORM_PIN_GOSSIP_ROUNDS)
        drawn->gossip_rounds = given->gossip_rounds;
    if (pinned & FTC_STORM_PIN_GOSSIP_HOP)
        drawn->gossip_hop = given->gossip_hop;
    if (pinned & FTC_STORM_PIN_SEED)
        drawn->seed = given->seed;
    if (pinned & FTC_STORM_PIN_MULTICAST_LEAST)
        drawn->multicast_least = given->multicast_least;
    if (pinned & FTC_STORM_PIN_MULTICAST_MOST)
        drawn->multicast_most = given->multicast_most;
}

static void pin_settings(struct ftc_member_settings *drawn, const struct ftc_storm_frame *frame)
{
    const struct ftc_member_settings *given = &frame->settings;
    unsigned pinned = frame->pinned;

    if (pinned & FTC_STORM_PIN_F)
        drawn->f = given->f;
    if (pinned & FTC_STORM_PIN_SCHEME)
        drawn->scheme = given->scheme;
    if (pinned & FTC_STORM_PIN_SHARE)
        drawn->share = given->share;
    if (pinned & FTC_STORM_PIN_ROTATION)
        drawn->rotation = given->rotation;
    if (pinned & FTC_STORM_PIN_REDUCE_ARITY)
        drawn->reduce_arity = given->reduce_arity;
    if (pinned & FTC_STORM_PIN_TREE)
        drawn->tree.tree = given->tree.tree;
    if (pinned & FTC_STORM_PIN_ARITY)
        drawn->tree.arity = given->tree.arity;
    if (pinned & FTC_STORM_PIN_CORRECTION)
        drawn->correction = given->correction;
    if (pinned & FTC_STORM_PIN_SETTLE_EVERY)
        drawn->settle_every = given->settle_every;
    if (pinned & FTC_STORM_PIN_PREPARE)
        drawn->prepare = given->prepare;
    pin_spreading(drawn, given, pinned);
    if (ftc_storm_waits_for_ever(drawn))
        drawn->patience_ns = given->patience_ns > 0 ? given->patience_ns : 10000;
}

static void draw_program(struct ftc_storm *s)
{
    /* Allreduces and broadcasts tell most about histories. */
    static const enum ftc_call_kind kinds[] = {
        FTC_CALL_ALLREDUCE, FTC_CALL_ALLREDUCE, FTC_CALL_BCAST,   FTC_CALL_BCAST,
        FTC_CALL_REDUCE,    FTC_CALL_BARRIER,   FTC_CALL_VALIDATE};
    bool broadcasts = one_in(s, 6); /* many broadcasts in a row, because of w */
    /* few ranks suffice to show histories; many ranks only cost time */
    bool many = broadcasts || s->settings.ranks < 10;

    s->length = 2 + below(s, many ? FTC_STORM_OPERATIONS - 1 : 3);
    for (int op = 0; op < s->length; op++) {
        enum ftc_call_kind kind = kinds[below(s, 7)];
        if (broadcasts && !one_in(s, 5))
            kind = FTC_CALL_BCAST;
        if (op == s->length - 1)
            kind = FTC_CALL_FINALIZE;
        bool rooted = ftc_call_table[kind].rooted;
        int root = below(s, s->settings.ranks);
        s->operation[op] = (struct ftc_program_operation){.kind = kind, .root = rooted ? root : -1};
    }
}

struct ftc_program ftc_storm_program(const struct ftc_storm *storm)
{
    if (storm->given != NULL)
        return *storm->given;
    /* The caller does not write to it. */
    return (struct ftc_program){.operation = (struct ftc_program_operation *)storm->operation,
                                .length = storm->length};
}

/* --- deaths --- */

/* Counts of events are estimates, so too large ones are cut. */
static int times(int a, int b)
{
    int64_t product = (int64_t)a * b;

    return product < INT_MAX ? (int)product : INT_MAX;
}

/* Where the rotation order of one operation starts if no rank has died. */
static int draw_start(struct ftc_storm *s)
{
    struct ftc_program program = ftc_storm_program(s);
    int op = below(s, program.length);

    if (program.operation[op].root >= 0)
        return program.operation[op].root;
    return s->settings.rotation == FTC_ROTATION_SPREAD ? op % s->settings.ranks : 0;
}

/* Draw a victim: any rank, a future coordinator, the head of a subtree, or a rank of the last
 * group. */
static int draw_victim(struct ftc_storm *s)
{
    int n = s->settings.ranks, f = s->settings.f;
    int start = draw_start(s);

    switch (below(s, 6)) {
    case 0:
        return (start + below(s, n < 3 ? n : 3)) % n;
    case 1:
        return (start + 1 + below(s, f + 1)) % n;
    case 2:
        return (start + n - 1 - below(s, (n - 1) % (f + 1) + 1)) % n;
    default:
        return below(s, n);
    }
}

/* A death at a message or delivery of some kind, of any rank that makes it. */
static struct ftc_cluster_doom draw_doom(struct ftc_storm *s)
{
    static const int outputs[] = {FTC_MESSAGE_UP,     FTC_MESSAGE_TREE,    FTC_MESSAGE_DECIDE,
                                  FTC_MESSAGE_DECIDE, FTC_MESSAGE_PREPARE, FTC_MESSAGE_PREPARE,
                                  FTC_MESSAGE_POKE,   FTC_MESSAGE_PULL,    FTC_CLUSTER_DELIVER,
                                  FTC_CLUSTER_DELIVER};
    int output = outputs[below(s, 10)];
    bool rare =
        output == FTC_MESSAGE_POKE || output == FTC_MESSAGE_PULL || output == FTC_MESSAGE_PREPARE;
    int often = times(rare ? 1 : ftc_storm_program(s).length, s->settings.ranks);

    return (struct ftc_cluster_doom){
        .rank = one_in(s, 3) ? draw_victim(s) : -1,
        .output = output,
        .nth = 1 + below(s, one_in(s, 2) ? often : s->settings.ranks),
        .before = one_in(s, 2),
        .lossy = one_in(s, 2),
    };
}

/* A death between any two outputs of one rank. */
static struct ftc_cluster_doom draw_own_doom(struct ftc_storm *s)
{
    int outputs = times(ftc_storm_program(s).length, s->settings.f + 4);

    return (struct ftc_cluster_doom){
        .rank = draw_victim(s),
        .output = FTC_CLUSTER_ANY,
        .nth = 1 + below(s, outputs),
        .before = one_in(s, 2),
        .lossy = one_in(s, 2),
    };
}

static void add_crash(struct ftc_storm *s, struct ftc_storm_crash crash)
{
    int at = s->crashes++;

    for (; at > 0 && s->crash[at - 1].step > crash.step; at--)
        s->crash[at] = s->crash[at - 1];
    s->crash[at] = crash;
}

static void draw_crash(struct ftc_storm *s)
{
    int n = s->settings.ranks;
    /* estimate of the number of events */
    int all = times(times(ftc_storm_program(s).length, n), s->settings.f + 3);
    const int spans[] = {1, n, 1 + all / 4, all};

    add_crash(s, (struct ftc_storm_crash){
                     .step = (uint64_t)below(s, spans[below(s, 4)]),
                     .rank = draw_victim(s),
                     .lossy = one_in(s, 2),
                 });
}

/* Several deaths at the same step: neighbours, such as ranks that share a node, or any ranks. */
static void draw_burst(struct ftc_storm *s, int deaths)
{
    bool neighbours = one_in(s, 2);

    draw_crash(s);
    struct ftc_storm_crash first = s->crash[0];
    for (int d = 1; d < deaths; d++) {
        int rank = neighbours ? (first.rank + d) % s->settings.ranks : draw_victim(s);
        add_crash(
            s, (struct ftc_storm_crash){.step = first.step, .rank = rank, .lossy = one_in(s, 2)});
    }
}

static void draw_deaths(struct ftc_storm *s)
{
    int n = s->settings.ranks;
    int deaths = one_in(s, 12) ? 0 : below(s, one_in(s, 2) ? n : (n < 4 ? n : 4));

    if (deaths > FTC_STORM_CRASHES)
        deaths = FTC_STORM_CRASHES;
    if (deaths > 1 && one_in(s, 5)) {
        int burst = 2 + below(s, deaths - 1);
        draw_burst(s, burst);
        deaths -= burst;
    }
    for (int d = 0; d < deaths; d++) {
        int how = below(s, 4);
        if (how == 0)
            draw_crash(s);
        else
            s->doom[s->dooms++] = how == 1 ? draw_own_doom(s) : draw_doom(s);
    }
}

/* --- silent corruption --- */

static int draw_reduction(struct ftc_storm *s)
{
    struct ftc_program program = ftc_storm_program(s);
    int reductions = 0;

    for (int op = 0; op < program.length; op++) {
        enum ftc_call_kind kind = program.operation[op].kind;
        reductions += ftc_call_table[kind].reduces;
    }
    int drawn = reductions > 0 ? below(s, reductions) : -1;
    for (int op = 0; op < program.length; op++) {
        enum ftc_call_kind kind = program.operation[op].kind;
        if (ftc_call_table[kind].reduces && drawn-- == 0)
            return op;
    }
    return -1;
}

/* With vote: one bit, which the comparison must find. With checksums: any number of bits in any
 * values, each of which is a death. */
static void draw_flips(struct ftc_storm *s)
{
    static const enum ftc_flip_variable variables[] = {
        FTC_FLIP_UP, FTC_FLIP_PARTIAL, FTC_FLIP_INPUT, FTC_FLIP_DECISION, FTC_FLIP_MESSAGE};
    bool vote = s->settings.integrity == FTC_INTEGRITY_VOTE;
    int count = one_in(s, 3) ? 0 : 1 + below(s, vote ? 1 : 3);

    for (int i = 0; i < count; i++) {
        int op = draw_reduction(s);
        enum ftc_flip_variable variable = variables[below(s, vote ? 2 : 5)];
        if (op < 0)
            return;
        s->flips.flip[s->flips.count++] = (struct ftc_flip){
            .rank = below(s, s->settings.ranks),
            .variable = variable,
            .element = one_in(s, 4) ? below(s, 3) : 0,
            .bit = below(s, 64),
            .op = (uint64_t)op,
            .step = variable == FTC_FLIP_MESSAGE ? (uint64_t)below(s, s->settings.f + 4) : 0,
        };
    }
    if (s->flips.count > 0)
        s->settings.flips = &s->flips;
}

/* A comparison needs the scheme `list`. Drawn late, so that the rest of a storm is the same with
 * and without it. */
static void draw_integrity(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    struct ftc_member_settings *set = &s->settings;
    bool lists = set->scheme == FTC_SCHEME_LIST || (frame->pinned & FTC_STORM_PIN_SCHEME) == 0;

    if ((frame->pinned & FTC_STORM_PIN_INTEGRITY) == 0 && one_in(s, 3))
        set->integrity = lists && !one_in(s, 3) ? FTC_INTEGRITY_VOTE : FTC_INTEGRITY_CHECKSUM;
    if (set->integrity == FTC_INTEGRITY_VOTE)
        set->scheme = FTC_SCHEME_LIST;
    if (set->integrity != FTC_INTEGRITY_NONE && (frame->pinned & FTC_STORM_PIN_FLIP) == 0)
        draw_flips(s);
}

static int most_ranks(const struct ftc_storm_frame *frame)
{
    int most = least_ranks(frame) + 3;

    if (frame->most > 0)
        return frame->most;
    if (most < FTC_STORM_RANKS)
        most = FTC_STORM_RANKS;
    return most < FTC_SCHEDULE_RANKS ? most : FTC_SCHEDULE_RANKS;
}

int ftc_storm_check(const struct ftc_storm_frame *frame)
{
    int n = most_ranks(frame);
    int f = (frame->pinned & FTC_STORM_PIN_F) != 0 ? frame->settings.f : FTC_STORM_F;
    int operations = frame->program != NULL ? frame->program->length : FTC_STORM_OPERATIONS;
    int deaths = n <= FTC_STORM_CRASHES ? n - 1 : FTC_STORM_CRASHES;

    return ftc_schedule_check_size(n, f < n ? f : n - 1, operations, (size_t)deaths);
}

/* Drawn late, so that it does not change what is drawn before. */
static void draw_direct(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    s->settings.direct = one_in(s, 3) ? 2 + below(s, s->settings.ranks) : 0;
    if (frame->pinned & FTC_STORM_PIN_DIRECT)
        s->settings.direct = frame->settings.direct;
}

/* An exchange needs the scheme `list` with share, and spreads decisions by the tree only. These are
 * rarely drawn together. */
static void draw_doubling(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    struct ftc_member_settings *set = &s->settings;
    unsigned needs = FTC_STORM_PIN_SCHEME | FTC_STORM_PIN_SHARE | FTC_STORM_PIN_DISSEMINATION |
                     FTC_STORM_PIN_CORRECTION | FTC_STORM_PIN_INTEGRITY | FTC_STORM_PIN_FLIP;

    set->doubling = 0;
    if (frame->pinned & FTC_STORM_PIN_DOUBLING) {
        set->doubling = frame->settings.doubling;
    } else if (one_in(s, 4) && (frame->pinned & needs) == 0) {
        set->doubling = 2 + below(s, set->ranks);
        set->scheme = FTC_SCHEME_LIST;
        set->share = FTC_SHARE_PIGGYBACK;
        set->dissemination = FTC_DISSEMINATION_TREE;
        set->correction = FTC_CORRECTION_NONE;
        set->integrity = FTC_INTEGRITY_NONE;
        set->flips = NULL;
        s->flips.count = 0;
    }
}

/* --- the end of gossip --- */

/* Replace allreduces and barriers by the agreements that end gossip. They differ only in their
 * checksums. */
static void make_gossip(struct ftc_storm *s)
{
    for (int op = 0; op < s->length; op++) {
        enum ftc_call_kind kind = s->operation[op].kind;
        if ((kind == FTC_CALL_ALLREDUCE && !one_in(s, 3)) || kind == FTC_CALL_BARRIER)
            s->operation[op] = (struct ftc_program_operation){
                .kind = FTC_CALL_GOSSIP, .root = -1, .empty = kind == FTC_CALL_BARRIER};
    }
}

static void flip_gossip(struct ftc_storm *s, int op)
{
    static const enum ftc_flip_variable variables[] = {
        FTC_FLIP_UP,      FTC_FLIP_PARTIAL, FTC_FLIP_INPUT, FTC_FLIP_DECISION,
        FTC_FLIP_MESSAGE, FTC_FLIP_HEAD,    FTC_FLIP_HEAD};
    enum ftc_flip_variable variable = variables[below(s, 7)];
    bool leaves = variable == FTC_FLIP_MESSAGE || variable == FTC_FLIP_HEAD;

    s->flips.flip[s->flips.count++] = (struct ftc_flip){
        .rank = below(s, s->settings.ranks),
        .variable = variable,
        .element = below(s, variable == FTC_FLIP_HEAD ? 10 : 3),
        .bit = below(s, 64),
        .op = (uint64_t)op,
        .step = leaves ? (uint64_t)below(s, s->settings.f + 4) : 0,
    };
}

/* Flip a bit in about half of the agreements of gossip, in any of their variables, whatever the
 * integrity mode is. Drawn late. */
static void draw_gossip(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    if (frame->program == NULL && !one_in(s, 4))
        return;
    if (frame->program == NULL)
        make_gossip(s);
    struct ftc_program program = ftc_storm_program(s);
    if ((frame->pinned & FTC_STORM_PIN_FLIP) != 0)
        return;
    for (int op = 0; op < program.length && s->flips.count < FTC_FLIPS; op++)
        if (program.operation[op].kind == FTC_CALL_GOSSIP && one_in(s, 2))
            flip_gossip(s, op);
    if (s->flips.count > 0)
        s->settings.flips = &s->flips;
}

/* Many plain reduces, mostly with one root: settlements come into force between operations. Drawn
 * after what old seeds have. */
static void draw_reduces(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    if (frame->program != NULL || !one_in(s, 4))
        return;
    int root = below(s, s->settings.ranks);
    for (int op = 0; op < s->length - 1; op++)
        if (s->operation[op].kind != FTC_CALL_GOSSIP && !one_in(s, 4))
            s->operation[op] = (struct ftc_program_operation){
                .kind = FTC_CALL_REDUCE, .root = one_in(s, 4) ? below(s, s->settings.ranks) : root};
}

/* --- ranks that stand still --- */

/* Any rank, or often the head of a subtree, at which a coordinator may wait for others. */
static void draw_stall(struct ftc_storm *s)
{
    int all = times(times(ftc_storm_program(s).length, s->settings.ranks), s->settings.f + 3);
    uint64_t from = (uint64_t)below(s, one_in(s, 2) ? s->settings.ranks : all);

    s->stall[s->stalls++] = (struct ftc_storm_stall){
        .from = from, .to = from + 1 + (uint64_t)below(s, all), .rank = draw_victim(s)};
}

/* Drawn after all else, so that it does not change that. */
static void draw_stalls(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    int stalls = one_in(s, 2) ? 0 : 1 + below(s, FTC_STORM_STALLS);

    s->settings.take = (enum ftc_take)below(s, 3);
    if (frame->pinned & FTC_STORM_PIN_TAKE)
        s->settings.take = frame->settings.take;
    while (s->stalls < stalls)
        draw_stall(s);
}

/* --- contributions that stay apart --- */

static struct ftc_program_operation draw_all(struct ftc_storm *s)
{
    static const enum ftc_call_kind kinds[] = {
        FTC_CALL_ALLGATHER, FTC_CALL_ALLTOALL,  FTC_CALL_SCAN,          FTC_CALL_EXSCAN,
        FTC_CALL_SIZES,     FTC_CALL_ALLREDUCE, FTC_CALL_REDUCE_SCATTER};
    enum ftc_call_kind kind = kinds[below(s, 7)];
    bool may_be_ordered = kind == FTC_CALL_ALLREDUCE || kind == FTC_CALL_REDUCE_SCATTER;

    return (struct ftc_program_operation){
        .kind = kind, .root = -1, .ordered = may_be_ordered && one_in(s, 2)};
}

/* Replaces an operation by one with the same way up and down. */
static void draw_like(struct ftc_storm *s, struct ftc_program_operation *o)
{
    bool ordered = o->kind == FTC_CALL_REDUCE && one_in(s, 2);

    if (o->kind == FTC_CALL_ALLREDUCE)
        *o = draw_all(s);
    else if (o->kind == FTC_CALL_BCAST)
        o->kind = FTC_CALL_SCATTER;
    else if (o->kind == FTC_CALL_REDUCE)
        *o = (struct ftc_program_operation){.kind = ordered ? FTC_CALL_REDUCE : FTC_CALL_GATHER,
                                            .root = o->root,
                                            .ordered = ordered};
}

/* Drawn after all else, so that it changes nothing but the kinds of operations. */
static void draw_kinds(struct ftc_storm *s, const struct ftc_storm_frame *frame)
{
    if (frame->program != NULL || !one_in(s, 3))
        return;
    for (int op = 0; op < s->length; op++)
        if (!one_in(s, 3))
            draw_like(s, &s->operation[op]);
}

void ftc_storm_draw(struct ftc_storm *storm, const struct ftc_storm_frame *frame, uint64_t seed)
{
    assert(frame->program == NULL || frame->program->length > 0);
    *storm =
        (struct ftc_storm){.seed = seed, .random = ftc_mix(seed + 0x51ed), .given = frame->program};
    draw_settings(storm, frame);
    pin_settings(&storm->settings, frame);
    ftc_config_fit(&storm->settings, storm->settings.ranks);
    draw_program(storm);
    draw_deaths(storm);
    storm->biased = !one_in(storm, 3);
    draw_integrity(storm, frame);
    draw_direct(storm, frame);
    draw_doubling(storm, frame);
    draw_gossip(storm, frame);
    draw_reduces(storm, frame);
    draw_stalls(storm, frame);
    draw_kinds(storm, frame);
}
