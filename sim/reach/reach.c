/* A broadcast without detector and without PULL, in random order. */
#include "sim/reach/reach.h"

#include <stdio.h>

#include "base/mix.h"
#include "sim/model/cluster.h"

static uint64_t draw(uint64_t *random)
{
    return ftc_mix(*random += 0x9e3779b97f4a7c15u);
}

static int below(uint64_t *random, int limit)
{
    return (int)(draw(random) % (uint64_t)limit);
}

void ftc_reach_draw(struct ftc_reach_run *run, const struct ftc_member_settings *plain, int least,
                    int most, uint64_t seed)
{
    uint64_t random = ftc_mix(seed);
    struct ftc_member_settings *s = &run->settings;

    *run = (struct ftc_reach_run){.settings = *plain, .seed = seed};
    s->ranks = least + below(&random, most - least + 1);
    s->f = below(&random, s->ranks < 4 ? s->ranks : 4);
    s->tree.arity = 2 + below(&random, 4);
    s->distance = 1 + below(&random, 8);
    s->correction_delay_ns = below(&random, 2) == 0 ? 0 : 1000;
    s->gossip_rounds = below(&random, 10);
    s->gossip_bound = (enum ftc_gossip_bound)below(&random, 2);
    s->gossip_hop = 1 + below(&random, 4);
    s->seed = draw(&random) >> 8;
    s->fragment = (uint32_t)(24 + below(&random, 200));
    s->multicast_least = 2;
    s->multicast_most = UINT64_C(1) << 40;
    run->root = below(&random, s->ranks);
    run->dead_before = below(&random, 3) == 0 ? 0 : below(&random, s->ranks);
    if (below(&random, 2) == 0)
        run->dead_before = below(&random, s->ranks < 5 ? s->ranks : 5);
    run->deaths = below(&random, 3) == 0 ? 1 + below(&random, 3) : 0;
}

/* No rank is told of a death. */
static void hold_notices(struct ftc_cluster *c)
{
    for (int rank = 0; rank < c->n; rank++)
        ftc_cluster_hold_notices(c, rank);
}

static void kill_before(struct ftc_cluster *c, const struct ftc_reach_run *run, uint64_t *random)
{
    for (int killed = 0; killed < run->dead_before && killed < c->n - 1;) {
        int rank = below(random, c->n);
        if (rank == run->root || !c->process[rank].alive)
            continue;
        ftc_cluster_crash(c, rank);
        killed++;
    }
}

/* Plan a death in the middle of anything that a rank does, before or after an output. */
static void doom(struct ftc_cluster *c, const struct ftc_reach_run *run, uint64_t *random)
{
    for (int death = 0; death < run->deaths; death++)
        ftc_cluster_doom(c, -1, FTC_CLUSTER_ANY, 1 + below(random, 4 * c->n),
                         below(random, 2) == 0);
}

static int look(const struct ftc_cluster *c, struct ftc_set *dead, struct ftc_set *reached)
{
    int coloured_deaths = 0;

    for (int rank = 0; rank < c->n; rank++) {
        bool delivered = ftc_cluster_delivered(c, 0, rank);
        if (!c->process[rank].alive)
            ftc_set_add(dead, rank);
        if (delivered)
            ftc_set_add(reached, rank);
        coloured_deaths += delivered && !c->process[rank].alive;
    }
    return coloured_deaths;
}

static void judge(const struct ftc_cluster *c, const struct ftc_reach_run *run,
                  struct ftc_reach_result *result)
{
    struct ftc_set dead = {0}, reached = {0};

    if (ftc_set_init(&dead, c->n) != 0 || ftc_set_init(&reached, c->n) != 0)
        ftc_cluster_no_memory(c->n);
    result->coloured_deaths = look(c, &dead, &reached);
    struct ftc_reach_facts facts = {.root = run->root,
                                    .dead = &dead,
                                    .reached = &reached,
                                    .coloured_deaths = result->coloured_deaths,
                                    .lossless = c->loss_ppm == 0};
    result->live = c->n - ftc_set_count(&dead);
    result->missed = ftc_reach_missed(&facts);
    result->kept = ftc_reach_kept(&run->settings, &facts, result->words);
    if (ftc_cluster_broken(c)) {
        result->kept = false;
        snprintf(result->words, sizeof(result->words), "%.*s", FTC_REACH_WORDS - 1, c->violation);
    }
    ftc_set_fini(&dead);
    ftc_set_fini(&reached);
}

void ftc_reach_run(const struct ftc_reach_run *run, struct ftc_reach_result *result)
{
    struct ftc_program_operation broadcast = {.kind = FTC_CALL_BCAST, .root = run->root};
    struct ftc_program program = {.operation = &broadcast, .length = 1};
    uint64_t random = ftc_mix(run->seed ^ 0x7265616368);
    struct ftc_cluster *c = ftc_cluster_new(&run->settings, &program, run->seed);

    *result = (struct ftc_reach_result){0};
    c->unanswered = true;
    c->bias = below(&random, 2) == 0 ? draw(&random) | 1 : 0;
    hold_notices(c);
    kill_before(c, run, &random);
    doom(c, run, &random);
    ftc_cluster_run(c);
    judge(c, run, result);
    ftc_cluster_free(c);
}
