/* Flow control: plain reduces and broadcasts do not wait for their receivers (agreement.md, "plain
 * reduce": it may delay the start of a later op). All under comm->lock. */
#ifndef FTC_RUNTIME_FLOW_CONTROL_H
#define FTC_RUNTIME_FLOW_CONTROL_H

#include "runtime/algorithm.h"

/* Before a call: until its receivers are near enough. */
void ftc_flow_control_wait(struct ftc_comm *comm, const struct ftc_call *call);

/* Tell those who have asked how far this rank is: after a call, and after messages. */
void ftc_flow_control_answer(struct ftc_comm *comm);

#endif
