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
    s->block_least = 1 + below(s, 4);
    s->block_most = s->block_least + below(s, 4);
    s->attempts = 1 + below(s, 4);
}

static void draw_program(struct ftc_large_story *s)
{
    s->operations = 1 + below(s, FTC_LARGE_SIM_OPERATIONS);
    for (int i = 0; i < s->operations; i++) {
        int kind = below(s, 6);
        s->operation[i] = kind == 0   ? FTC_LARGE_SIM_BARRIER
                          : kind == 1 ? below(s, s->settings.ranks)
                                      : FTC_LARGE_SIM_REDUCES;
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
    if (below(story, 4) > 0)
        story->lazy = ftc_mix(story->random) & ftc_mix(story->random + 1);
}
