/* Does the runs of a row. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"
#include "sim/figures/figures.h"
#include "sim/figures/ranks.h"
#include "sim/reach/promise.h"

#define FRAGMENTS 1 /* fragments of a baseline's value */

char *ftc_figures_way_name(const struct ftc_figures_way *way, char text[FTC_PAIR_NAME])
{
    if (!way->baseline)
        return ftc_pair_name(way->pair, text);
    snprintf(text, FTC_PAIR_NAME, "%s", ftc_baseline_name(way->kind));
    return text;
}

int ftc_figures_failed_of(const struct ftc_figures_failed *failed, int n)
{
    return (int)lround(failed->percent ? n * failed->value / 100 : failed->value);
}

/* --- one run --- */

/* Results of one run; times are those of the row. */
struct run {
    uint64_t first, last, quiet;
    double mean, dissemination, correction;
    int missed;
    bool endless;
};

static int fail(struct ftc_figures_row *row, int code, uint64_t seed, const char *words)
{
    row->code = code;
    row->bad_seed = seed;
    snprintf(row->words, sizeof(row->words), "%s", words);
    return FTC_ERR_PROTO;
}

static void take_times(const struct ftc_timed_result *result, int n, struct run *run)
{
    double sum = 0;
    int reached = 0;

    run->first = UINT64_MAX;
    for (int rank = 1; rank < n; rank++) {
        uint64_t time = result->delivery[rank];
        if (time == UINT64_MAX)
            continue;
        reached++;
        sum += (double)time;
        run->first = time < run->first ? time : run->first;
        run->last = time > run->last ? time : run->last;
    }
    run->first = reached > 0 ? run->first : 0;
    run->mean = reached > 0 ? sum / reached : 0;
    run->quiet = result->quiet;
}

static void take_messages(const struct ftc_timed_result *result, int live, struct run *run)
{
    const struct ftc_timed_operation *operation = &result->operation[0];
    uint64_t all = operation->sent[FTC_MESSAGE_DECIDE] + operation->sent[FTC_MESSAGE_FRAGMENT];

    run->dissemination = (double)(all - result->corrected) / live;
    run->correction = (double)result->corrected / live;
}

/* Counts the ranks that the broadcast reached, and checks its promise. */
static int judge(const struct ftc_member_settings *member,
                 const struct ftc_timed_settings *settings, const struct ftc_timed_result *result,
                 struct ftc_figures_row *row, struct run *run)
{
    struct ftc_set dead = {0}, reached = {0};
    char words[FTC_REACH_WORDS] = "out of memory";
    int rc = ftc_set_init(&dead, row->n);

    if (rc == 0)
        rc = ftc_set_init(&reached, row->n);
    for (int i = 0; rc == 0 && i < result->deaths; i++)
        ftc_set_add(&dead, result->death[i].rank);
    for (int rank = 0; rc == 0 && rank < row->n; rank++)
        if (result->delivery[rank] != UINT64_MAX)
            ftc_set_add(&reached, rank);
    struct ftc_reach_facts facts = {
        .dead = &dead, .reached = &reached, .lossless = settings->loss_ppm == 0};
    if (rc == 0) {
        run->missed = ftc_reach_missed(&facts);
        if (!ftc_reach_kept(member, &facts, words))
            rc = fail(row, FTC_SIM_EXIT_VIOLATION, settings->seed, words);
    } else {
        fail(row, FTC_SIM_EXIT_ERROR, settings->seed, words);
    }
    ftc_set_fini(&dead);
    ftc_set_fini(&reached);
    return rc;
}

static int run_pair(const struct ftc_figures *figures, struct ftc_figures_row *row, uint64_t seed,
                    struct run *run)
{
    struct ftc_program_operation broadcast = {.kind = FTC_CALL_BCAST, .root = 0};
    const struct ftc_program program = {.operation = &broadcast, .length = 1};
    struct ftc_member_settings member = ftc_figures_member(figures, row);
    struct ftc_timed_settings settings = {.cost = *row->cost,
                                          .bytes = figures->bytes,
                                          .loss_ppm = (uint32_t)lround(row->loss * 1e4),
                                          .noise_ns = figures->noise_ns,
                                          .alone = true,
                                          .kills = row->dead,
                                          .victims = FTC_VICTIMS_OTHERS,
                                          .at_start = true,
                                          .seed = seed};
    struct ftc_timed_result result;

