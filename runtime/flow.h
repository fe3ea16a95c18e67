/*
 * How far ranks of other nodes are, for flow control: those of this node show it in the node
 * segment, others are asked, by a message that is answered when they have come as far as is asked
 * for. So one question goes with many operations. No I/O.
 *
 * A message is u8 version | u8 kind | u8 question or answer | zeroes up to 8 | u64 number of operations called.
 */
#ifndef FTC_RUNTIME_FLOW_H
#define FTC_RUNTIME_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct ftc_flow;

int ftc_flow_create(struct ftc_flow **out, int ranks); /* FTC_ERR_NOMEM */
void ftc_flow_destroy(struct ftc_flow *flow);          /* NULL is legal */

/* How many operations `rank` is known to have called. */
uint64_t ftc_flow_called(const struct ftc_flow *flow, int rank);
/* The question whether it has called so many, for the caller to send and to drop; NULL in
 * *question: it was asked already. FTC_ERR_NOMEM. */
int ftc_flow_ask(struct ftc_flow *flow, int rank, uint64_t wanted, struct ftc_buffer **question);

bool ftc_flow_is_message(const struct ftc_buffer *message);
int ftc_flow_receive(struct ftc_flow *flow, int from,
                     const struct ftc_buffer *message); /* FTC_ERR_PROTO */

/* The next answer that is due, now that this rank has called so many operations: its receiver; -1:
 * there is none; FTC_ERR_NOMEM is given as *answer NULL. */
int ftc_flow_answer(struct ftc_flow *flow, uint64_t called, struct ftc_buffer **answer);

void ftc_flow_notice(struct ftc_flow *flow, int rank); /* it has failed: no answer goes to it */

#endif
