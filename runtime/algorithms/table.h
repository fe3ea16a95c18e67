/* The entries of the table of algorithms. Each is in the file of its name, except where a comment
 * says another. */
#ifndef FTC_RUNTIME_ALGORITHMS_TABLE_H
#define FTC_RUNTIME_ALGORITHMS_TABLE_H

#include "runtime/comm/algorithm.h"

extern const struct ftc_algorithm ftc_algorithm_board, ftc_algorithm_ring, ftc_algorithm_levels;
extern const struct ftc_algorithm ftc_algorithm_messages, ftc_algorithm_gossip;
extern const struct ftc_algorithm ftc_algorithm_flow_control; /* runtime/comm/flow_control.c */
#ifdef FTC_BASELINE
extern const struct ftc_algorithm ftc_algorithm_baseline; /* cli/perf/baseline/baseline.c */
#endif

#endif
