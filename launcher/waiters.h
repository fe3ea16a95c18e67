/* Which rank waits for which, for --timeout. */
#ifndef FTC_LAUNCHER_WAITERS_H
#define FTC_LAUNCHER_WAITERS_H

#include "launcher/ranks.h"
#include "launcher/sink.h"
#include "node/segment/segment.h"

/* Print a short table of what the ranks are doing. Then print the rank for which most of them wait
 * in the end, and the deadlocks (node/segment/chain.h). Takes FTC_CHAIN_PAUSE_NS. */
void ftc_waiters_print(struct ftc_sink *err, struct ftc_ranks *ranks, struct ftc_segment *segment);

#endif
