/*
 * The progress thread. It increments the heartbeat and watches the launcher. While the caller is
 * outside of the library it drives the member, so that this rank still answers for operations that
 * have returned (agreement.md, rule 8).
 */
#ifndef FTC_RUNTIME_PROCESS_THREAD_H
#define FTC_RUNTIME_PROCESS_THREAD_H

#include "runtime/process/process.h"

int ftc_thread_start(struct ftc_process *process); /* FTC_ERR_SYSTEM, FTC_ERR_NOMEM */
void ftc_thread_stop(
    struct ftc_process *process); /* joins the thread; legal if it was never started */

/* Makes the thread look, for example after a call that leaves work or a timer behind. */
void ftc_thread_nudge(struct ftc_process *process);

/* Called by the thread: takes in what came, unless the caller is in the library. */
void ftc_thread_drive(struct ftc_process *process);

#endif
