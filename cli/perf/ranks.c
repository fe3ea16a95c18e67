/* Latency of each rank. */
#include "cli/perf/ranks.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_CHUNK 5     /* samples that say how far apart the calls must be */
#define CHUNKS      8     /* a time has so many chunks of samples */
#define APART_US    200.0 /* between two calls, beside the time of the operation */
#define APART_MAX   1e6
#define WATCH_US    100.0 /* so long before the moment a rank ends its sleep */
#define NEVER       1e300

/* The samples of a measurement. Times in us. */
struct times {
    double *own;   /* of this rank */
    double *ahead; /* minus the time of the first rank but the lowest */
    double *last;  /* the time of the last rank but the lowest */
    int taken;
    double apart; /* between two calls */
};

/* The part of the id of this boot of the host that a double holds. 0: it cannot be read. */
static double boot_of_host(void)
{
    unsigned long long id = 0;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file == NULL)
        return 0;
    if (fscanf(file, "%8llx", &id) != 1)
        id = 0;
    fclose(file);
    return (double)id;
}

int ftc_perf_ranks_check(struct ftc_perf_job *job)
{
    double boot = boot_of_host(), range[] = {boot, -boot};
    int rc = ftc_perf_job_max(job, range, 2);

    if (rc != 0 || range[0] == -range[1])
        return rc;
    if (job->rank == job->lead)
        ftc_perf_fail("--per-rank needs one clock for all ranks; start them on one host");
    return 1;
}

static double now_us(void)
{
    return (double)ftc_perf_now() / 1e3;
}

static void wait_until(double moment)
{
    double left = moment - now_us() - WATCH_US;

    if (left > 0) {
        struct timespec time = {.tv_sec = (time_t)(left / 1e6),
                                .tv_nsec = (long)(fmod(left, 1e6) * 1e3)};
        nanosleep(&time, NULL);
    }
    while (now_us() < moment)
        sched_yield();
}

/* begin[] gets the moments at which the lowest rank called; latency[] the times of this rank. */
static int take_chunk(struct ftc_perf_bench *bench, double apart, int count, double begin[],
                      double latency[])
{
    struct ftc_perf_job *job = bench->job;
    bool leads = job->rank == job->lead;
    double start = leads ? now_us() + apart : 0;
    int rc = ftc_perf_job_max(job, &start, 1);

    for (int i = 0; rc == 0 && i < count; i++) {
        wait_until(start + i * apart);
        begin[i] = leads ? now_us() - start : 0;
        rc = ftc_perf_run(bench, 1);
        latency[i] = now_us() - start;
    }
    if (rc == 0)
        rc = ftc_perf_job_max(job, begin, count);
    for (int i = 0; rc == 0 && i < count; i++)
        latency[i] = fmax(latency[i] - begin[i], 0);
    return rc;
}

/* Note `count` samples of this rank, and those of the others. begin[] is free for use. */
static int note_chunk(struct ftc_perf_bench *bench, struct times *times, int count,
                      double samples[], double begin[])
{
    struct ftc_perf_job *job = bench->job;
    int at = times->taken;
    bool leads = job->rank == job->lead;

    for (int i = 0; i < count; i++) {
        samples[at + i] = times->own[at + i];
        times->last[at + i] = leads ? 0 : times->own[at + i];
        times->ahead[at + i] = leads ? -NEVER : -times->own[at + i];
    }
    int rc = ftc_perf_job_max(job, samples + at, count);
    if (rc == 0)
        rc = ftc_perf_job_max(job, times->last + at, count);
    if (rc == 0)
        rc = ftc_perf_job_max(job, times->ahead + at, count);
    memcpy(begin, samples + at, (size_t)count * sizeof(begin[0]));
    ftc_perf_sort(begin, count);
    times->apart = fmin(3 * ftc_perf_quantile(begin, count, 0.5) + APART_US, APART_MAX);
    times->taken += count;
    return rc;
}

static int choose_chunk(const struct ftc_perf_options *options, const struct times *times,
                        double spent)
{
    int room = (options->samples > 0 ? (int)options->samples : FTC_PERF_SAMPLES_MAX) - times->taken;
    double wanted = options->seconds * 1e6 / CHUNKS / times->apart;

    if (times->taken == 0)
        return room < FIRST_CHUNK ? room : FIRST_CHUNK;
    if (options->samples > 0)
        return room;
    return spent >= options->seconds * 1e6 ? 0 : (int)ftc_perf_clamp(wanted, room > 0, room);
}

static int take_all(struct ftc_perf_bench *bench, struct times *times, double samples[])
{
    double *begin = malloc(FTC_PERF_SAMPLES_MAX * sizeof(begin[0])), spent = 0;
    int rc = 0, count;

    if (begin == NULL)
        return ftc_perf_fail("rank %d: out of memory", bench->job->rank);
    while (rc == 0 && (count = choose_chunk(bench->options, times, spent)) > 0) {
        spent += times->apart * count;
        rc = take_chunk(bench, times->apart, count, begin, times->own + times->taken);
        if (rc == 0)
            rc = note_chunk(bench, times, count, samples, begin);
    }
    free(begin);
    return rc;
}

/* Tell all ranks the quantiles of this one. */
static int share(struct ftc_perf_job *job, struct times *times, struct ftc_perf_rank ranks[])
{
    size_t size = (size_t)job->size;
    double *all = malloc(2 * size * sizeof(all[0]));

    if (all == NULL)
        return ftc_perf_fail("rank %d: out of memory", job->rank);
    for (size_t i = 0; i < 2 * size; i++)
        all[i] = -1;
    ftc_perf_sort(times->own, times->taken);
    all[job->rank] = ftc_perf_quantile(times->own, times->taken, 0.5);
    all[size + (size_t)job->rank] = ftc_perf_quantile(times->own, times->taken, 0.99);
    int rc = ftc_perf_job_max(job, all, 2 * job->size);
    for (size_t i = 0; i < size; i++)
        ranks[i] = (struct ftc_perf_rank){all[i], all[size + i]};
    free(all);
    return rc;
}

/* The median of last - first, of the ranks but the lowest. */
static double spread_of(const struct ftc_perf_job *job, struct times *times)
{
    if (job->living < 2)
        return 0;
    for (int i = 0; i < times->taken; i++)
        times->last[i] += times->ahead[i];
    ftc_perf_sort(times->last, times->taken);
    return ftc_perf_quantile(times->last, times->taken, 0.5);
}

int ftc_perf_ranks_measure(struct ftc_perf_bench *bench, double us, double samples[],
                           struct ftc_perf_row *row)
{
    double *memory = malloc(3 * FTC_PERF_SAMPLES_MAX * sizeof(memory[0]));
    struct times times = {memory, memory + FTC_PERF_SAMPLES_MAX, memory + 2 * FTC_PERF_SAMPLES_MAX,
                          .apart = fmin(4 * us + APART_US, APART_MAX)};

    if (memory == NULL)
        return ftc_perf_fail("rank %d: out of memory", bench->job->rank);
    int rc = take_all(bench, &times, samples);
    if (rc == 0)
        rc = share(bench->job, &times, row->rank);
    if (rc == 0)
        row->spread = spread_of(bench->job, &times);
    row->samples = times.taken;
    row->batch = 1;
    free(memory);
    return rc;
}
