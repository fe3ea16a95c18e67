/* Shrinks runs that broke a promise. */
#include "sim/storm/shrink.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/storm/draft.h"

struct shrinker {
    struct ftc_draft best;
    struct ftc_draft_size size;
    char violation[FTC_SCHEDULE_TEXT]; /* of the best draft */
    bool strict;                       /* accept the same kind of violation only */
    struct ftc_storm_record *record;
    const struct ftc_promise *promise;
    uint64_t runs, steps;
    int rc;
};

/* --- one run, in the child --- */

struct trial {
    const struct ftc_draft *draft;
    bool by_events;
    const struct ftc_promise *promise;
    FILE *log;
    struct ftc_cluster *cluster;
    struct ftc_storm_record *record;
};

static void take(struct trial *t, int event)
{
    ftc_storm_record_event(t->record, t->cluster, event);
    ftc_schedule_step(t->cluster, event, t->promise);
    ftc_storm_record_alive(t->cluster->steps);
    ftc_storm_record_deaths(t->record, t->cluster);
}

/* Follow the list of events to its end. */
static void follow_events(struct trial *t)
{
    struct ftc_cluster *c = t->cluster;
    /* number of times each event was taken before its turn */
    uint32_t *taken = ftc_cluster_alloc(c->n, (size_t)c->events, sizeof(*taken));

    for (size_t e = 0; e < t->draft->events && !ftc_cluster_broken(c) && c->enabled_count > 0;
         e++) {
        bool oldest = t->draft->event[e].kind == FTC_DRAFT_OLDEST;
        int event =
            oldest ? ftc_cluster_aged(c, 0) : ftc_cluster_event_number(c->n, t->draft->event[e]);
        if (oldest)
            taken[event]++;
        else if (taken[event] > 0 && taken[event]-- > 0)
            continue;
        if (c->place[event] > 0)
            take(t, event);
    }
    free(taken);
}

static void follow_deviations(struct trial *t)
{
    const struct ftc_schedule *s = &t->draft->schedule;
    struct ftc_cluster *c = t->cluster;

    for (size_t next = 0; next < s->deviations && !ftc_cluster_broken(c) && c->enabled_count > 0;) {
        bool now = s->deviation[next].step == c->steps + 1;
        take(t, ftc_cluster_aged(c, now ? s->deviation[next++].passed : 0));
    }
}

static void run_trial(struct ftc_storm_record *record, void *arg)
{
    struct trial *t = arg;
    const struct ftc_draft *d = t->draft;
    struct ftc_cluster *c = ftc_schedule_begin(&d->settings, &d->program, &d->schedule, t->log);

    t->cluster = c;
    t->record = record;
    ftc_storm_record_deaths(record, c);
    if (t->by_events)
        follow_events(t);
    else
        follow_deviations(t);
    while (!ftc_cluster_broken(c) && c->enabled_count > 0)
        take(t, ftc_cluster_aged(c, 0));
    ftc_cluster_finish(c);
    memcpy(record->violation, c->violation, strlen(c->violation) + 1);
}

/* --- candidates --- */

/* Do both texts have the same words, whatever the numbers in them? */
static bool same_kind(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
    }
}

