/* Runs the operation under measurement. */
#include "cli/perf/measure.h"

/* With the codes -20 to -29 of ftcoll.h the operation failed, but the communicator is usable. */
static bool may_be_repeated(int rc)
{
    return rc <= FTC_ERR_ROOT_FAILED && rc > FTC_ERR_FENCED;
}

/* Take in how an operation has ended. */
static int end(struct ftc_perf_bench *bench, const struct ftc_perf_buffers *buffers, int rc)
{
    if (rc == FTC_SUCCESS && bench->operation->finish != NULL)
        rc = bench->operation->finish(buffers);
    if (rc == FTC_SUCCESS)
        return 0;
    if (!may_be_repeated(rc))
        return ftc_perf_check(bench->job, rc);
    bench->failed = true;
    bench->cause = ftc_strerror(rc);
    return 0;
}

static int run_blocking(struct ftc_perf_bench *bench, size_t count)
{
    return end(bench, &bench->buffers,
               bench->operation->run(bench->job, &bench->buffers, count, NULL));
}

/* Start an operation for each set of buffers, compute, and wait for all operations. */
static int run_requests(struct ftc_perf_bench *bench, size_t count)
{
    struct ftc_perf_buffers *buffers = &bench->buffers;
    int rc = 0;

    for (int i = 0; rc == 0 && i < buffers->sets; i++) {
        struct ftc_perf_buffers own = ftc_perf_buffers_of(buffers, i);
        rc = ftc_perf_check(bench->job,
                            bench->operation->run(bench->job, &own, count, &buffers->request[i]));
    }
    if (rc != 0)
        return rc;
    bench->computed += ftc_perf_compute(bench->steps);
    int waited = ftc_wait_all(buffers->sets, buffers->request, buffers->status);
    if (buffers->request[0] != NULL) /* the wait was refused */
        return ftc_perf_check(bench->job, waited);
    for (int i = 0; rc == 0 && i < buffers->sets; i++) {
        struct ftc_perf_buffers own = ftc_perf_buffers_of(buffers, i);
        rc = end(bench, &own, buffers->status[i].error);
    }
    return rc;
}

int ftc_perf_run(struct ftc_perf_bench *bench, uint64_t times)
{
    size_t count = bench->bytes / sizeof(double);
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < times; i++)
        rc =
            bench->options->under_way > 0 ? run_requests(bench, count) : run_blocking(bench, count);
    return rc;
}
