/* Runs the operation under measurement. */
#include "cli/perf/measure.h"

/* With the codes -20 to -29 of ftcoll.h the operation failed, but the communicator is usable. */
static bool may_be_repeated(int rc)
{
    return rc <= FTC_ERR_ROOT_FAILED && rc > FTC_ERR_FENCED;
}

int ftc_perf_run(struct ftc_perf_bench *bench, uint64_t times)
{
    size_t count = bench->bytes / sizeof(double);

    for (uint64_t i = 0; i < times; i++) {
        int rc = bench->operation->run(bench->job, &bench->buffers, count);
        if (rc == FTC_SUCCESS)
            continue;
        if (!may_be_repeated(rc))
            return ftc_perf_check(bench->job, rc);
        bench->failed = true;
        bench->cause = ftc_strerror(rc);
    }
    return 0;
}
