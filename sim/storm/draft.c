/* The edits of drafts. */
#include "sim/storm/draft.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/storm/storm.h"

void ftc_draft_fini(struct ftc_draft *draft)
{
    ftc_program_fini(&draft->program);
    ftc_schedule_fini(&draft->schedule);
    free(draft->event);
    *draft = (struct ftc_draft){0};
}

/* There is room for twice the events, because OLDEST may come before each event. */
int ftc_draft_copy(struct ftc_draft *to, const struct ftc_draft *from)
{
    size_t operations = (size_t)from->program.length * sizeof(*from->program.operation);

    *to = (struct ftc_draft){
        .settings = from->settings, .plain = from->plain, .program.length = from->program.length};
    to->program.operation = malloc(operations);
    to->event = malloc((2 * from->events + 1) * sizeof(*to->event));
    if (to->program.operation == NULL || to->event == NULL ||
        ftc_schedule_copy(&to->schedule, &from->schedule) != FTC_SUCCESS) {
        ftc_draft_fini(to);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory to shrink a run; replay it by its seed");
    }
    memcpy(to->program.operation, from->program.operation, operations);
    if (from->events > 0)
        memcpy(to->event, from->event, from->events * sizeof(*to->event));
    to->events = from->events;
    return FTC_SUCCESS;
}

/* Remove `size` elements from `first` on. Returns the new count. */
static size_t cut(void *array, size_t count, size_t width, size_t first, size_t size)
{
    char *bytes = array;

    if (first + size > count)
        size = count - first;
    memmove(bytes + first * width, bytes + (first + size) * width, (count - first - size) * width);
    return count - size;
}

/* --- operations --- */

static size_t count_operations(const struct ftc_draft *d)
{
    return (size_t)d->program.length;
}

static bool drop_operations(struct ftc_draft *d, size_t first, size_t size)
{
    struct ftc_program *p = &d->program;

    if (size >= (size_t)p->length)
        return false;
    p->length = (int)cut(p->operation, (size_t)p->length, sizeof(*p->operation), first, size);
    return true;
}

static bool change_operations(struct ftc_draft *d, size_t first, size_t size,
                              struct ftc_program_operation simple)
{
    bool changed = false;

    for (size_t op = first; op < first + size && op < (size_t)d->program.length; op++) {
        struct ftc_program_operation *o = &d->program.operation[op];
        if ((o->kind == simple.kind && !o->ordered) || o->kind == FTC_CALL_BARRIER)
            continue;
        *o = simple;
        changed = true;
    }
    return changed;
}

static bool make_barriers(struct ftc_draft *d, size_t first, size_t size)
{
    return change_operations(d, first, size,
                             (struct ftc_program_operation){.kind = FTC_CALL_BARRIER, .root = -1});
}

static bool make_allreduces(struct ftc_draft *d, size_t first, size_t size)
{
    return change_operations(
        d, first, size, (struct ftc_program_operation){.kind = FTC_CALL_ALLREDUCE, .root = -1});
}

static bool lower_roots(struct ftc_draft *d, size_t first, size_t size)
{
    bool changed = false;

    for (size_t op = first; op < first + size && op < (size_t)d->program.length; op++) {
        if (d->program.operation[op].root <= 0)
            continue;
        d->program.operation[op].root = 0;
        changed = true;
    }
    return changed;
}

/* --- ranks --- */

static size_t count_ranks(const struct ftc_draft *d)
{
    return (size_t)d->settings.ranks;
}

/* The new number of a rank when `size` ranks from `first` on are gone. -1: it is one of them. */
static int renumber(int rank, int first, int size)
{
    if (rank < first)
        return rank;
    return rank < first + size ? -1 : rank - size;
}

static void renumber_schedule(struct ftc_schedule *s, int first, int size)
{
    size_t crashes = 0, losses = 0;

    for (size_t c = 0; c < s->crashes; c++) {
        struct ftc_schedule_crash crash = s->crash[c];
        crash.rank = renumber(crash.rank, first, size);
        if (crash.rank >= 0)
            s->crash[crashes++] = crash;
    }
    for (size_t l = 0; l < s->losses; l++) {
        struct ftc_schedule_loss loss = s->loss[l];
        loss.from = renumber(loss.from, first, size);
        loss.to = renumber(loss.to, first, size);
        if (loss.from >= 0 && loss.to >= 0)
            s->loss[losses++] = loss;
    }
    s->crashes = crashes;
    s->losses = losses;
}

