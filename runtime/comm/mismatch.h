/* Ranks that are in different collectives of a communicator: finding them, and ending the job. */
#ifndef FTC_RUNTIME_COMM_MISMATCH_H
#define FTC_RUNTIME_COMM_MISMATCH_H

#include "runtime/comm/comm.h"

/*
 * To be called when a call has waited for long. If the awaited rank is in another collective of the
 * same number, this ends the job. So it does if one of the two is in a blocking call, and the other
 * one in a request. Two ranks that wait for each other in different collectives may never exchange
 * a message that would show the mismatch.
 */
void ftc_job_look_for_mismatch(struct ftc_comm *comm);

/* Ends the job with FTC_EXIT_MISMATCH. `words` count ranks as `comm` does. */
_Noreturn void ftc_comm_end_mismatched(const struct ftc_comm *comm, const char *words);

#endif
