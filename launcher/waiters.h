/* Who waits for whom: for --timeout. */
#ifndef FTC_LAUNCHER_WAITERS_H
#define FTC_LAUNCHER_WAITERS_H

#include "launcher/ranks.h"
#include "launcher/sink.h"
#include "node/segment/segment.h"

/* Print a short table of what the ranks are doing, and the rank that most of them wait for in the
 * end. */
void ftc_waiters_print(struct ftc_sink *err, struct ftc_ranks *ranks, struct ftc_segment *segment);

#endif