static void renumber_events(struct ftc_draft *d, int first, int size)
{
    size_t events = 0;

    for (size_t e = 0; e < d->events; e++) {
        struct ftc_cluster_event event = d->event[e];
        event.a = renumber(event.a, first, size);
        event.b = renumber(event.b, first, size);
        if (event.a >= 0 && event.b >= 0)
            d->event[events++] = event;
    }
    d->events = events;
}

static bool drop_ranks(struct ftc_draft *d, size_t first, size_t size)
{
    int ranks = d->settings.ranks;
    int gone = first + size > (size_t)ranks ? ranks - (int)first : (int)size;

    if (gone >= ranks)
        return false;
    d->settings.ranks = ranks -= gone;
    if (d->settings.f >= ranks)
        d->settings.f = ranks - 1;
    for (int op = 0; op < d->program.length; op++) {
        struct ftc_program_operation *o = &d->program.operation[op];
        if (o->root >= 0 && (o->root = renumber(o->root, (int)first, gone)) < 0)
            o->root = 0;
    }
    renumber_schedule(&d->schedule, (int)first, gone);
    renumber_events(d, (int)first, gone);
    return d->schedule.crashes < (size_t)ranks;
}

/* --- deaths --- */

static size_t count_crashes(const struct ftc_draft *d)
{
    return d->schedule.crashes;
}

static bool drop_crashes(struct ftc_draft *d, size_t first, size_t size)
{
    struct ftc_schedule *s = &d->schedule;

    s->crashes = cut(s->crash, s->crashes, sizeof(*s->crash), first, size);
    return true;
}

static size_t count_losses(const struct ftc_draft *d)
{
    return d->schedule.losses;
}

static bool drop_losses(struct ftc_draft *d, size_t first, size_t size)
{
    struct ftc_schedule *s = &d->schedule;

    s->losses = cut(s->loss, s->losses, sizeof(*s->loss), first, size);
    return true;
}

/* Make ranks die earlier: at once, after half of their outputs, or after one output less. */
static bool lower_crash(struct ftc_draft *d, size_t first, size_t size, int (*lower)(int))
{
    bool changed = false;

    for (size_t c = first; c < first + size && c < d->schedule.crashes; c++) {
        struct ftc_schedule_crash *crash = &d->schedule.crash[c];
        changed |= crash->outputs > 0;
        crash->outputs = crash->outputs > 0 ? lower(crash->outputs) : 0;
    }
    return changed;
}

static int none(int value)
{
    (void)value;
    return 0;
}

static int half(int value)
{
    return value / 2;
}

static int one_less(int value)
{
    return value - 1;
}

static bool crash_at_once(struct ftc_draft *d, size_t first, size_t size)
{
    return lower_crash(d, first, size, none);
}

static bool crash_at_half(struct ftc_draft *d, size_t first, size_t size)
{
    return lower_crash(d, first, size, half);
}

static bool crash_one_sooner(struct ftc_draft *d, size_t first, size_t size)
{
    return lower_crash(d, first, size, one_less);
}

/* --- settings --- */

static size_t count_f(const struct ftc_draft *d)
{
    return (size_t)d->settings.f;
}

static bool lower_f(struct ftc_draft *d, size_t first, size_t size)
{
    if (first != 0 || size > (size_t)d->settings.f)
        return false;
    d->settings.f -= (int)size;
    return true;
}

#define SETTINGS 25

/* Set one setting of how decisions are spread to its plain value. False: it has that value
 * already. */
