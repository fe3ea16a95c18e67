/* Drives the communicators of a process: gives them failures, timers and messages. All functions
 * run under process->lock. */
#ifndef FTC_RUNTIME_PROCESS_PROGRESS_H
#define FTC_RUNTIME_PROCESS_PROGRESS_H

#include "runtime/process/process.h"

/* `rc` is what an input of a communicator, or something else that must not fail, returned. Does
 * nothing if it is 0. FTC_ERR_SYSTEM ends the job, any other error ends this process. */
void ftc_progress_must(struct ftc_process *process, int rc);

/* Asks the launcher to fence `rank`, which broke the protocol. `what` says how, for the log. */
void ftc_progress_accuse(struct ftc_process *process, int rank, const char *what);

/* `rc` is what an input returned that was a message of the job's rank `from`. FTC_ERR_PROTO: it is
 * accused. Otherwise as ftc_progress_must(). */
void ftc_progress_took(struct ftc_process *process, int from, int rc);

/* A communicator gets work: a message, a timer, `more`, `waits`, `polls` or `copies`. Steps look at
 * it until it has none of these any more. */
void ftc_progress_activate(struct ftc_process *process, struct ftc_driven *driven);
/* Nothing looks at it any more. */
void ftc_progress_rest(struct ftc_process *process, struct ftc_driven *driven);

/* Sets when a timer of a communicator is due. 0: no timer is set. */
void ftc_progress_due(struct ftc_process *process, struct ftc_driven *driven, uint64_t due_ns);

/* Takes in failures, due timers and messages, as far as there are any, and sends queued messages.
 * True if there was anything to take in. */
bool ftc_progress_step(struct ftc_process *process);

/* What a look for messages of one kind has found. */
enum ftc_found { FTC_FOUND_NOTHING, FTC_FOUND_MESSAGE, FTC_FOUND_OTHER };
/* Takes one message from the transport, and does nothing else. FTC_FOUND_MESSAGE: it is of this
 * kind (collectives/frame.h) and of this communicator. The caller takes it in, and gets its
 * reference. *from is the rank of the job. FTC_FOUND_OTHER: it was another one, or damaged, and is
 * taken in. Steps have to follow. */
enum ftc_found ftc_progress_receive(struct ftc_process *process, const struct ftc_driven *of,
                                    int kind, int *from, struct ftc_buffer **message);

/* Does all that is under way wait for what other ranks of the node write to memory? */
bool ftc_progress_awaits_memory(const struct ftc_process *process);

/* Is there anything to take in? For the look before a sleep. */
bool ftc_progress_ready(struct ftc_process *process);
/* The same question, but without a look at the sockets. */
bool ftc_progress_ready_but_sockets(struct ftc_process *process);

/* Takes in failures only: those that the detector has told since the last time. True if any. */
bool ftc_progress_failures(struct ftc_process *process);

/* How long a rank that has nothing to take in may sleep: until the next timer is due, and a
 * heartbeat period at most, in case a ring gets lost. */
uint64_t ftc_progress_sleep_ns(const struct ftc_process *process);
/* How the thread sleeps while no caller is in the library: FTC_SLEEP_WORK or FTC_SLEEP_SOCKET. */
static inline enum ftc_sleep ftc_progress_sleep(const struct ftc_process *process)
{
    return process->works ? FTC_SLEEP_WORK : FTC_SLEEP_SOCKET;
}

#endif
