/* Running one collective call of the API to its end. */
#ifndef FTC_RUNTIME_CALL_H
#define FTC_RUNTIME_CALL_H

#include "runtime/comm.h"

/* May this process use it? FTC_ERR_ARG if it is NULL, FTC_ERR_STATE in a child made by fork(). */
int ftc_call_check(const struct ftc_comm *comm);

/* The caller comes in: it drives from now on. */
void ftc_call_enter(struct ftc_comm *comm);
void ftc_call_leave(struct ftc_comm *comm);

/* Call and wait, by messages, between enter and leave. */
int ftc_call_wait(struct ftc_comm *comm, const struct ftc_call *call, void *receive);

/* Enter, call, wait, leave. The result goes to `receive` (NULL: nowhere) on success. */
int ftc_call_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive);

#endif