static bool reset_spreading(struct ftc_member_settings *s, const struct ftc_member_settings *plain,
                            size_t which)
{
#define RESET(field)                                                                               \
    do {                                                                                           \
        bool differs = s->field != plain->field;                                                   \
        s->field = plain->field;                                                                   \
        return differs;                                                                            \
    } while (0)
    switch (which) {
    case 0:
        RESET(tree.tree);
    case 1:
        RESET(tree.arity);
    case 2:
        RESET(correction);
    case 3:
        RESET(dissemination);
    case 4:
        RESET(distance);
    case 5:
        RESET(correction_delay_ns);
    case 6:
        RESET(patience_ns);
    case 7:
        RESET(gossip_bound);
    case 8:
        RESET(gossip_rounds);
    case 9:
        RESET(gossip_hop);
    case 10:
        RESET(seed);
    case 11:
        RESET(fragment);
    case 12:
        RESET(multicast_least);
    default:
        RESET(multicast_most);
    }
#undef RESET
}

/* Set one setting to its plain value. False: it has that value already. */
static bool reset_setting(struct ftc_member_settings *s, const struct ftc_member_settings *plain,
                          size_t which)
{
    struct ftc_member_settings before = *s;

    switch (which) {
    case 0:
        s->scheme = plain->scheme;
        return s->scheme != before.scheme;
    case 1:
        s->share = plain->share;
        return s->share != before.share;
    case 2:
        s->rotation = plain->rotation;
        return s->rotation != before.rotation;
    case 3:
        s->reduce_arity = plain->reduce_arity;
        return s->reduce_arity != before.reduce_arity;
    case 4:
        s->settle_every = plain->settle_every;
        return s->settle_every != before.settle_every;
    case 5:
        s->prepare = plain->prepare;
        return s->prepare != before.prepare;
    case 6:
        s->flips = plain->flips;
        return s->flips != before.flips;
    case 7:
        s->integrity = plain->integrity;
        return s->integrity != before.integrity;
    case 8:
        s->direct = plain->direct;
        return s->direct != before.direct;
    case 9:
        s->doubling = plain->doubling;
        return s->doubling != before.doubling;
    case 10:
        s->take = plain->take;
        return s->take != before.take;
    default:
        return reset_spreading(s, plain, which - 11);
    }
}

static size_t count_settings(const struct ftc_draft *d)
{
    (void)d;
    return SETTINGS;
}

static bool reset_settings(struct ftc_draft *d, size_t first, size_t size)
{
    bool changed = false;

    for (size_t which = first; which < first + size && which < SETTINGS; which++)
        changed |= reset_setting(&d->settings, d->plain, which);
    bool lists =
        d->settings.integrity != FTC_INTEGRITY_VOTE || d->settings.scheme == FTC_SCHEME_LIST;
    return changed && lists && !ftc_storm_waits_for_ever(&d->settings);
}

/* --- the order of events --- */

static size_t count_deviations(const struct ftc_draft *d)
{
    return d->schedule.deviations;
}

static bool drop_deviations(struct ftc_draft *d, size_t first, size_t size)
{
    struct ftc_schedule *s = &d->schedule;

    s->deviations = cut(s->deviation, s->deviations, sizeof(*s->deviation), first, size);
    return true;
}

/* Take the oldest event in place of the deviation, and then go on in the same order. Dropping the
 * deviation like this moves no other event. */
static bool prefer_oldest(struct ftc_draft *d, size_t first, size_t size)
{
    size_t last = first + size < d->schedule.deviations ? first + size : d->schedule.deviations;

    for (size_t i = last; i-- > first;) {
        size_t step = d->schedule.deviation[i].step - 1; /* steps count from 1 */
        if (step >= d->events)
            continue;
        memmove(d->event + step + 1, d->event + step, (d->events - step) * sizeof(*d->event));
        d->event[step] = (struct ftc_cluster_event){.kind = FTC_DRAFT_OLDEST};
        d->events++;
    }
    return true;
}

static bool lower_deviations(struct ftc_draft *d, size_t first, size_t size, uint32_t most,
                             uint32_t less)
{
    bool changed = false;

    for (size_t i = first; i < first + size && i < d->schedule.deviations; i++) {
        uint32_t *passed = &d->schedule.deviation[i].passed;
        uint32_t lower = *passed - less < most ? *passed - less : most;
        changed |= *passed > 1 && lower != *passed;
        *passed = *passed > 1 ? lower : *passed;
    }
    return changed;
}

