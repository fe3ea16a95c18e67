/* Latency of one operation at one size. */
#ifndef FTC_CLI_PERF_MEASURE_H
#define FTC_CLI_PERF_MEASURE_H

#include "cli/perf/job.h"
#include "cli/perf/operation.h"
#include "cli/perf/options.h"

/* What is measured, and with what. */
struct ftc_perf_bench {
    struct ftc_perf_job *job;
    const struct ftc_perf_options *options;
    const struct ftc_perf_operation *operation;
    struct ftc_perf_buffers buffers;
    size_t bytes; /* 0 for an operation without a vector */
    bool failed;  /* an operation failed at this rank and may be repeated; `cause` says why */
    const char *cause;
    struct ftc_perf_how how; /* how the operation ran that was checked */
    uint64_t steps;          /* of the computation between start and wait: ftc_perf_compute() */
    double computed;         /* by it */
};

/* What the last gossip aggregation took. Each value is the greatest over the ranks, except
 * barrier_us: it is that of the rank that converged last. */
struct ftc_perf_gossip {
    const char *algorithm, *neighbourhood; /* NULL: there was no gossip aggregation */
    double accuracy;
    double messages, attempts;
    double gossip_us, barrier_us, agreement_us;
};

/* Times of a rank, from the call of the lowest living rank: ranks.h. -1: the rank had failed. */
struct ftc_perf_rank {
    double median, p99;
};

/* With --nonblocking, for one operation: overlap.h. */
struct ftc_perf_overlap {
    double compute; /* the computation alone */
    double both;    /* the operation, with the computation between its start and the wait */
    double percent; /* 100 (1 - (both - compute) / median), from 0 to 100 */
};

/* Times in microseconds. */
struct ftc_perf_row {
    size_t bytes;
    int ranks; /* living ranks */
    int samples, batch;
    double median, p99, least, most;
    struct ftc_perf_how how;
    struct ftc_perf_gossip gossip;
    struct ftc_perf_overlap overlap;
    struct ftc_perf_rank *rank; /* by rank; NULL without --per-rank */
    double spread;              /* with --per-rank: between the first and the last rank */
};

/* run.c: run the operation `times` times; with --nonblocking, that many times as many operations
 * as are to be under way. An operation that fails because ranks failed is noted in bench->failed.
 */
int ftc_perf_run(struct ftc_perf_bench *bench, uint64_t times);
/* Check a result, and warm up. *us is then the time of an operation in a quick batch, the same at
 * every rank. */
int ftc_perf_warm_up(struct ftc_perf_bench *bench, double *us);
/* Measure the operation with the size of `bench`, and measure again if a rank died meanwhile.
 * Collective. Every rank gets the same row. */
int ftc_perf_measure(struct ftc_perf_bench *bench, struct ftc_perf_row *row);

#endif
