/* Draws from the seed which ranks die in a run, and when. */
#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"
#include "sim/timed/engine.h"

static const char *const names[] = {"any", "others", "coordinator", "head", "last-group"};

const char *ftc_victims_name(enum ftc_victims victims)
{
    return names[victims];
}

struct draw {
    const struct ftc_member_settings *members;
    int first; /* rank of c_0 in the first operation; all ranks take part in that one */
    uint64_t random;
    struct ftc_set taken;
    struct ftc_timed_death *death;
    int deaths, wanted;
};

/* SplitMix64 */
static uint64_t below(struct draw *d, uint64_t limit)
{
    return ftc_mix(d->random += UINT64_C(0x9e3779b97f4a7c15)) % limit;
}

static void take(struct draw *d, int rank)
{
    if (d->deaths == d->wanted || ftc_set_has(&d->taken, rank))
        return;
    ftc_set_add(&d->taken, rank);
    d->death[d->deaths++].rank = rank;
}

static void take_position(struct draw *d, int position)
{
    take(d, (d->first + position) % d->members->ranks);
}

static void take_role(struct draw *d, enum ftc_victims victims)
{
    int m = d->members->ranks, f = d->members->f;
    struct ftc_group group = ftc_topology_group(m, f, m - 1);

    switch (victims) {
    case FTC_VICTIMS_ANY:
    case FTC_VICTIMS_OTHERS:
        break;
    case FTC_VICTIMS_COORDINATOR:
        for (int i = 0; i < d->wanted; i++)
            take_position(d, i);
        break;
    case FTC_VICTIMS_HEAD:
        for (int s = 0; s <= f && ftc_topology_head(m, f, s) >= 0; s++)
            take_position(d, ftc_topology_head(m, f, s));
        break;
    case FTC_VICTIMS_LAST_GROUP:
        for (int i = 0; i < group.count; i++)
            take_position(d, group.first + i);
        break;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct ftc_timed_death *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->rank - y->rank;
}

static int first_coordinator(const struct ftc_program *program)
{
    return program->length > 0 && program->operation[0].root >= 0 ? program->operation[0].root : 0;
}

static void draw_times(struct draw *d, const struct ftc_timed_settings *settings)
{
    uint64_t moment = 0;

    for (int i = 0; i < d->deaths; i++) {
        if (!settings->at_start && (i == 0 || !settings->burst))
            moment = below(d, settings->horizon_ns > 0 ? settings->horizon_ns : 1);
        d->death[i].time = moment;
    }
    qsort(d->death, (size_t)d->deaths, sizeof(d->death[0]), by_time);
}

int ftc_timed_plan(const struct ftc_member_settings *members, const struct ftc_program *program,
                   const struct ftc_timed_settings *settings, struct ftc_timed_result *result)
{
    struct draw d = {.members = members,
                     .first = first_coordinator(program),
                     .random = ftc_mix(settings->seed ^ 0x64656174),
                     .wanted = settings->kills};

    d.death = calloc((size_t)settings->kills + 1, sizeof(*d.death));
    if (d.death == NULL || ftc_set_init(&d.taken, members->ranks) != 0) {
        free(d.death);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d deaths", settings->kills);
    }
    take_role(&d, settings->victims);
    int spared = settings->victims == FTC_VICTIMS_OTHERS ? d.first : -1;
    while (d.deaths < d.wanted) {
        int rank = (int)below(&d, (uint64_t)members->ranks);
        if (rank != spared)
            take(&d, rank);
    }
    draw_times(&d, settings);
    ftc_set_fini(&d.taken);
    result->death = d.death;
    result->deaths = d.deaths;
    return 0;
}
