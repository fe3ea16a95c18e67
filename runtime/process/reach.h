/* Shows in the slot which rank this rank cannot reach. Its agent reads it (docs/design/nodes.md,
 * rule 8). */
#ifndef FTC_RUNTIME_PROCESS_REACH_H
#define FTC_RUNTIME_PROCESS_REACH_H

#include "runtime/process/process.h"

/* Looks at most once in a heartbeat period. With the lock held. */
void ftc_reach_publish(struct ftc_process *process);

#endif