static bool deviate_by_one(struct ftc_draft *d, size_t first, size_t size)
{
    return lower_deviations(d, first, size, 1, 0);
}

static bool deviate_by_less(struct ftc_draft *d, size_t first, size_t size)
{
    return lower_deviations(d, first, size, UINT32_MAX, 1);
}

static size_t count_events(const struct ftc_draft *d)
{
    return d->events;
}

/* Drop the events from the list. They happen later, when the list has ended. */
static bool delay_events(struct ftc_draft *d, size_t first, size_t size)
{
    d->events = cut(d->event, d->events, sizeof(*d->event), first, size);
    return true;
}

#define BOTH (FTC_DRAFT_BY_EVENTS | FTC_DRAFT_BY_DEVIATIONS)

/* The edits that take most away come first. */
const struct ftc_draft_edit ftc_draft_edits[] = {
    {count_operations, drop_operations, BOTH},
    {count_crashes, drop_crashes, BOTH},
    {count_losses, drop_losses, BOTH},
    {count_ranks, drop_ranks, BOTH},
    {count_f, lower_f, BOTH},
    {count_settings, reset_settings, BOTH},
    {count_operations, make_barriers, BOTH},
    {count_operations, make_allreduces, BOTH},
    {count_operations, lower_roots, BOTH},
    {count_deviations, prefer_oldest, FTC_DRAFT_BY_EVENTS},
    {count_deviations, drop_deviations, FTC_DRAFT_BY_DEVIATIONS},
    {count_events, delay_events, FTC_DRAFT_BY_EVENTS},
    {count_crashes, crash_at_once, BOTH},
    {count_crashes, crash_at_half, BOTH},
    {count_crashes, crash_one_sooner, BOTH},
    {count_deviations, deviate_by_one, FTC_DRAFT_BY_DEVIATIONS},
    {count_deviations, deviate_by_less, FTC_DRAFT_BY_DEVIATIONS},
};
const size_t ftc_draft_edits_count = sizeof(ftc_draft_edits) / sizeof(ftc_draft_edits[0]);

/* --- sizes --- */

static uint64_t weigh_operations(const struct ftc_program *program)
{
    uint64_t weight = 0;

    for (int op = 0; op < program->length; op++) {
        const struct ftc_program_operation *o = &program->operation[op];
        bool simple = o->kind == FTC_CALL_ALLREDUCE && !o->ordered;
        int kind = o->kind == FTC_CALL_BARRIER ? 0 : simple ? 1 : 2;
        weight += (uint64_t)kind + (o->root > 0 ? 1 : 0);
    }
    return weight;
}

static uint64_t count_differences(struct ftc_member_settings settings,
                                  const struct ftc_member_settings *plain)
{
    uint64_t differences = 0;

    for (size_t which = 0; which < SETTINGS; which++)
        differences += reset_setting(&settings, plain, which);
    return differences;
}

struct ftc_draft_size ftc_draft_measure(const struct ftc_draft *draft)
{
    const struct ftc_schedule *s = &draft->schedule;
    uint64_t outputs = 0, passed = 0;

    for (size_t c = 0; c < s->crashes; c++)
        outputs += (uint64_t)s->crash[c].outputs;
    for (size_t d = 0; d < s->deviations; d++)
        passed += s->deviation[d].passed;
    return (struct ftc_draft_size){
        .part = {(uint64_t)draft->program.length, (uint64_t)draft->settings.ranks, s->crashes,
                 s->losses, (uint64_t)draft->settings.f,
                 count_differences(draft->settings, draft->plain),
                 weigh_operations(&draft->program), s->deviations, outputs, passed, draft->events}};
}

bool ftc_draft_smaller(const struct ftc_draft_size *a, const struct ftc_draft_size *b)
{
    for (int part = 0; part < FTC_DRAFT_PARTS; part++)
        if (a->part[part] != b->part[part])
            return a->part[part] < b->part[part];
    return false;
}
