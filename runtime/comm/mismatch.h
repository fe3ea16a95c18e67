/* Finding ranks that wait for each other in different collectives. */
#ifndef FTC_RUNTIME_COMM_MISMATCH_H
#define FTC_RUNTIME_COMM_MISMATCH_H

#include "runtime/comm/comm.h"

/*
 * To be called when a call has waited for long. If the awaited rank is in another collective of the
 * same number, this ends the job. Two ranks that wait for each other in different collectives may
 * never exchange a message that would show the mismatch.
 */
void ftc_job_look_for_mismatch(struct ftc_comm *comm);

#endif
