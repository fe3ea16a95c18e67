/* Stacks of the ranks' processes. */
#ifndef FTC_CLI_STACKS_H
#define FTC_CLI_STACKS_H

#include "cli/status.h"

/* Fill status->stack for each rank of this host that has a process: its stack, or why there is
 * none. Once for a status; takes a minute at the most, and stops each process for less than half of
 * the heartbeat timeout. FTC_ERR_NOMEM. */
int ftc_status_stacks(struct ftc_status *status);

#endif
