/* Drawing storms from seeds, and running them. */
#include "sim/storm.h"

#include <signal.h>
#include <stdio.h>

#include "sim/cluster_event.h"

static int below(struct ftc_storm *s, int limit)
{
    s->random += 0x9e3779b97f4a7c15u;
    return (int)(ftc_cluster_mix(s->random) % (uint64_t)limit);
}

static bool one_in(struct ftc_storm *s, int times)
{
    return below(s, times) == 0;
}

static void draw_settings(struct ftc_storm *s, bool large)
{
    static const int sizes[] = {16, 16, 16, 33, 33, 64};
    int n = large ? sizes[below(s, 6)] : 1 + below(s, 9);
    if (!large && one_in(s, 2))
        n = 2 + below(s, 4); /* small ones find most */

    s->settings = ftc_cluster_settings(n, below(s, n < 4 ? n : 4));
    s->settings.scheme = (enum ftc_scheme)below(s, 3);
    s->settings.share = one_in(s, 4) ? FTC_SHARE_OFF : FTC_SHARE_PIGGYBACK;
    s->settings.rotation = one_in(s, 2) ? FTC_ROTATION_SPREAD : FTC_ROTATION_FIRST;
    s->settings.reduce_arity = 1 + below(s, 3);
    s->settings.tree.tree = (enum ftc_tree)below(s, 3);
    s->settings.tree.arity = 2 + below(s, 3);
    s->settings.correction = one_in(s, 3) ? FTC_CORRECTION_CHECKED : FTC_CORRECTION_NONE;
    s->settings.prepare = one_in(s, 2) ? FTC_PREPARE_TREE : FTC_PREPARE_DIRECT;
    s->settings.settle_every = (uint32_t)below(s, 4);
}

static void draw_program(struct ftc_storm *s)
{
    /* Allreduces and broadcasts say most about histories. */
    static const enum ftc_call_kind kinds[] = {FTC_CALL_ALLREDUCE, FTC_CALL_ALLREDUCE, FTC_CALL_BCAST,
                                               FTC_CALL_BCAST,     FTC_CALL_REDUCE,    FTC_CALL_BARRIER,
                                               FTC_CALL_VALIDATE};
    bool broadcasts = one_in(s, 6); /* many in a row: w */

    s->length = 2 + below(s, FTC_STORM_OPERATIONS - 1);
    for (int op = 0; op < s->length; op++) {
        enum ftc_call_kind kind = kinds[below(s, 7)];
        if (broadcasts && !one_in(s, 5))
            kind = FTC_CALL_BCAST;
        if (op == s->length - 1)
            kind = FTC_CALL_FINALIZE;
        bool rooted = kind == FTC_CALL_BCAST || kind == FTC_CALL_REDUCE;
        int root = below(s, s->settings.ranks);
        s->program[op] = (struct ftc_cluster_operation){.kind = kind, .root = rooted ? root : -1};
    }
}

/* Who dies at a step: anyone, a coordinator to be, a head of a subtree, one of the last group. */
static int draw_victim(struct ftc_storm *s)
{
    int n = s->settings.ranks, f = s->settings.f;

    switch (below(s, 6)) {
    case 0:
        return below(s, n < 3 ? n : 3);
    case 1:
        return (1 + below(s, f + 1)) % n;
    case 2:
        return n - 1 - below(s, (n - 1) % (f + 1) + 1);
    default:
        return below(s, n);
    }
}

static void draw_doom(struct ftc_storm *s)
{
    static const int outputs[] = {
        FTC_MESSAGE_UP,      FTC_MESSAGE_TREE, FTC_MESSAGE_DECIDE, FTC_MESSAGE_DECIDE,  FTC_MESSAGE_PREPARE,
        FTC_MESSAGE_PREPARE, FTC_MESSAGE_POKE, FTC_MESSAGE_PULL,   FTC_CLUSTER_DELIVER, FTC_CLUSTER_DELIVER};
    int output = outputs[below(s, 10)];
    bool rare = output == FTC_MESSAGE_POKE || output == FTC_MESSAGE_PULL || output == FTC_MESSAGE_PREPARE;
    int often = (rare ? 1 : s->length) * s->settings.ranks;

    s->doom[s->dooms++] = (struct ftc_cluster_doom){
        .rank = one_in(s, 3) ? draw_victim(s) : -1,
        .output = output,
        .nth = 1 + below(s, one_in(s, 2) ? often : s->settings.ranks),
        .before = one_in(s, 2),
        .lossy = one_in(s, 2),
    };
}