    member.seed = ftc_mix(seed) >> 2; /* seed of the targets, in the range of the configuration */
    int rc = ftc_timed_run(&member, &program, &settings, NULL, &result);
    if (rc != 0)
        return fail(row, FTC_SIM_EXIT_ERROR, seed, ftc_last_error());
    if (result.violation[0] != '\0')
        rc = fail(row, FTC_SIM_EXIT_VIOLATION, seed, result.violation);
    else
        rc = judge(&member, &settings, &result, row, run);
    take_times(&result, row->n, run);
    if (row->rank != NULL)
        ftc_figures_ranks_add(row, result.delivery);
    take_messages(&result, row->n - row->dead, run);
    ftc_timed_result_fini(&result);
    return rc;
}

/* Acknowledgements and requests count as corrections. Without a detector a baseline promises
 * nothing if ranks are dead. */
static int run_baseline(const struct ftc_figures *figures, struct ftc_figures_row *row,
                        uint64_t seed, struct run *run)
{
    struct ftc_baseline_settings settings = {.kind = row->way.kind,
                                             .ranks = row->n,
                                             .fragments = FRAGMENTS,
                                             .bytes = figures->bytes,
                                             .cost = *row->cost,
                                             .loss = row->loss / 100,
                                             .dead = row->dead,
                                             .seed = seed};
    struct ftc_baseline_result result;
    int rc = ftc_baseline_run(&settings, &result), live = row->n - row->dead;

    if (rc != 0)
        return fail(row, FTC_SIM_EXIT_ERROR, seed, ftc_last_error());
    run->first = result.first;
    run->last = result.last;
    run->mean = result.mean;
    run->quiet = result.complete ? result.root_free : result.last;
    /* with negative acknowledgement the root never knows */
    run->endless = !result.complete && row->way.kind != FTC_BASELINE_NEGATIVE;
    run->missed = result.receivers - result.served;
    run->dissemination = (double)(result.count.datagrams + result.count.repairs) / live;
    run->correction = (double)(result.count.acks + result.count.naks) / live;
    return 0;
}

/* --- all runs --- */

static bool varies(const struct ftc_figures *figures, const struct ftc_figures_row *row)
{
    return row->dead > 0 || row->loss > 0 || figures->noise_ns > 0 ||
           (!row->way.baseline && row->way.pair.dissemination == FTC_DISSEMINATION_GOSSIP);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void add(struct ftc_figures_row *row, const struct run *run)
{
    row->first += (double)run->first;
    row->mean += run->mean;
    row->spread += (double)(run->last - run->first);
    row->quiet += (double)run->quiet;
    row->dissemination += run->dissemination;
    row->correction += run->correction;
    row->missed += run->missed;
    row->missed_runs += run->missed > 0;
    row->endless_runs += run->endless;
}

static void summarize(struct ftc_figures_row *row, uint64_t *last)
{
    double *sums[] = {&row->first,         &row->mean,       &row->spread, &row->quiet,
                      &row->dissemination, &row->correction, &row->missed};

    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
        *sums[i] /= row->runs;
    qsort(last, (size_t)row->runs, sizeof(*last), by_number);
    row->least = last[0];
    row->latency = last[(row->runs - 1) / 2];
    row->most = last[row->runs - 1];
}

void ftc_figures_measure(const struct ftc_figures *figures, struct ftc_figures_row *row)
{
    int wanted = varies(figures, row) ? figures->repeat : 1;
    uint64_t *last = calloc((size_t)wanted, sizeof(*last));
    int rc = 0;

    row->formula_missed = row->formula_messages = -1;
    if (last == NULL)
        rc = fail(row, FTC_SIM_EXIT_ERROR, figures->seed, "out of memory; repeat fewer runs");
    for (; rc == 0 && row->runs < wanted; row->runs++) {
        struct run run = {0};
        uint64_t seed = figures->seed + (uint64_t)row->runs;
        rc = (row->way.baseline ? run_baseline : run_pair)(figures, row, seed, &run);
        add(row, &run);
        last[row->runs] = run.last;
    }
    if (rc == 0)
        summarize(row, last);
    free(last);
}
