/* The operations under measurement, on doubles. */
#ifndef FTC_CLI_PERF_OPERATION_H
#define FTC_CLI_PERF_OPERATION_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/perf/job.h"

struct ftc_perf_buffers {
    double *send, *recv; /* bcast uses `send` */
};

struct ftc_perf_operation {
    const char *name;
    const char *what; /* "allreduce, sum of doubles" */
    bool sized;       /* takes a vector; else it is measured once */
    bool overlaps;    /* a rank may be done with it before others have come */
    bool apart;       /* not one of "all" */
    /* One operation; a code of ftcoll.h. */
    int (*run)(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers,
               size_t count);
    /* The result at this rank, of inputs by ftc_perf_operation_fill(); NULL: none. */
    const double *(*result)(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers);
    double (*expected)(const struct ftc_perf_job *job, size_t i);
    bool baseline; /* without tolerance, and not in the API: runtime/baseline.h */
};

#define FTC_PERF_OPERATIONS 9
extern const struct ftc_perf_operation ftc_perf_operations[FTC_PERF_OPERATIONS];

int ftc_perf_buffers_init(struct ftc_perf_buffers *buffers, size_t bytes);
void ftc_perf_buffers_fini(struct ftc_perf_buffers *buffers);

/* This rank's input, of small whole numbers: sums are exact. */
void ftc_perf_operation_fill(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers,
                             size_t count);
/* Is the result that of all living ranks? The first element that is not, or `count`. */
size_t ftc_perf_operation_wrong(const struct ftc_perf_operation *operation,
                                const struct ftc_perf_job *job,
                                const struct ftc_perf_buffers *buffers, size_t count);

#endif
