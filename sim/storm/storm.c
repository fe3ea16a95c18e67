/* Runs a storm. */
#include "sim/storm/storm.h"

#include <string.h>

#include "base/mix.h"

#define PICKS 8 /* events that are drawn before all are looked through */

/* Do the crashes whose step has come. Returns the first crash whose step has not. */
static int crash_due(struct ftc_cluster *c, const struct ftc_storm *storm, int next)
{
    for (; next < storm->crashes && storm->crash[next].step <= c->steps; next++) {
        if (storm->crash[next].lossy)
            ftc_cluster_crash_lossy(c, storm->crash[next].rank);
        else
            ftc_cluster_crash(c, storm->crash[next].rank);
    }
    return next;
}

static bool stands_still(const struct ftc_cluster *c, const struct ftc_storm *storm, int event)
{
    struct ftc_cluster_event e = ftc_cluster_event_of(c->n, event);
    int rank = e.kind == FTC_CLUSTER_ARRIVAL ? e.b : e.a;

    for (int i = 0; i < storm->stalls; i++)
        if (storm->stall[i].rank == rank && storm->stall[i].from <= c->steps &&
            c->steps < storm->stall[i].to)
            return true;
    return false;
}

/* Picks an event of a rank that does not stand still. If there is none, the stalls end. */
static int pick(struct ftc_cluster *c, const struct ftc_storm *storm)
{
    int event = ftc_cluster_pick(c);

    for (int tries = 0; tries < PICKS && stands_still(c, storm, event); tries++)
        event = ftc_cluster_pick(c);
    for (int i = 0; i < c->enabled_count && stands_still(c, storm, event); i++)
        event = c->enabled[i];
    return event;
}

static void rage(struct ftc_cluster *c, const struct ftc_storm *storm,
                 const struct ftc_promise *promise, struct ftc_storm_record *record)
{
    int next = crash_due(c, storm, 0);

    while (!ftc_cluster_broken(c) && c->enabled_count > 0) {
        int event = pick(c, storm);
        if (record != NULL) {
            ftc_storm_record_deaths(record, c);
            ftc_storm_record_event(record, c, event);
        }
        ftc_schedule_step(c, event, promise);
        ftc_storm_record_alive(c->steps);
        if (!ftc_cluster_broken(c))
            next = crash_due(c, storm, next);
    }
    ftc_cluster_finish(c);
    if (record != NULL)
        ftc_storm_record_deaths(record, c);
}

static void add_sums(struct ftc_storm_sums *sums, const struct ftc_cluster *c)
{
    sums->runs++;
    sums->deaths += (uint64_t)(c->n - ftc_ledger_alive(c->ledger));
    sums->steps += c->steps;
    sums->flips += c->flips;
    for (int rule = 0; rule < FTC_RULES_COUNT; rule++)
        sums->rules[rule] += ftc_cluster_rule(c, (enum ftc_rule)rule);
}

bool ftc_storm_run(const struct ftc_storm *storm, const struct ftc_promise *promise,
                   struct ftc_storm_sums *sums, struct ftc_storm_record *record, FILE *log,
                   char violation[FTC_SCHEDULE_TEXT])
{
    struct ftc_program program = ftc_storm_program(storm);
    struct ftc_cluster *c = ftc_cluster_new(&storm->settings, &program, storm->seed);

    c->log = log;
    if (log == NULL) { /* faster without a log */
        ftc_cluster_trace_free(c->trace);
        c->trace = NULL;
    }
    memcpy(c->doom, storm->doom, (size_t)storm->dooms * sizeof(c->doom[0]));
    c->dooms = storm->dooms;
    c->bias = storm->biased ? ftc_cluster_random(c) | 1 : 0;
    rage(c, storm, promise, record);

    bool kept = !ftc_cluster_broken(c);
    snprintf(violation, FTC_SCHEDULE_TEXT, "%s", c->violation);
    add_sums(sums, c);
    ftc_cluster_free(c);
    return kept;
}
