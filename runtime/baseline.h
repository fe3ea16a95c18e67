/*
 * An allreduce without any tolerance of failures. ftcoll-perf measures gossip aggregation against
 * it. It is no part of the API: only ftcoll-perf of the same version may use it, and this header is
 * not installed.
 */
#ifndef FTC_RUNTIME_BASELINE_H
#define FTC_RUNTIME_BASELINE_H

#include "collectives/baseline/doubling.h"
#include "include/ftcoll.h"

/*
 * Element-wise sum of the `count` doubles of every rank that is not in G. The call is collective.
 * It uses messages even if there is a node board. It is no operation of the agreement core, so a
 * call that does not match the calls of the other ranks hangs.
 * Errors: FTC_ERR_ARG, FTC_ERR_NOMEM.
 * FTC_ERR_TOO_MANY_FAILURES: a rank outside of G has failed; other ranks may have got the result.
 * FTC_ERR_CORRUPT: the algorithm votes, and its results have no majority.
 */
FTC_API int ftc_baseline_allreduce(enum ftc_doubling_algorithm algorithm, const double *send,
                                   double *recv, size_t count, ftc_comm *comm);

#endif
