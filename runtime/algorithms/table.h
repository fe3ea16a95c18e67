/* The entries of the table of algorithms. Each is in the file of its name, except where a comment
 * says another. */
#ifndef FTC_RUNTIME_ALGORITHMS_TABLE_H
#define FTC_RUNTIME_ALGORITHMS_TABLE_H

#include "runtime/comm/algorithm.h"

extern const struct ftc_algorithm ftc_algorithm_board, ftc_algorithm_ring, ftc_algorithm_levels;
extern const struct ftc_algorithm ftc_algorithm_messages, ftc_algorithm_gossip;
extern const struct ftc_algorithm ftc_algorithm_flow_control;   /* runtime/comm/flow_control.c */
extern const struct ftc_algorithm ftc_algorithm_point_to_point; /* runtime/comm/point_to_point.c */
#ifdef FTC_BASELINE
extern const struct ftc_algorithm ftc_algorithm_baseline; /* cli/perf/baseline/baseline.c */
#endif

/* First those of enum ftc_choice_id, in its order, then others; NULL-terminated. */
extern const struct ftc_algorithm *const ftc_algorithms[];

/* Runs a call on the board. It is called directly and not by the table: in a job on one node the
 * board takes every call, and a call on the board takes no lock. */
int ftc_board_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive);

#endif
