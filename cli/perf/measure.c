/*
 * Latency. Every rank times the same samples. The figure of a sample is its maximum over the ranks,
 * because an operation is as slow as its slowest rank. All ranks must make the same calls. So they
 * first agree on every value that decides how many operations run.
 */
#include "cli/perf/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/perf/overlap.h"
#include "cli/perf/ranks.h"

#define SAMPLES_MIN    3
#define CHUNKS         8      /* a time has so many chunks; after each the speed is measured anew */
#define BATCH_US       20.0   /* so long that reading the clock twice takes less than 1 % of it */
#define OVERLAPPING_US 1000.0 /* many times as long as ranks run ahead of each other */
#define BATCH_MAX      100000.0
#define WARM_UP_PART   0.1 /* this part of the time for samples */

/* Set *us to the mean of `times` operations at the slowest rank. */
static int run_timed(struct ftc_perf_bench *bench, uint64_t times, double *us)
{
    uint64_t start = ftc_perf_now();
    int rc = ftc_perf_run(bench, times);

    *us = (double)(ftc_perf_now() - start) / 1e3 / (double)times;
    return rc == 0 ? ftc_perf_job_max(bench->job, us, 1) : rc;
}

static struct ftc_perf_how how_of(const struct ftc_perf_bench *bench)
{
    if (bench->operation->baseline)
        return (struct ftc_perf_how){.algorithm = "unprotected"};
    if (bench->operation->messages > 0)
        return (struct ftc_perf_how){.algorithm = "point_to_point"};
    return ftc_perf_job_how(bench->job);
}

/* The ranks agree on the living ranks before and after the operation. If both sets are the same,
 * the result must hold the inputs of all living ranks, and can be checked. */
static int check_result(struct ftc_perf_bench *bench)
{
    size_t count = bench->bytes / sizeof(double);
    int living = bench->job->living;

    for (int set = 0; set < bench->buffers.sets; set++) {
        struct ftc_perf_buffers own = ftc_perf_buffers_of(&bench->buffers, set);
        ftc_perf_operation_fill(bench->operation, bench->job, &own, count);
    }
    if (ftc_perf_run(bench, 1) != 0)
        return -1;
    bench->how = how_of(bench);
    size_t wrong = count;
    for (int set = 0; wrong == count && set < bench->buffers.sets; set++) {
        struct ftc_perf_buffers own = ftc_perf_buffers_of(&bench->buffers, set);
        wrong = ftc_perf_operation_wrong(bench->operation, bench->job, &own, count);
    }
    if (ftc_perf_job_agree(bench->job) != 0)
        return -1;
    bool bad = wrong < count && bench->job->living == living && !bench->failed;
    if (bad)
        ftc_perf_fail("rank %d: %s of %zu bytes: element %zu of the result is wrong",
                      bench->job->rank, bench->operation->name, bench->bytes, wrong);
    return ftc_perf_job_any_failed(bench->job, bad);
}

/*
 * Set *us to the mean of the quickest of several batches. The first operations take many times as
 * long as later ones, and another process may have disturbed any batch.
 */
static int warm_up_for(struct ftc_perf_bench *bench, double budget_us, double *us)
{
    double spent = 0, mean;
    int rc = run_timed(bench, 2, us);

    while (rc == 0 && spent < budget_us) {
        uint64_t times = (uint64_t)ftc_perf_clamp(budget_us / CHUNKS / *us, 2, BATCH_MAX);
        rc = run_timed(bench, times, &mean);
        spent += mean * (double)times;
        *us = fmin(*us, mean);
    }
    return rc;
}

int ftc_perf_warm_up(struct ftc_perf_bench *bench, double *us)
{
    const struct ftc_perf_options *options = bench->options;
    int rc = check_result(bench);

    if (rc != 0)
        return rc;
    if (!options->warm_up_given)
        return warm_up_for(bench, options->seconds * 1e6 * WARM_UP_PART, us);
    rc = run_timed(bench, 2, us);
    return rc == 0 && options->warm_up > 0 ? run_timed(bench, options->warm_up, us) : rc;
}

/* The least time that a batch should take. */
static double least_us(const struct ftc_perf_bench *bench)
{
    return bench->operation->overlaps ? OVERLAPPING_US : BATCH_US;
}

/* How many operations a batch has, if one operation takes `us`. */
static int choose_batch(const struct ftc_perf_bench *bench, double us)
{
    return bench->options->synchronise
               ? 1
               : (int)ftc_perf_clamp(ceil(least_us(bench) / us), 1, BATCH_MAX);
}

/* Batches take `us`. Is that far too short? It happens if the warm-up was slower. */
static bool is_too_short(const struct ftc_perf_bench *bench, int batch, double us)
{
    return !bench->options->synchronise && batch < (int)BATCH_MAX && us < least_us(bench) / 2;
}

static int take_sample(struct ftc_perf_bench *bench, int batch, double *us)
{
    if (bench->options->synchronise &&
        ftc_perf_check(bench->job, ftc_barrier(bench->job->world)) != 0)
        return -1;
    uint64_t start = ftc_perf_now();
    int rc = ftc_perf_run(bench, (uint64_t)batch);
    *us = (double)(ftc_perf_now() - start) / 1e3 / batch;
    return rc;
}

