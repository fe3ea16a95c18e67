/* ftcoll-status --watch. */
#ifndef FTC_CLI_WATCH_H
#define FTC_CLI_WATCH_H

#include "cli/status.h"

/* Show the page every second on standard output, until the job ends, SIGINT, SIGTERM or SIGHUP
 * comes, or the output pipe is closed. Errors: FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_status_watch(struct ftc_job_status *status, struct ftc_segment *segment,
                     const struct ftc_status_view *view);

#endif
