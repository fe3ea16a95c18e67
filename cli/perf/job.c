/* The ranks of the measurement. */
#include "cli/perf/job.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int ftc_perf_fail(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "ftcoll-perf: %s\n", text);
    return -1;
}

int ftc_perf_check(const struct ftc_perf_job *job, int rc)
{
    return rc == FTC_SUCCESS ? 0 : ftc_perf_fail("rank %d: %s", job->rank, ftc_last_error());
}

uint64_t ftc_perf_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int ftc_perf_job_init(struct ftc_perf_job *job, ftc_comm *world)
{
    *job = (struct ftc_perf_job){.world = world, .rank = ftc_rank(world), .size = ftc_size(world)};
    job->failed = calloc((size_t)job->size, sizeof(job->failed[0]));
    job->info = calloc((size_t)job->size, sizeof(job->info[0]));
    if (job->failed == NULL || job->info == NULL)
        return ftc_perf_fail("rank %d: out of memory", job->rank);
    job->settings.struct_size = sizeof(job->settings);
    if (ftc_perf_job_agree(job) != 0)
        return -1;
    return ftc_perf_check(job, ftc_last_report(world, &job->settings));
}

void ftc_perf_job_fini(struct ftc_perf_job *job)
{
    free(job->failed);
    free(job->info);
}

/* Returns the n-th living rank, from 0 on. */
static int living_rank(const struct ftc_perf_job *job, int n)
{
    int rank = 0;

    while (job->failed[rank] || n-- > 0)
        rank++;
    return rank;
}

static void find_partner(struct ftc_perf_job *job)
{
    int half = job->living / 2, mine = 0;

    while (living_rank(job, mine) != job->rank)
        mine++;
    job->starts = mine < half;
    job->partner = mine >= 2 * half ? -1 : living_rank(job, (mine + half) % (2 * half));
}

int ftc_perf_job_agree(struct ftc_perf_job *job)
{
    int count = 0;

    if (ftc_perf_check(job, ftc_validate_global(job->world, &count)) != 0 ||
        ftc_perf_check(job, ftc_get_state_global(job->world, FTC_RANK_FAILED | FTC_RANK_NULL,
                                                 job->size, &count, job->info)) != 0)
        return -1;
    memset(job->failed, 0, (size_t)job->size * sizeof(job->failed[0]));
    for (int i = 0; i < count; i++)
        job->failed[job->info[i].rank] = true;
    job->living = job->size - count;
    job->lead = living_rank(job, 0);
    find_partner(job);
    return 0;
}

int ftc_perf_job_max(struct ftc_perf_job *job, double values[], int count)
{
    return ftc_perf_check(
        job, ftc_allreduce(FTC_IN_PLACE, values, (size_t)count, FTC_DOUBLE, FTC_MAX, job->world));
}

struct ftc_perf_how ftc_perf_job_how(const struct ftc_perf_job *job)
{
    ftc_report report = {.struct_size = sizeof(report)};

    if (ftc_last_report(job->world, &report) != FTC_SUCCESS)
        return (struct ftc_perf_how){.algorithm = "unknown"};
    return (struct ftc_perf_how){report.algorithm, report.dissemination, report.tree,
                                 report.correction, report.f};
}

bool ftc_perf_same_spread(const struct ftc_perf_how *a, const struct ftc_perf_how *b)
{
    if (a->dissemination == NULL || b->dissemination == NULL)
        return a->dissemination == b->dissemination;
    return strcmp(a->dissemination, b->dissemination) == 0 && strcmp(a->tree, b->tree) == 0 &&
           strcmp(a->correction, b->correction) == 0;
}

/* Output is flushed and checked here, because unwritten output is lost when this process dies. */
static int print_out(int (*print)(void *arg), void *arg)
{
    if (print(arg) != 0)
        return -1;
    if (fflush(stdout) != 0 || ferror(stdout))
        return ftc_perf_fail("cannot write to standard output: %s", strerror(errno));
    return 0;
}

int ftc_perf_job_any_failed(struct ftc_perf_job *job, bool failed)
{
    double any = failed;

    return ftc_perf_job_max(job, &any, 1) != 0 ? -1 : any != 0;
}

int ftc_perf_job_print(struct ftc_perf_job *job, int (*print)(void *arg), void *arg)
{
    int lead, rc;

    do {
        lead = job->lead;
        rc = ftc_perf_job_any_failed(job, job->rank == lead && print_out(print, arg) != 0);
        if (rc == 0)
            rc = ftc_perf_job_agree(job);
    } while (rc == 0 && job->failed[lead]);
    return rc;
}
