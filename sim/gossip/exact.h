/*
 * A deterministic allreduce (collectives/baseline/doubling.h) on the virtual machine of
 * sim/gossip/engine.h, for comparison. It ignores neighbourhood and turns. In rounds each step of
 * the algorithm is a round. A flip of a flow or an estimate flips a bit of the running sum. If the
 * step of a flip lies beyond the last message, a step is drawn instead.
 */
#ifndef FTC_SIM_GOSSIP_EXACT_H
#define FTC_SIM_GOSSIP_EXACT_H

#include "sim/gossip/engine.h"

/* FTC_ERR_ARG, with cause and remedy: this run is not possible. */
int ftc_exact_check(const struct ftc_gossip_run *run);
/* `outcome` must be zeroed. FTC_ERR_ARG, FTC_ERR_NOMEM. */
int ftc_exact_run(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome);

#endif
