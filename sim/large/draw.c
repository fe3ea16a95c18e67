/* Draws a story from its seed. */
#include "base/mix.h"
#include "config/config.h"
#include "sim/large/large.h"
#include "sim/model/cluster.h"

static int below(struct ftc_large_story *s, int limit)
{
    return (int)(ftc_mix(s->random += 0x9e3779b97f4a7c15u) % (uint64_t)limit);
}

static void draw_settings(struct ftc_large_story *s)
{
    int n = 2 + below(s, FTC_LARGE_SIM_RANKS - 1);
    struct ftc_member_settings *set = &s->settings;

    *set = ftc_cluster_settings(n, below(s, n < 3 ? n : 3));
    set->scheme = (enum ftc_scheme)below(s, 3);
    set->share = below(s, 4) == 0 ? FTC_SHARE_OFF : FTC_SHARE_PIGGYBACK;
    set->rotation = below(s, 2) == 0 ? FTC_ROTATION_SPREAD : FTC_ROTATION_FIRST;
    set->prepare = below(s, 2) == 0 ? FTC_PREPARE_TREE : FTC_PREPARE_DIRECT;
    s->elements = 1 + below(s, FTC_LARGE_SIM_ELEMENTS);
    s->part = 1 + below(s, FTC_LARGE_SIM_PART);
    s->window = 1 + below(s, 3);
    s->block_least = 1 + below(s, 4);
    s->block_most = s->block_least + below(s, 4);
    s->attempts = 1 + below(s, 4);
}

/* The ranks of a node follow one another. In one of four runs nobody shares memory, in another one
 * some values are too large for it. */
static void draw_nodes(struct ftc_large_story *s)
{
    int nodes = 0, n = s->settings.ranks;

    for (int rank = 0; rank < n; rank++)
        if (rank == 0 || below(s, 3) == 0)
            s->first_ranks[nodes++] = rank;
    s->first_ranks[nodes] = n;
    s->room = below(s, 4) > 0 ? (size_t)(below(s, 3) > 0 ? FTC_LARGE_SIM_AREA : 128) : 0;
}

static void draw_program(struct ftc_large_story *s)
{
    static const enum ftc_call_kind kinds[] = {
        FTC_CALL_BARRIER,   FTC_CALL_BCAST,     FTC_CALL_REDUCE,    FTC_CALL_REDUCE,
        FTC_CALL_ALLREDUCE, FTC_CALL_ALLREDUCE, FTC_CALL_ALLREDUCE, FTC_CALL_REDUCE_SCATTER,
        FTC_CALL_ALLGATHER, FTC_CALL_GATHER,    FTC_CALL_SCATTER,   FTC_CALL_ALLTOALL,
        FTC_CALL_SCAN,      FTC_CALL_EXSCAN};

    s->operations = 1 + below(s, FTC_LARGE_SIM_OPERATIONS);
    for (int i = 0; i < s->operations; i++) {
        struct ftc_large_operation *operation = &s->operation[i];
        operation->kind = kinds[below(s, (int)(sizeof(kinds) / sizeof(kinds[0])))];
        operation->root = ftc_call_table[operation->kind].rooted ? below(s, s->settings.ranks) : -1;
        operation->uneven = below(s, 2) == 0;
    }
}

static void draw_deaths(struct ftc_large_story *s)
{
    int deaths = below(s, s->settings.ranks), most = 8 + below(s, 60);

    for (int i = 0; i < deaths; i++)
        s->doom[below(s, s->settings.ranks)] = 1 + below(s, most);
    s->chained = below(s, 2) == 0;
    s->lossy = below(s, 2) == 0;
}

void ftc_large_draw(struct ftc_large_story *story, uint64_t seed)
{
    *story = (struct ftc_large_story){.seed = seed, .random = ftc_mix(seed + 1)};
    draw_settings(story);
    draw_program(story);
    draw_deaths(story);
    draw_nodes(story);
    if (below(story, 4) > 0)
        story->lazy = ftc_mix(story->random) & ftc_mix(story->random + 1);
}
