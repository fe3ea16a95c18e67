/* Does the rows of a sweep, one process each. */
#include "sim/timed/sweep.h"

#include <stdlib.h>

#include "base/error.h"
#include "config/config.h"
#include "sim/rows.h"

/* --- one row --- */

/* Do runs differ even if no rank dies? */
static bool varies(const struct ftc_sweep *sweep)
{
    return sweep->options.timed.think_ns > 0 ||
           sweep->options.timed.distance.kind == FTC_DISTANCE_TORUS;
}

struct runs {
    struct ftc_member_settings member;
    struct ftc_program_operation operation;
    struct ftc_program program;
    struct ftc_timed_settings settings;
};

static int one_run(struct runs *runs, struct ftc_sweep_row *row, struct ftc_timed_operation *out)
{
    struct ftc_timed_result result;
    int rc = ftc_timed_run(&runs->member, &runs->program, &runs->settings, NULL, &result);

    if (rc != 0) {
        row->code = FTC_SIM_EXIT_ERROR;
        snprintf(row->words, sizeof(row->words), "%s", ftc_last_error());
        return rc;
    }
    if (result.violation[0] != '\0') {
        row->code = FTC_SIM_EXIT_VIOLATION;
        row->bad_seed = runs->settings.seed;
        snprintf(row->words, sizeof(row->words), "%s", result.violation);
        rc = FTC_ERR_PROTO;
    }
    *out = result.operation[0];
    ftc_timed_result_fini(&result);
    return rc;
}

/* Deaths are drawn within the time that the operation takes without deaths. If that time is always
 * the same, measure it once. */
static int find_horizon(const struct ftc_sweep *sweep, struct runs *runs, struct ftc_sweep_row *row)
{
    struct ftc_timed_operation calm = {0};
    int kills = runs->settings.kills;

    if (kills == 0 || runs->settings.at_start || varies(sweep))
        return 0;
    runs->settings.kills = 0;
    int rc = one_run(runs, row, &calm);
    runs->settings.kills = kills;
    runs->settings.horizon_ns = calm.last_delivery;
    return rc;
}

static int by_latency(const void *a, const void *b)
{
    const struct ftc_timed_operation *x = a, *y = b;
    uint64_t first = x->last_delivery - x->first_call, second = y->last_delivery - y->first_call;

    return first < second ? -1 : first > second;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void summarize_root(struct ftc_sweep_row *row, const struct ftc_timed_operation *run,
                           uint64_t *time)
{
    for (int i = 0; i < row->runs; i++)
        if (run[i].root_delivered)
            time[row->root_runs++] = run[i].root_delivery - run[i].first_call;
    qsort(time, (size_t)row->root_runs, sizeof(*time), by_number);
    if (row->root_runs > 0)
        row->root_latency = time[(row->root_runs - 1) / 2];
}

static void summarize(struct ftc_sweep_row *row, struct ftc_timed_operation *run, uint64_t *time)
{
    int last = row->runs - 1;

    qsort(run, (size_t)row->runs, sizeof(*run), by_latency);
    row->median = run[last / 2];
    row->least = run[0].last_delivery - run[0].first_call;
    row->latency = row->median.last_delivery - row->median.first_call;
    row->most = run[last].last_delivery - run[last].first_call;
    summarize_root(row, run, time);
}

void ftc_sweep_run(const struct ftc_sweep *sweep, struct ftc_sweep_row *row)
{
    struct runs runs = {.member = sweep->member,
                        .operation = *row->operation,
                        .settings =
                            ftc_timed_options_settings(&sweep->options, row->cost, sweep->seed)};
    int wanted = row->kills > 0 || varies(sweep) ? sweep->repeat : 1;
    struct ftc_timed_operation *run = calloc((size_t)wanted, sizeof(*run));
    uint64_t *time = calloc((size_t)wanted, sizeof(*time));

    ftc_config_fit(&runs.member, row->n);
    runs.member.f = row->f;
    runs.program = (struct ftc_program){.operation = &runs.operation, .length = 1};
    runs.member.take = row->take;
    runs.settings.kills = row->kills;
    runs.settings.stall_ns = row->stall_ns;
    int rc = run != NULL && time != NULL ? find_horizon(sweep, &runs, row) : FTC_ERR_NOMEM;
    for (; rc == 0 && row->runs < wanted; row->runs++) {
        runs.settings.seed = sweep->seed + (uint64_t)row->runs;
        rc = one_run(&runs, row, &run[row->runs]);
    }
    if (rc == 0)
        summarize(row, run, time);
    else if (row->code == FTC_SIM_EXIT_OK)
        row->code = FTC_SIM_EXIT_ERROR;
    free(time);
    free(run);
}

/* --- all rows --- */

struct table {
    const struct ftc_sweep *sweep;
    bool (*report)(void *arg, const struct ftc_sweep_row *row);
    void *arg;
};

static void work(void *arg, void *row)
{
    const struct table *table = arg;

    ftc_sweep_run(table->sweep, row);
}

static void lost(void *arg, void *row, const char *words)
{
    struct ftc_sweep_row *r = row;

    (void)arg;
    r->code = FTC_SIM_EXIT_ERROR;
    snprintf(r->words, sizeof(r->words), "%s", words);
}

static bool report_row(void *arg, const void *row)
{
    const struct table *table = arg;

    return table->report(table->arg, row);
}

int ftc_sweep_run_all(struct ftc_sweep *sweep, int jobs,
                      bool (*report)(void *arg, const struct ftc_sweep_row *row), void *arg)
{
    struct table table = {.sweep = sweep, .report = report, .arg = arg};
    struct ftc_rows rows = {.row = sweep->row,
                            .size = sizeof(*sweep->row),
                            .count = sweep->rows,
                            .arg = &table,
                            .work = work,
                            .lost = lost,
                            .report = report_row};

    return ftc_rows_run(&rows, jobs);
}
