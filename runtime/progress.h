/* Driving a member: failures, timers and messages in, outputs out, and waiting. All under
 * comm->lock. */
#ifndef FTC_RUNTIME_PROGRESS_H
#define FTC_RUNTIME_PROGRESS_H

#include "runtime/comm.h"

/* What an input returned: what cannot be gone on from ends this process, or the job. */
void ftc_progress_must(struct ftc_comm *comm, int rc);

/* `rank` broke the protocol, in words: the launcher shall fence it. */
void ftc_progress_accuse(struct ftc_comm *comm, int rank, const char *what);

/* When the timer of the algorithm is due that has one; 0: none. */
void ftc_progress_algorithm_due(struct ftc_comm *comm, uint64_t due_ns);

/* Carry out what the member wants. Leaves the process when it was declared failed or cannot go
 * on. */
void ftc_progress_outputs(struct ftc_comm *comm);

/* Take in what there is: failures, a due timer, messages; push queued messages. True if anything
 * happened. */
bool ftc_progress_step(struct ftc_comm *comm);

/* Anything to take in? For the look before a sleep. */
bool ftc_progress_ready(struct ftc_comm *comm);
/* ... other than at sockets? */
bool ftc_progress_ready_but_sockets(struct ftc_comm *comm);

/* Only the failures: what the detector has told since. */
bool ftc_progress_failures(struct ftc_comm *comm);

/* What a call waits for. */
struct ftc_until {
    bool (*done)(struct ftc_comm *comm, void *arg);
    void *arg;
    enum ftc_wait wait;  /* for ftcoll-status; FTC_WAIT_NOTHING: ask the member */
    uint64_t longest_ns; /* of one sleep; 0: a heartbeat period, the backstop of a lost ring */
};

/* Step until it is done: spin while cores are free, then yield, then sleep on the futex. */
void ftc_progress_until(struct ftc_comm *comm, const struct ftc_until *until);

#endif
