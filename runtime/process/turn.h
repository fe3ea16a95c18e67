/*
 * Several threads of callers in one process (docs/design/communicators.md, C10). One of those that
 * wait is the *driver*: it takes the steps for all communicators, and sleeps for all. The others
 * wait until a step did something, or until they become the driver. Between two steps, and while it
 * sleeps, the driver gives up the lock, so that other threads can start operations.
 */
#ifndef FTC_RUNTIME_PROCESS_TURN_H
#define FTC_RUNTIME_PROCESS_TURN_H

#include "runtime/process/process.h"

void ftc_turn_init(struct ftc_turn *turn);
void ftc_turn_fini(struct ftc_turn *turn);

/* Takes the lock for a look, and gives it back. The driver and the progress thread stop for it
 * between two steps. The caller takes no steps meanwhile. */
void ftc_turn_lock(struct ftc_process *process);
void ftc_turn_unlock(struct ftc_process *process);
/* Has the thread found the lock held, and left something for the time after? Then nudge it. Call
 * this after the unlock. */
bool ftc_turn_missed(struct ftc_process *process);
/* A caller comes: takes the lock. True: it is the only one that is in the library. */
bool ftc_turn_enter(struct ftc_process *process);
/* A caller leaves, with the lock, which it keeps. True: it was the only one. */
bool ftc_turn_leave(struct ftc_process *process);
/* The progress thread takes the lock if it is free and no caller is in the library. Otherwise it
 * has nothing to do: the caller sees to all. */
bool ftc_turn_try(struct ftc_process *process);

/* --- for a caller that waits, with the lock --- */

/* Another caller is the driver: waits until something has changed, and for `longest_ns` at most if
 * that is not 0. False: this caller is the driver now, and takes steps until ftc_turn_pass(). */
bool ftc_turn_wait(struct ftc_process *process, uint64_t longest_ns);
/* Lets callers in that want the lock. `changed`: the step did something, so others look again. */
void ftc_turn_yield(struct ftc_process *process, bool changed);
/* A caller that is not the driver has changed something: the driver and those that wait look
 * again. */
void ftc_turn_changed(struct ftc_process *process);
/* This caller is the driver no longer: its wait is over. */
void ftc_turn_pass(struct ftc_process *process);
/* Lets other processes run, and shows that (struct ftc_slot, gives_way). With the lock. */
void ftc_turn_give_way(struct ftc_process *process);
/* The driver gives up the lock while it sleeps. A caller that comes meanwhile wakes it when it
 * waits or leaves. */
void ftc_turn_sleep(struct ftc_process *process);
void ftc_turn_awake(struct ftc_process *process);

#endif
