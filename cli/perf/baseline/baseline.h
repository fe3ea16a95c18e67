/*
 * An allreduce without any tolerance of failures, against which bench/gossip measures gossip
 * aggregation. libftcoll does not have it. It is in a library for measurements, which has all of
 * libftcoll, too (runtime/CMakeLists.txt, ftcoll_baseline). ftcoll-perf uses it if it runs with
 * that library.
 */
#ifndef FTC_CLI_PERF_BASELINE_BASELINE_H
#define FTC_CLI_PERF_BASELINE_BASELINE_H

#include "collectives/baseline/doubling.h"
#include "include/ftcoll.h"

/*
 * NULL if the program runs with libftcoll. Element-wise sum of the `count` doubles of every rank
 * that is not in G. The call is collective. It uses messages even if there is a node board. It is
 * no operation of the agreement core, so a call that does not match the calls of the other ranks
 * hangs.
 * Errors: FTC_ERR_ARG, FTC_ERR_NOMEM.
 * FTC_ERR_TOO_MANY_FAILURES: a rank outside of G has failed; other ranks may have got the result.
 * FTC_ERR_CORRUPT: the algorithm votes, and its results have no majority.
 */
FTC_API __attribute__((weak)) int ftc_baseline_allreduce(enum ftc_doubling_algorithm algorithm,
                                                         const double *send, double *recv,
                                                         size_t count, ftc_comm *comm);

#endif
