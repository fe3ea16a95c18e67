/* Requests: operations from their call to their result (comm.h, struct ftc_request). All functions
 * run under process->lock. */
#ifndef FTC_RUNTIME_COMM_REQUEST_H
#define FTC_RUNTIME_COMM_REQUEST_H

#include "runtime/comm/comm.h"

/* Starts a call by the first algorithm at or behind `from` that takes it (ftc_choice_of()). Does
 * not wait. `call`, what it points to, and `receive` must live until the request is done. */
void ftc_request_start(struct ftc_comm *comm, struct ftc_request *request,
                       const struct ftc_call *call, void *receive, enum ftc_choice_id from);

/* Does all that can be done now. True: the request is done, and request->status is its result. Does
 * not wait, and must not be called again after it returned true. */
bool ftc_request_advance(struct ftc_comm *comm, struct ftc_request *request);

/* Begins the next operation, and waits while a settlement holds it back, or until the communicator
 * is revoked. */
void ftc_request_begin(struct ftc_comm *comm);

/* Starts a call, and waits until it is done. Returns its result; FTC_ERR_REVOKED if the
 * communicator is revoked first. */
int ftc_request_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive,
                    enum ftc_choice_id from);

/* --- for algorithms that give a call to the member --- */

/* May the call begin? It may when its receivers are not too far behind (flow_control.h). Then this
 * rank takes in failures: a process that was declared failed must not act. And no settlement may
 * hold it back (ftc_comm_begin()). */
bool ftc_request_may_begin(struct ftc_comm *comm, struct ftc_request *request);
/* Gives `call` to the member, which decides it for `request`. It is the call of the request, or
 * what an algorithm makes of it. False: the call cannot be made; request->status says why. */
bool ftc_request_decide(struct ftc_comm *comm, struct ftc_request *request,
                        const struct ftc_call *call);

#endif
