/* The operations under measurement, on doubles. */
#ifndef FTC_CLI_PERF_OPERATION_H
#define FTC_CLI_PERF_OPERATION_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/perf/job.h"

struct ftc_perf_buffers {
    double *send, *recv;     /* bcast uses only `send` */
    size_t *counts, *displs; /* of the functions that take a count for each rank: all alike */
};

struct ftc_perf_operation {
    const char *name;
    const char *what; /* such as "allreduce, sum of doubles" */
    bool sized;       /* takes a vector; if false, it is measured once */
    bool overlaps;    /* a rank may have finished it before other ranks have called it */
    bool apart;       /* is not one of "all" */
    /* The size is that of one block. `send`, or the result, has a block for each rank. */
    bool sends_blocks, gets_blocks;
    /* Run the operation once. Returns a code of ftcoll.h. */
    int (*run)(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers,
               size_t count);
    /* Returns the result at this rank, for inputs by ftc_perf_operation_fill(), or NULL if this
     * rank has none. */
    const double *(*result)(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers);
    /* Element i of a block of the result. Elements repeat after a few. */
    double (*expected)(const struct ftc_perf_job *job, size_t count, int block, size_t i);
    bool baseline; /* tolerates no failures and is not in the API: baseline/baseline.h */
};

#define FTC_PERF_OPERATIONS 21
extern const struct ftc_perf_operation ftc_perf_operations[FTC_PERF_OPERATIONS];

/* How many blocks the larger one of its buffers has. */
size_t ftc_perf_operation_blocks(const struct ftc_perf_operation *operation,
                                 const struct ftc_perf_job *job);

int ftc_perf_buffers_init(struct ftc_perf_buffers *buffers, size_t bytes, int ranks);
void ftc_perf_buffers_fini(struct ftc_perf_buffers *buffers);

/* Fill in the input of this rank: small whole numbers, so that sums are exact. */
void ftc_perf_operation_fill(const struct ftc_perf_operation *operation,
                             const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers,
                             size_t count);
/* Check that the result is that of all living ranks. Returns the first wrong element, or `count` if
 * all are right. */
size_t ftc_perf_operation_wrong(const struct ftc_perf_operation *operation,
                                const struct ftc_perf_job *job,
                                const struct ftc_perf_buffers *buffers, size_t count);

#endif
