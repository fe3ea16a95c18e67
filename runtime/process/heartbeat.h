/*
 * The heartbeat of a process (docs/design/architecture.md, "What a heartbeat attests"). The
 * progress thread beats. While it runs an operator of the program, which may take any time, a
 * second thread beats in its place. The second thread takes no lock. It is started with the first
 * operator that the progress thread runs.
 */
#ifndef FTC_RUNTIME_PROCESS_HEARTBEAT_H
#define FTC_RUNTIME_PROCESS_HEARTBEAT_H

#include "runtime/process/process.h"

/* Beats, and ends the process if its node has lost the lease. */
void ftc_heartbeat_beat(struct ftc_process *process);
/* Ends the process if the launcher is gone. */
void ftc_heartbeat_check_launcher(struct ftc_process *process);

/* The calling thread is the progress thread of `process`. */
void ftc_heartbeat_begin(struct ftc_process *process);
/* The calling thread begins or ends an operator of the program. Does nothing if it is not a
 * progress thread. */
void ftc_heartbeat_operator(bool runs);
/* Joins the second thread, if there is one. The progress thread has ended. */
void ftc_heartbeat_stop(struct ftc_process *process);

#endif
