/* The operations under measurement, on doubles. */
#ifndef FTC_CLI_PERF_OPERATION_H
#define FTC_CLI_PERF_OPERATION_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/perf/job.h"

/* For each operation that is under way at the same time there is a set of two buffers. */
struct ftc_perf_buffers {
    double *send, *recv;     /* of the first set; bcast uses only `send` */
    size_t *counts, *displs; /* of the functions that take a count for each rank: all alike */
    int sets;
    size_t stride; /* from one set to the next, in doubles */
    ftc_request **request;
    ftc_status *status;
};

struct ftc_perf_operation {
    const char *name;
    const char *what; /* such as "allreduce, sum of doubles" */
    bool sized;       /* takes a vector; if false, it is measured once */
    bool overlaps;    /* a rank may have finished it before other ranks have called it */
    bool apart;       /* is not one of "all" */
    bool blocks;      /* has no non-blocking form */
    /* Of an operation of messages: how many of them one of its runs takes. A figure is the time of
     * one. 0: it is no such operation. */
    int messages;
    /* The size is that of one block. `send`, or the result, has a block for each rank, or
     * for each message that is under way at the same time. */
    bool sends_blocks, gets_blocks;
    /* Run the operation once, or if `request` is not NULL, start it. Returns a code of ftcoll.h. */
    int (*run)(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers, size_t count,
               ftc_request **request);
    /* Give up what the operation has made. The time of this counts. NULL: it makes nothing. */
    int (*finish)(const struct ftc_perf_buffers *buffers);
    /* Returns the result at this rank, for inputs by ftc_perf_operation_fill(), or NULL if this
     * rank has none. */
    const double *(*result)(const struct ftc_perf_job *job, const struct ftc_perf_buffers *buffers);
    /* Element i of a block of the result. Elements repeat after a few. */
    double (*expected)(const struct ftc_perf_job *job, size_t count, int block, size_t i);
    bool baseline; /* tolerates no failures and is not in the API: baseline/baseline.h */
};

#define FTC_PERF_OPERATIONS 25
extern const struct ftc_perf_operation ftc_perf_operations[FTC_PERF_OPERATIONS];

/* How many blocks the larger one of its buffers has. */
size_t ftc_perf_operation_blocks(const struct ftc_perf_operation *operation,
                                 const struct ftc_perf_job *job);

/* `bytes`: of a buffer. */
int ftc_perf_buffers_init(struct ftc_perf_buffers *buffers, size_t bytes, int ranks, int sets);
void ftc_perf_buffers_fini(struct ftc_perf_buffers *buffers);
/* The same with one set, the `set`-th. It is a view, and owns nothing. */
struct ftc_perf_buffers ftc_perf_buffers_of(const struct ftc_perf_buffers *buffers, int set);

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
