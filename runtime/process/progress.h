/* Drives the member: gives it failures, timers and messages, carries out its outputs, and waits.
 * All functions run under comm->lock. */
#ifndef FTC_RUNTIME_PROCESS_PROGRESS_H
#define FTC_RUNTIME_PROCESS_PROGRESS_H

#include "runtime/comm/comm.h"

/* `rc` is what an input of the member, or something else that must not fail, returned. Does nothing
 * if it is 0. FTC_ERR_SYSTEM ends the job, any other error ends this process. */
void ftc_progress_must(struct ftc_comm *comm, int rc);

/* Asks the launcher to fence `rank`, which broke the protocol. `what` says how, for the log. */
void ftc_progress_accuse(struct ftc_comm *comm, int rank, const char *what);

/* Sets the timer of the algorithm that needs one. 0 ends it. */
void ftc_progress_algorithm_due(struct ftc_comm *comm, uint64_t due_ns);

/* Carries out the outputs of the member. Ends the process if it was declared failed or cannot go
 * on. */
void ftc_progress_outputs(struct ftc_comm *comm);

/* Takes in failures, due timers and messages, as far as there are any, and sends queued messages.
 * True if there was anything to take in. */
bool ftc_progress_step(struct ftc_comm *comm);

/* Is there anything to take in? For the look before a sleep. */
bool ftc_progress_ready(struct ftc_comm *comm);
/* The same question, but without a look at the sockets. */
bool ftc_progress_ready_but_sockets(struct ftc_comm *comm);

/* Takes in failures only: those that the detector has told since the last time. True if any. */
bool ftc_progress_failures(struct ftc_comm *comm);

/* What a call waits for. */
struct ftc_until {
    bool (*done)(struct ftc_comm *comm, void *arg);
    void *arg;
    enum ftc_wait wait;  /* shown in the slot; FTC_WAIT_NOTHING: the member knows what it is */
    uint64_t longest_ns; /* bound of one sleep; 0: a heartbeat period, in case a ring gets lost */
};

/* Steps until it is done. While nothing happens it spins, then yields, then sleeps (comm.h, struct
 * ftc_patience). */
void ftc_progress_until(struct ftc_comm *comm, const struct ftc_until *until);

#endif
