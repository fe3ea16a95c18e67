/*
 * The gate between the progress thread and the transport's descriptor. While the gate is open the
 * thread watches the descriptor. While the caller is in the library the gate is shut and the caller
 * watches the descriptor: otherwise each message would wake both. Only the thread may touch libev's
 * watchers, so the descriptor lies in an epoll of its own, which the caller can shut and open by
 * one system call. If calls follow one another closely even this call costs more than it saves.
 * Then the gate stays shut between calls, and the thread looks every 2 ms whether calls still come.
 */
#ifndef FTC_RUNTIME_PROCESS_GATE_H
#define FTC_RUNTIME_PROCESS_GATE_H

#include "runtime/process/process.h"

/* Makes the gate, open. When the descriptor is readable the thread calls `drive`. The gate is added
 * to the thread's loop, which must not run yet. FTC_ERR_SYSTEM. */
int ftc_gate_make(struct ftc_process *process, void (*drive)(struct ftc_process *process));
void ftc_gate_drop(struct ftc_process *process);

/* A call begins. With the lock held. */
void ftc_gate_enter(struct ftc_process *process);
/* A call ends. With the lock still held. True: call ftc_gate_open() after the unlock; the thread
 * then also finds what has arrived before. */
bool ftc_gate_leave(struct ftc_process *process);
void ftc_gate_open(struct ftc_process *process);
/* Does the gate stay shut between calls? With the lock held. */
bool ftc_gate_is_shut(const struct ftc_process *process);

/* Called by the thread when it was nudged: starts the tick if the gate stays shut. */
void ftc_gate_nudged(struct ftc_process *process);

#endif