static void draw_deaths(struct ftc_storm *s)
{
    static const int scales[] = {1, 20, 100, 400};
    int n = s->settings.ranks;
    int deaths = one_in(s, 12) ? 0 : below(s, one_in(s, 2) ? n : (n < 4 ? n : 4));
    int span = scales[below(s, 4)] * (n > 9 ? 10 : 1);

    for (int d = 0; d < deaths; d++) {
        if (one_in(s, 2)) {
            draw_doom(s);
            continue;
        }
        s->crash[s->crashes++] = (struct ftc_storm_crash){
            .step = (uint64_t)below(s, span),
            .rank = draw_victim(s),
            .lossy = one_in(s, 2),
        };
    }
}

void ftc_storm_draw(struct ftc_storm *storm, uint64_t seed, bool large)
{
    *storm = (struct ftc_storm){.seed = seed, .random = ftc_cluster_mix(seed + 0x51ed)};
    draw_settings(storm, large);
    draw_program(storm);
    draw_deaths(storm);
    storm->biased = !one_in(storm, 3);
}

static void crash_due(struct ftc_cluster *c, const struct ftc_storm *storm, bool done[])
{
    for (int d = 0; d < storm->crashes; d++) {
        if (done[d] || storm->crash[d].step > c->steps)
            continue;
        done[d] = true;
        if (storm->crash[d].lossy)
            ftc_cluster_crash_lossy(c, storm->crash[d].rank);
        else
            ftc_cluster_crash(c, storm->crash[d].rank);
    }
}

/* What runs now, for the handler of an assertion that fails inside the product; nothing else may use it. */
static const struct ftc_storm *storm_now;
static const struct ftc_cluster *cluster_now;

static void print_replay(const struct ftc_storm *storm)
{
    fprintf(stderr, "replay: FTC_TEST_SEED=%llu%s\n", (unsigned long long)storm->seed,
            storm->settings.ranks > 9 ? " FTC_TEST_LARGE=1" : "");
}

static void on_abort(int number)
{
    signal(number, SIG_DFL);
    ftc_cluster_print(cluster_now);
    print_replay(storm_now);
    raise(number);
}

bool ftc_storm_run(const struct ftc_storm *storm, uint64_t rules[FTC_RULES_COUNT])
{
    struct ftc_cluster *c = ftc_cluster_new(&storm->settings, storm->program, storm->length, storm->seed);
    bool done[FTC_STORM_CRASHES] = {false};

    storm_now = storm;
    cluster_now = c;
    signal(SIGABRT, on_abort);
    for (int d = 0; d < storm->dooms; d++)
        c->doom[c->dooms++] = storm->doom[d];
    c->bias = storm->biased ? ftc_cluster_random(c) | 1 : 0;
    uint64_t last = 0;
    for (int d = 0; d < storm->crashes; d++)
        last = storm->crash[d].step > last ? storm->crash[d].step : last;
    while (!ftc_cluster_broken(c) && c->enabled_count > 0 && c->steps <= last) {
        crash_due(c, storm, done);
        if (c->enabled_count > 0)
            ftc_cluster_do(c, ftc_cluster_pick(c));
    }
    ftc_cluster_finish(c);

    bool kept = !ftc_cluster_broken(c);
    if (!kept) {
        ftc_cluster_print(c);
        print_replay(storm);
    }
    for (int rule = 0; rules != NULL && rule < FTC_RULES_COUNT; rule++)
        rules[rule] += ftc_cluster_rule(c, (enum ftc_rule)rule);
    signal(SIGABRT, SIG_DFL);
    ftc_cluster_free(c);
    return kept;
}
