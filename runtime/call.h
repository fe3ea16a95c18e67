/* Running one collective call of the API to its end. */
#ifndef FTC_RUNTIME_CALL_H
#define FTC_RUNTIME_CALL_H

#include "runtime/comm.h"

/* May this process use it? FTC_ERR_ARG if it is NULL, FTC_ERR_STATE in a child made by fork(). */
int ftc_call_check(const struct ftc_comm *comm);

/* ... and it is this thread's from here to ftc_call_end(), which returns `rc`. Every call of the
 * API but ftc_rank(), ftc_size() and ftc_abort() goes between the two. FTC_ERR_STATE also where
 * another thread is in a call: two at once would count operations that the other ranks do not. */
int ftc_call_begin(const struct ftc_comm *comm);
int ftc_call_end(const struct ftc_comm *comm, int rc);

/* The caller comes in: it drives from now on. */
void ftc_call_enter(struct ftc_comm *comm);
void ftc_call_leave(struct ftc_comm *comm);

struct ftc_algorithm;

/* Call and wait, between enter and leave, by the first algorithm behind `after` that takes the call;
 * NULL: of all. */
int ftc_call_wait(struct ftc_comm *comm, const struct ftc_call *call, void *receive,
                  const struct ftc_algorithm *after);

/* For algorithms that give the call to the member. Around it go flow control, a look for failures
 * and what the slot shows; `go` returns when the call is delivered, or why it cannot be made. */
int ftc_call_agree(struct ftc_comm *comm, const struct ftc_call *call, void *receive,
                   int (*go)(struct ftc_comm *comm, const struct ftc_call *call));
void ftc_call_await_delivery(struct ftc_comm *comm);

/* Enter, call, wait, leave. The result goes to `receive` (NULL: nowhere) on success. */
int ftc_call_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive);

/* The number of the next operation, from 0 on. The caller's; no lock is needed. */
uint64_t ftc_call_number(const struct ftc_comm *comm);

/* For tracers: a call of the API begins, and ends. Not called without probes. */
void ftc_call_probe_start(int kind, uint64_t number, uint64_t size);
void ftc_call_probe_end(int kind, uint64_t number, uint64_t size, int status);

#endif
