/* A rank ends the whole job, because of an error that no rank can survive. */
#ifndef FTC_RUNTIME_COMM_MISMATCH_H
#define FTC_RUNTIME_COMM_MISMATCH_H

#include "runtime/comm/comm.h"

/* Logs why, asks the launcher to end all ranks with `exit_code`, and ends this process. If several
 * ranks ask, the first one's exit code counts. */
_Noreturn void ftc_comm_end_job(struct ftc_comm *comm, int exit_code, const char *why);

/*
 * To be called when a call has waited for long. If the awaited rank is in another collective of the
 * same number, this ends the job. Two ranks that wait for each other in different collectives may
 * never exchange a message that would show the mismatch.
 */
void ftc_job_look_for_mismatch(struct ftc_comm *comm);

#endif
