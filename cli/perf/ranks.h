/* Latency of each rank (--per-rank), and how far the ranks are apart. */
#ifndef FTC_CLI_PERF_RANKS_H
#define FTC_CLI_PERF_RANKS_H

#include "cli/perf/measure.h"

/* Check that all ranks read the same clock. Collective. */
int ftc_perf_ranks_check(struct ftc_perf_job *job);

/*
 * Take samples of an operation that takes about `us`. All ranks call together, at moments that they
 * have agreed on: after a barrier they would not, since a barrier lets them go one after the other,
 * as the operation does. The time of a rank is that from the call of the lowest living rank, which
 * is the root, until the rank has returned; 0 if it returns before.
 *
 * samples[] gets the time of the slowest rank, row->rank[] and row->spread the rest. Collective.
 */
int ftc_perf_ranks_measure(struct ftc_perf_bench *bench, double us, double samples[],
                           struct ftc_perf_row *row);

#endif
