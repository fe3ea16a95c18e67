/* Flow control. Plain reduces and broadcasts do not wait for their receivers, so a sender could run
 * far ahead. Flow control may delay the start of a later operation (agreement.md, "plain reduce").
 * All functions run under process->lock. */
#ifndef FTC_RUNTIME_COMM_FLOW_CONTROL_H
#define FTC_RUNTIME_COMM_FLOW_CONTROL_H

#include "runtime/comm/algorithm.h"

/* Ranks of this node do not ring for room. So a rank that waits for it looks so often. */
#define FTC_ROOM_LOOK_NS 200000ull

/* Notes the size of the call that comes next. */
void ftc_flow_control_note(struct ftc_comm *comm, const struct ftc_call *call);
/* May this call begin: are its receivers not too far behind? Asks them if they are on other
 * nodes. */
bool ftc_flow_control_has_room(struct ftc_comm *comm, const struct ftc_call *call);

/* Answers the ranks that wait for this rank to come as far as it is now. To be called after each
 * call of an operation and after each message of flow control. */
void ftc_flow_control_answer(struct ftc_comm *comm);

#endif
