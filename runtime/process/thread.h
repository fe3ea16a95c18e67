/*
 * The progress thread. It increments the heartbeat and watches the launcher. While the caller is
 * outside of the library it drives the communicators, so that this rank still answers for
 * operations that have returned (agreement.md, rule 8).
 */
#ifndef FTC_RUNTIME_PROCESS_THREAD_H
#define FTC_RUNTIME_PROCESS_THREAD_H

#include "runtime/process/process.h"

int ftc_thread_start(struct ftc_process *process); /* FTC_ERR_SYSTEM, FTC_ERR_NOMEM */
/* Joins the thread. Legal if it was never started. */
void ftc_thread_stop(struct ftc_process *process);

/* Makes the thread look, for example after a call that leaves work or a timer behind. Any thread
 * may call it. */
static inline void ftc_thread_nudge(struct ftc_process *process)
{
    ev_async_send(process->thread.loop, &process->thread.nudge);
}

#endif
