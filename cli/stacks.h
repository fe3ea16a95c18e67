/* Stacks of the ranks' processes. */
#ifndef FTC_CLI_STACKS_H
#define FTC_CLI_STACKS_H

#include "cli/status.h"

/* Fill status->stack for each rank of this host that has a process, with its stack or the reason
 * why there is none. Call it once for a status. It takes a minute at most and stops each process
 * for less than half of the heartbeat timeout. Error: FTC_ERR_NOMEM. */
int ftc_status_stacks(struct ftc_job_status *status);

#endif
