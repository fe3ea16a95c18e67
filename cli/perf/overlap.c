/*
 * The overlap of non-blocking operations with a computation: what is left of the time of the
 * operations when the ranks compute meanwhile. The three batches of a sample follow each other, so
 * that all meet the same machine.
 */
#include "cli/perf/overlap.h"

#include <math.h>
#include <stdlib.h>

#define BATCH_US    1000.0 /* many times as long as the barrier that ends a batch */
#define BATCH_MAX   100000.0
#define SAMPLES_MIN 3
#define PILOTS      5       /* samples that say how long the operations take */
#define TRIALS      3       /* the quickest one says how long a step of the computation takes */
#define TRIAL_STEPS 1000000 /* some milliseconds */

enum phase { OPERATIONS, COMPUTATION, BOTH, PHASES };

/* Set *us to the mean time of a phase in a batch at this rank. */
static int time_phase(struct ftc_perf_bench *bench, enum phase phase, uint64_t steps, int batch,
                      double *us)
{
    uint64_t start = ftc_perf_now();
    int rc = 0;

    bench->steps = phase == BOTH ? steps : 0;
    if (phase != COMPUTATION)
        rc = ftc_perf_run(bench, (uint64_t)batch);
    for (int i = 0; phase == COMPUTATION && i < batch; i++)
        bench->computed += ftc_perf_compute(steps);
    bench->steps = 0;
    if (rc == 0)
        rc = ftc_perf_check(bench->job, ftc_barrier(bench->job->world));
    *us = (double)(ftc_perf_now() - start) / 1e3 / batch;
    return rc;
}

/* Set *us to the median of a few samples of the operations. */
static int time_pilots(struct ftc_perf_bench *bench, int batch, double *us)
{
    double pilot[PILOTS];
    int rc = 0;

    for (int i = 0; rc == 0 && i < PILOTS; i++)
        rc = time_phase(bench, OPERATIONS, 0, batch, &pilot[i]);
    if (rc == 0)
        rc = ftc_perf_job_max(bench->job, pilot, PILOTS);
    if (rc != 0)
        return rc;
    ftc_perf_sort(pilot, PILOTS);
    *us = ftc_perf_quantile(pilot, PILOTS, 0.5);
    return 0;
}

/* Set *steps to those that take `us` where all ranks compute at the same time. */
static int calibrate(struct ftc_perf_bench *bench, double us, uint64_t *steps)
{
    double trial[TRIALS];
    int rc = 0;

    for (int i = 0; rc == 0 && i < TRIALS; i++)
        rc = time_phase(bench, COMPUTATION, TRIAL_STEPS, 1, &trial[i]);
    if (rc == 0)
        rc = ftc_perf_job_max(bench->job, trial, TRIALS);
    if (rc != 0)
        return rc;
    ftc_perf_sort(trial, TRIALS);
    *steps = (uint64_t)ftc_perf_clamp(us / trial[0] * TRIAL_STEPS, 1, 1e12);
    return 0;
}

/* How many samples to take, if the operations of a batch take `us`. */
static int choose_samples(const struct ftc_perf_options *options, double us)
{
    return options->samples > 0 ? (int)options->samples
                                : (int)ftc_perf_clamp(options->seconds * 1e6 / (PHASES * us),
                                                      SAMPLES_MIN, FTC_PERF_SAMPLES_MAX);
}

/* times[phase][i] gets the time of phase at the slowest rank in sample i. */
static int take_samples(struct ftc_perf_bench *bench, uint64_t steps, int batch, int samples,
                        double *times[PHASES])
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < samples; i++)
        for (int phase = 0; rc == 0 && phase < PHASES; phase++)
            rc = time_phase(bench, (enum phase)phase, steps, batch, &times[phase][i]);
    for (int phase = 0; rc == 0 && phase < PHASES; phase++)
        rc = ftc_perf_job_max(bench->job, times[phase], samples);
    return rc;
}

/* Make times those of one operation, and sort them. Returns their median. */
static double median_of(double times[], int samples, int operations)
{
    for (int i = 0; i < samples; i++)
        times[i] /= operations;
    ftc_perf_sort(times, samples);
    return ftc_perf_quantile(times, samples, 0.5);
}

static int measure(struct ftc_perf_bench *bench, double us, double *times[PHASES],
                   struct ftc_perf_row *row)
{
    int batch = (int)ftc_perf_clamp(ceil(BATCH_US / us), 1, BATCH_MAX);
    uint64_t steps = 0;
    int rc = time_pilots(bench, batch, &us);

    if (rc == 0)
        rc = calibrate(bench, us, &steps);
    if (rc != 0)
        return rc;
    row->samples = choose_samples(bench->options, us * batch);
    row->batch = batch * bench->buffers.sets;
    rc = take_samples(bench, steps, batch, row->samples, times);
    if (rc != 0)
        return rc;
    double median[PHASES];
    for (int phase = 0; phase < PHASES; phase++)
        median[phase] = median_of(times[phase], row->samples, bench->buffers.sets);
    double left = (median[BOTH] - median[COMPUTATION]) / median[OPERATIONS];
    row->overlap = (struct ftc_perf_overlap){.compute = median[COMPUTATION],
                                             .both = median[BOTH],
                                             .percent = ftc_perf_clamp(100 * (1 - left), 0, 100)};
    return 0;
}

int ftc_perf_overlap_measure(struct ftc_perf_bench *bench, double us, double samples[],
                             struct ftc_perf_row *row)
{
    double *more = malloc(2 * FTC_PERF_SAMPLES_MAX * sizeof(more[0]));
    double *times[PHASES] = {samples, more, more + FTC_PERF_SAMPLES_MAX};

    if (more == NULL)
        return ftc_perf_fail("rank %d: out of memory", bench->job->rank);
    int rc = measure(bench, us, times, row);
    free(more);
    return rc;
}