/* How many samples to take next, if one sample takes `us`. */
static int choose_chunk(const struct ftc_perf_options *options, int taken, double us)
{
    double room = FTC_PERF_SAMPLES_MAX - taken;

    if (options->samples > 0)
        return (int)options->samples - taken;
    return (int)ftc_perf_clamp(options->seconds * 1e6 / CHUNKS / us, 1, room);
}

static bool is_enough(const struct ftc_perf_options *options, int taken, double us)
{
    if (options->samples > 0)
        return taken == (int)options->samples;
    return taken == FTC_PERF_SAMPLES_MAX || (taken >= SAMPLES_MIN && us >= options->seconds * 1e6);
}

/* Take samples of an operation that takes about `us`. Stores the number of samples in *taken, and
 * the number of operations in each sample in *batch. */
static int take_samples(struct ftc_perf_bench *bench, double us, double samples[], int *taken,
                        int *batch)
{
    double elapsed = 0, expected;
    int rc = 0;

    *taken = 0;
    *batch = choose_batch(bench, us);
    expected = us * *batch;
    while (rc == 0 && !is_enough(bench->options, *taken, elapsed)) {
        int chunk = choose_chunk(bench->options, *taken, expected);
        uint64_t start = ftc_perf_now();
        for (int i = 0; rc == 0 && i < chunk; i++)
            rc = take_sample(bench, *batch, &samples[*taken + i]);
        double took = (double)(ftc_perf_now() - start) / 1e3;
        if (rc == 0)
            rc = ftc_perf_job_max(bench->job, &took, 1);
        elapsed += took;
        expected = took / chunk;
        *taken += chunk;
        if (rc == 0 &&
            is_too_short(bench, *batch, expected)) { /* start again with larger batches */
            *batch = choose_batch(bench, expected / *batch);
            expected = least_us(bench);
            elapsed = *taken = 0;
        }
    }
    return rc == 0 ? ftc_perf_job_max(bench->job, samples, *taken) : rc;
}

/* Collect the report of the last gossip aggregation. Collective. The barrier time is that of the
 * rank that came to the barrier last: the least of all ranks. */
static int ask_gossip(const struct ftc_perf_bench *bench, struct ftc_perf_gossip *gossip)
{
    ftc_gossip_report report = {.struct_size = sizeof(report)};

    if (!bench->operation->apart || bench->job->size == 1)
        return 0;
    int rc = ftc_perf_check(bench->job, ftc_last_gossip_report(bench->job->world, &report));
    double values[] = {(double)report.messages, report.attempts, report.gossip_seconds * 1e6,
                       -report.barrier_seconds * 1e6, report.agreement_seconds * 1e6};
    if (rc == 0)
        rc = ftc_perf_job_max(bench->job, values, 5);
    *gossip = (struct ftc_perf_gossip){.algorithm = report.algorithm,
                                       .neighbourhood = report.neighbourhood,
                                       .accuracy = report.accuracy,
                                       .messages = values[0],
                                       .attempts = values[1],
                                       .gossip_us = values[2],
                                       .barrier_us = -values[3],
                                       .agreement_us = values[4]};
    return rc;
}

static int measure_once(struct ftc_perf_bench *bench, double samples[], struct ftc_perf_row *row)
{
    double us = 0;
    int rc = ftc_perf_warm_up(bench, &us);

    if (rc != 0)
        return rc;
    *row = (struct ftc_perf_row){.bytes = bench->bytes, .how = bench->how, .rank = row->rank};
    if (row->rank != NULL)
        rc = ftc_perf_ranks_measure(bench, us, samples, row);
    else if (bench->options->under_way > 0)
        rc = ftc_perf_overlap_measure(bench, us, samples, row);
    else
        rc = take_samples(bench, us, samples, &row->samples, &row->batch);
    if (rc == 0)
        rc = ask_gossip(bench, &row->gossip);
    if (rc != 0)
        return rc;
    for (int i = 0; bench->operation->messages > 0 && i < row->samples; i++)
        samples[i] /= bench->operation->messages;
    ftc_perf_sort(samples, row->samples);
    row->median = ftc_perf_quantile(samples, row->samples, 0.5);
    row->p99 = ftc_perf_quantile(samples, row->samples, 0.99);
    row->least = samples[0];
    row->most = samples[row->samples - 1];
    return 0;
}

int ftc_perf_measure(struct ftc_perf_bench *bench, struct ftc_perf_row *row)
{
    struct ftc_perf_job *job = bench->job;
    double *samples = malloc(FTC_PERF_SAMPLES_MAX * sizeof(samples[0]));
    int living, rc;

    if (samples == NULL)
        return ftc_perf_fail("rank %d: out of memory", job->rank);
    do {
        living = job->living;
        bench->failed = false;
        rc = measure_once(bench, samples, row);
        if (rc == 0)
            rc = ftc_perf_job_agree(job);
        if (rc == 0 && job->living < living && job->rank == job->lead)
            fprintf(stderr, "ftcoll-perf: a rank died during %s of %zu bytes; measured again\n",
                    bench->operation->name, bench->bytes);
    } while (rc == 0 && job->living < living);
    row->ranks = job->living;
    free(samples);
    if (rc == 0 && bench->failed)
        ftc_perf_fail("rank %d: %s of %zu bytes: %s", job->rank, bench->operation->name,
                      bench->bytes, bench->cause);
    return rc == 0 ? ftc_perf_job_any_failed(job, bench->failed) : rc;
}
