/*
 * A deterministic allreduce (collectives/baseline/doubling.h) on the virtual machine of
 * sim/gossip/engine.h, for comparison. Neighbourhood, turns and rounds have no meaning for it. A
 * flip of a flow or an estimate is one of the running sum; a step beyond its last message is one
 * that is drawn.
 */
#ifndef FTC_SIM_GOSSIP_EXACT_H
#define FTC_SIM_GOSSIP_EXACT_H

#include "sim/gossip/engine.h"

/* Why it cannot be: FTC_ERR_ARG, with cause and remedy. */
int ftc_exact_check(const struct ftc_gossip_run *run);
/* `outcome` is zeroed. FTC_ERR_ARG, FTC_ERR_NOMEM. */
int ftc_exact_run(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome);

#endif
