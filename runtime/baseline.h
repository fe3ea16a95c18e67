/*
 * What ftcoll-perf measures gossip aggregation against: an allreduce without any tolerance. No part
 * of the API: it is exported to ftcoll-perf of the same version alone, and this header is not
 * installed.
 */
#ifndef FTC_RUNTIME_BASELINE_H
#define FTC_RUNTIME_BASELINE_H

#include "collectives/baseline/doubling.h"
#include "include/ftcoll.h"

/*
 * The sum of `count` doubles of every rank that is not agreed to have failed. Collective, by
 * messages even where there is a node board; no operation of the agreement core, so that a call
 * that does not match others hangs. FTC_ERR_ARG, FTC_ERR_NOMEM; FTC_ERR_TOO_MANY_FAILURES: a rank
 * has failed since, others may have got the result; FTC_ERR_CORRUPT: voted, and there is no
 * majority.
 */
FTC_API int ftc_baseline_allreduce(enum ftc_doubling_algorithm algorithm, const double *send,
                                   double *recv, size_t count, ftc_comm *comm);

#endif
