/* The operations under measurement. */
#include "cli/perf/operation.h"

#include <math.h>
#include <stdlib.h>

#include "cli/perf/baseline/baseline.h"

#define PERIOD 7 /* not a power of two, so that an element in the wrong place is found */

static int run_allreduce(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                         size_t count)
{
    return ftc_allreduce(b->send, b->recv, count, FTC_DOUBLE, FTC_SUM, job->world);
}

static int run_reduce(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                      size_t count)
{
    return ftc_reduce(b->send, b->recv, count, FTC_DOUBLE, FTC_SUM, job->lead, job->world);
}

static int run_bcast(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b, size_t count)
{
    return ftc_bcast(b->send, count, FTC_DOUBLE, job->lead, job->world);
}

static int run_barrier(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                       size_t count)
{
    (void)b, (void)count;
    return ftc_barrier(job->world);
}

static int run_validate(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                        size_t count)
{
    int failed;

    (void)b, (void)count;
    return ftc_validate_global(job->world, &failed);
}

static int run_gossip(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                      size_t count)
{
    return ftc_gossip_allreduce(b->send, b->recv, count, FTC_SUM, NULL, job->world);
}

static int run_doubling(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                        size_t count)
{
    return ftc_baseline_allreduce(FTC_DOUBLING_PLAIN, b->send, b->recv, count, job->world);
}

static int run_rabenseifner(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b,
                            size_t count)
{
    return ftc_baseline_allreduce(FTC_DOUBLING_RABENSEIFNER, b->send, b->recv, count, job->world);
}

static int run_voted(const struct ftc_perf_job *job, const struct ftc_perf_buffers *b, size_t count)
{
    return ftc_baseline_allreduce(FTC_DOUBLING_VOTED, b->send, b->recv, count, job->world);
}

static double input(int rank, size_t i)
{
    return (double)(rank + 1) + (double)(i % PERIOD);
}

static double expected_sum(const struct ftc_perf_job *job, size_t i)
{
    double sum = 0;

    for (int rank = 0; rank < job->size; rank++)
        sum += job->failed[rank] ? 0 : input(rank, i);
    return sum;
}

static double expected_root(const struct ftc_perf_job *job, size_t i)
{
    return input(job->lead, i);
}

static const double *result_everywhere(const struct ftc_perf_job *job,
                                       const struct ftc_perf_buffers *b)
{
    (void)job;
    return b->recv;
}

static const double *result_at_root(const struct ftc_perf_job *job,
                                    const struct ftc_perf_buffers *b)
{
    return job->rank == job->lead ? b->recv : NULL;
}

static const double *result_in_place(const struct ftc_perf_job *job,
                                     const struct ftc_perf_buffers *b)
{
    (void)job;
    return b->send;
}

const struct ftc_perf_operation ftc_perf_operations[FTC_PERF_OPERATIONS] = {
    {"allreduce", "allreduce, sum of doubles", true, false, false, run_allreduce, result_everywhere,
     expected_sum, false},
    {"reduce", "reduce, sum of doubles", true, true, false, run_reduce, result_at_root,
     expected_sum, false},
    {"bcast", "bcast of doubles", true, true, false, run_bcast, result_in_place, expected_root,
     false},
    {"barrier", "barrier", false, false, false, run_barrier, NULL, NULL, false},
    {"validate", "validate", false, false, false, run_validate, NULL, NULL, false},
    {"gossip", "gossip aggregation, sum of doubles", true, false, true, run_gossip,
     result_everywhere, expected_sum, false},
    {"doubling", "recursive doubling, sum of doubles", true, false, true, run_doubling,
     result_everywhere, expected_sum, true},
    {"rabenseifner", "Rabenseifner's allreduce, sum of doubles", true, false, true,
     run_rabenseifner, result_everywhere, expected_sum, true},
    {"voted", "recursive doubling three times with a vote, sum of doubles", true, false, true,
     run_voted, result_everywhere, expected_sum, true},
};

int ftc_perf_buffers_init(struct ftc_perf_buffers *buffers, size_t bytes)
{
    *buffers = (struct ftc_perf_buffers){calloc(1, bytes), calloc(1, bytes)};
    if (buffers->send == NULL || buffers->recv == NULL)
        return ftc_perf_fail(
            "no memory for two buffers of %zu bytes in each rank; give a smaller -m", bytes);
    return 0;
}

void ftc_perf_buffers_fini(struct ftc_perf_buffers *buffers)
{
    free(buffers->send);
    free(buffers->recv);
}

void ftc_perf_operation_fill(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buffers->send[i] = input(job->rank, i);
        buffers->recv[i] = -1;
    }
}

/* The relative tolerance. Sums of small whole numbers are exact, except by gossip. */
static double tolerance_of(const struct ftc_perf_operation *operation,
                           const struct ftc_perf_job *job)
{
    ftc_gossip_report report = {.struct_size = sizeof(report)};

    if (operation->run != run_gossip || ftc_last_gossip_report(job->world, &report) != FTC_SUCCESS)
        return 0;
    return report.accuracy + 1e-14; /* 1e-14 is for rounding */
}

size_t ftc_perf_operation_wrong(const struct ftc_perf_operation *operation,
                                const struct ftc_perf_job *job,
                                const struct ftc_perf_buffers *buffers, size_t count)
{
    double expected[PERIOD];
    double tolerance = tolerance_of(operation, job);
    const double *result = operation->sized ? operation->result(job, buffers) : NULL;

    if (result == NULL)
        return count;
    for (size_t i = 0; i < PERIOD; i++)
        expected[i] = operation->expected(job, i);
    tolerance *= expected[PERIOD - 1]; /* the largest element */
    for (size_t i = 0; i < count; i++)
        if (!(fabs(result[i] - expected[i % PERIOD]) <= tolerance))
            return i;
    return count;
}