/* Make the draft what it was when it ran: take schedule and order of events from the record. */
static int adopt_record(struct ftc_draft *d, const struct ftc_storm_record *r)
{
    const struct ftc_schedule ran = {
        .deviation = (struct ftc_schedule_deviation *)r->deviation,
        .crash = (struct ftc_schedule_crash *)r->crash,
        .loss = (struct ftc_schedule_loss *)r->loss,
        .deviations = r->deviations,
        .crashes = r->crashes,
        .losses = r->losses,
    };
    struct ftc_cluster_event *event = realloc(d->event, (r->events + 1) * sizeof(*event));

    if (event == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory to shrink a run; replay it by its seed");
    d->event = event;
    d->events = r->events;
    for (size_t e = 0; e < r->events; e++)
        d->event[e] = ftc_cluster_event_of(d->settings.ranks, (int)r->event[e]);
    ftc_schedule_fini(&d->schedule);
    return ftc_schedule_copy(&d->schedule, &ran);
}

/* Run the draft. True: it breaks a promise that counts, and the draft is then as it ran. */
static bool fails(struct shrinker *s, struct ftc_draft *draft, bool by_events, FILE *log)
{
    struct trial trial = {
        .draft = draft, .by_events = by_events, .promise = s->promise, .log = log};

    s->runs++;
    s->rc = ftc_storm_record_try(s->record, run_trial, &trial);
    if (s->rc != FTC_SUCCESS)
        return false;
    s->steps += s->record->steps;
    if (s->record->violation[0] == '\0' || s->record->hung ||
        (s->strict && !same_kind(s->record->violation, s->violation)))
        return false;
    s->rc = adopt_record(draft, s->record);
    return s->rc == FTC_SUCCESS;
}

static void make_best(struct shrinker *s, struct ftc_draft *draft)
{
    ftc_draft_fini(&s->best);
    s->best = *draft;
    s->size = ftc_draft_measure(&s->best);
    memcpy(s->violation, s->record->violation, sizeof(s->violation));
    *draft = (struct ftc_draft){0};
}

/* Try one candidate by one guide. Keep it if it fails and is smaller. */
static bool attempt(struct shrinker *s, const struct ftc_draft_edit *edit, size_t first,
                    size_t size, bool by_events)
{
    struct ftc_draft draft;
    bool kept = false;

    s->rc = ftc_draft_copy(&draft, &s->best);
    if (s->rc != FTC_SUCCESS)
        return false;
    if (edit->apply(&draft, first, size) && fails(s, &draft, by_events, NULL)) {
        struct ftc_draft_size now = ftc_draft_measure(&draft);
        kept = ftc_draft_smaller(&now, &s->size);
    }
    if (kept)
        make_best(s, &draft);
    ftc_draft_fini(&draft);
    return kept;
}

static bool has_budget(const struct shrinker *s)
{
    return s->rc == FTC_SUCCESS && s->runs < FTC_SHRINK_RUNS && s->steps < FTC_SHRINK_STEPS;
}

/* ddmin: try all things at once, then halves, quarters, ..., single things. */
static bool reduce(struct shrinker *s, const struct ftc_draft_edit *edit)
{
    bool improved = false;

    for (size_t size = edit->count(&s->best); size > 0; size /= 2) {
        size_t first = 0;
        while (first < edit->count(&s->best) && has_budget(s)) {
            bool kept = (edit->guides & FTC_DRAFT_BY_EVENTS) && attempt(s, edit, first, size, true);
            if (!kept && has_budget(s))
                kept = (edit->guides & FTC_DRAFT_BY_DEVIATIONS) &&
                       attempt(s, edit, first, size, false);
            improved |= kept;
            first += kept ? 0 : size;
        }
    }
    return improved;
}

/* Repeat until no edit helps: first with the same kind of violation, then with any violation. */
static void reduce_all(struct shrinker *s)
{
    s->strict = true;
    for (int round = 0; round < 2; round++, s->strict = false) {
        bool improved = true;
        while (improved && has_budget(s)) {
            improved = false;
            for (size_t e = 0; e < ftc_draft_edits_count; e++)
                improved |= reduce(s, &ftc_draft_edits[e]);
        }
    }
}

/* --- beginning and end --- */

/* Repeat the storm's run from its events, crashes and losses alone. */
static bool begin(struct shrinker *s, const struct ftc_draft *storm)
{
    struct ftc_draft copy;
    bool again = false;

    memcpy(s->violation, s->record->violation, sizeof(s->violation));
    s->strict = true;
    s->rc = ftc_draft_copy(&copy, storm);
    if (s->rc == FTC_SUCCESS)
        s->rc = adopt_record(&copy, s->record);
    if (s->rc == FTC_SUCCESS)
        again = fails(s, &copy, true, NULL);
    if (again)
        make_best(s, &copy);
    ftc_draft_fini(&copy);
    return again;
}

/* Read all bytes of a file as a string. */
static char *read_back(FILE *file)
{
    long size = ftell(file);
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;

    if (text == NULL)
        return NULL;
    rewind(file);
    text[fread(text, 1, (size_t)size, file)] = '\0';
    return text;
}

/* The proof: the schedule alone, as a person would type it, breaks the same promise. */
static void finish(struct shrinker *s, struct ftc_shrunk *out)
{
    FILE *log = tmpfile();
    char found[FTC_SCHEDULE_TEXT];

    if (log == NULL) {
        s->rc = ftc_error_set(FTC_ERR_SYSTEM,
                              "no temporary file for a trace: %m; make room or set TMPDIR");
        return;
    }
    setvbuf(log, NULL, _IOLBF, BUFSIZ); /* so that output before a failed assertion is not lost */
    memcpy(found, s->violation, sizeof(found));
    s->strict = false;
    bool failed = fails(s, &s->best, false, log);
    if (failed && strcmp(s->record->violation, found) == 0)
        memcpy(out->violation, found, sizeof(found));
    fseek(log, 0, SEEK_END); /* the child wrote it */
    out->trace = read_back(log);
    fclose(log);
    if (s->rc == FTC_SUCCESS && out->trace == NULL)
        s->rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for a trace; replay the run");
}

int ftc_shrink(struct ftc_shrunk *shrunk, const struct ftc_member_settings *settings,
               const struct ftc_member_settings *plain, const struct ftc_program *program,
               struct ftc_storm_record *record, const struct ftc_promise *promise)
{
    struct shrinker s = {.record = record, .promise = promise};
    const struct ftc_draft storm = {.settings = *settings, .plain = plain, .program = *program};

    *shrunk = (struct ftc_shrunk){0};
    if (begin(&s, &storm)) {
        reduce_all(&s);
        if (s.rc == FTC_SUCCESS)
            finish(&s, shrunk);
    }
    shrunk->settings = s.best.settings;
    shrunk->program = s.best.program;
    shrunk->schedule = s.best.schedule;
    shrunk->runs = s.runs;
    free(s.best.event);
    return s.rc;
}

void ftc_shrunk_fini(struct ftc_shrunk *shrunk)
{
    ftc_program_fini(&shrunk->program);
    ftc_schedule_fini(&shrunk->schedule);
    free(shrunk->trace);
    *shrunk = (struct ftc_shrunk){0};
}
