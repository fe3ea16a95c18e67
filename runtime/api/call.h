/* Running one collective call of the API to its end. */
#ifndef FTC_RUNTIME_API_CALL_H
#define FTC_RUNTIME_API_CALL_H

#include "runtime/choice/choice.h"
#include "runtime/comm/comm.h"

/* May this process use the communicator? FTC_ERR_ARG if it is NULL, FTC_ERR_STATE in a child made
 * by fork(). */
int ftc_call_check_comm(const struct ftc_comm *comm);
/* The same, for a call that may take the lock: FTC_ERR_STATE also while an operator runs here. */
int ftc_call_check(const struct ftc_comm *comm);

/* Checks as ftc_call_check(), and gives the communicator to this thread until ftc_call_end(), which
 * returns `rc`. Every call of the API but ftc_rank(), ftc_size() and ftc_abort() runs between the
 * two. FTC_ERR_STATE also if another thread is in a call: two calls at once would count operations
 * in another way than the other ranks do. */
int ftc_call_begin(const struct ftc_comm *comm);
int ftc_call_end(const struct ftc_comm *comm, int rc);

/* Between the two the caller holds comm->process->lock and drives the member. */
void ftc_call_enter(struct ftc_comm *comm);
void ftc_call_leave(struct ftc_comm *comm);
/* The same where the slot shows nothing of the call, since no wait has slept. */
void ftc_call_leave_unseen(struct ftc_comm *comm);
/* The same where the communicator is gone, or another thread may be in a call on it. */
void ftc_call_leave_process(struct ftc_process *process);

/* Runs a whole call, from ftc_call_enter() to ftc_call_leave(), or on the board. On success the
 * result is in `receive` (NULL: nowhere). */
int ftc_call_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive);

/* The communicator is revoked, and the caller is told so. Returns FTC_ERR_REVOKED. */
int ftc_call_revoked(struct ftc_comm *comm);

/* This thread has moved operations on that were started on the board (mover.h): goes on with those
 * that wait for them. Without the lock. */
void ftc_call_moved(struct ftc_comm *comm);
/* Waits until all that was started has ended. Without the lock. */
void ftc_call_drain(struct ftc_comm *comm);

/* A call begins, and its communicator has a bit of `detour` set. Waits for the requests that were
 * started before it. FTC_ERR_REVOKED: the communicator is revoked, and the caller is told so. */
int ftc_call_detour(struct ftc_comm *comm);

/* Puts the cause of `rc`, which `call` has returned, into words (ftc_last_error()). Returns it. */
int ftc_call_explain(struct ftc_comm *comm, const struct ftc_call *call, int rc);

/* Tell tracers that a call of the API starts, or ends with `rc`, and record it in the history.
 * `signature` stays as it is until the end. The first returns the number for the second, which
 * returns `rc`. */
uint64_t ftc_call_starts(struct ftc_comm *comm, const struct ftc_signature *signature);
int ftc_call_ends(struct ftc_comm *comm, const struct ftc_signature *signature, uint64_t number,
                  int rc);

#endif
