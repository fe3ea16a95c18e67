/* How far operations overlap with a computation (--nonblocking). */
#ifndef FTC_CLI_PERF_OVERLAP_H
#define FTC_CLI_PERF_OVERLAP_H

#include "cli/perf/measure.h"

/*
 * Take samples of non-blocking operations; those that are under way at the same time take about
 * `us`. A sample is three batches, one after the other: operations that are started and waited for;
 * the computation alone; operations with the computation between the start and the wait. Each batch
 * ends with a barrier. The computation is about as long as the operations where all ranks compute
 * at the same time, so it is shorter where ranks share cores.
 *
 * samples[] gets the times of the first batches, and row->overlap the rest. All times are those of
 * one operation. Collective.
 */
int ftc_perf_overlap_measure(struct ftc_perf_bench *bench, double us, double samples[],
                             struct ftc_perf_row *row);

#endif
