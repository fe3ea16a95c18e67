/* Flow control. Plain reduces and broadcasts do not wait for their receivers, so a sender could run
 * far ahead. Flow control may delay the start of a later operation (agreement.md, "plain reduce").
 * All functions run under comm->lock. */
#ifndef FTC_RUNTIME_COMM_FLOW_CONTROL_H
#define FTC_RUNTIME_COMM_FLOW_CONTROL_H

#include "runtime/comm/algorithm.h"

/* Before a call: waits until the receivers of the call are not too far behind. */
void ftc_flow_control_wait(struct ftc_comm *comm, const struct ftc_call *call);

/* Answers the ranks that wait for this rank to come as far as it is now. To be called after each
 * call of an operation and after each message of flow control. */
void ftc_flow_control_answer(struct ftc_comm *comm);

#endif
