/* Ending the whole job from a rank: what no rank can survive alone. */
#ifndef FTC_RUNTIME_JOB_END_H
#define FTC_RUNTIME_JOB_END_H

#include "runtime/comm.h"

/* Say why, ask the launcher to end everybody with `exit_code` (the first one to ask wins), and
 * leave. */
_Noreturn void ftc_comm_end_job(struct ftc_comm *comm, int exit_code, const char *why);

/*
 * A call has waited for long: is the rank it waits for in another collective of the same number?
 * Two ranks that wait for each other in different collectives may never exchange a message that
 * would show it. Ends the job if so.
 */
void ftc_job_look_for_mismatch(struct ftc_comm *comm);

#endif
