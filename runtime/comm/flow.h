/*
 * Questions and answers of flow control: how many operations has a rank of another node called? The
 * ranks of this node show it in the node segment. A rank of another node is asked by a message. It
 * answers as soon as it has called as many operations as the question says, so one question is
 * enough for many operations. This object does no I/O.
 *
 * Layout of a message; `what` is 0 for a question and 1 for an answer:
 *   u8 version | u8 kind | u16 what | u64 communicator | zeroes up to 16 | u64 number of operations
 */
#ifndef FTC_RUNTIME_COMM_FLOW_H
#define FTC_RUNTIME_COMM_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

struct ftc_flow;

/* `communicator` is the number in each message (collectives/frame.h). FTC_ERR_NOMEM. */
int ftc_flow_create(struct ftc_flow **out, int ranks, uint64_t communicator);
void ftc_flow_destroy(struct ftc_flow *flow); /* NULL is legal */

/* How many operations `rank` is known to have called. */
uint64_t ftc_flow_called(const struct ftc_flow *flow, int rank);
/* Makes the question whether `rank` has called `wanted` operations. The caller sends *question and
 * unrefs it. *question is NULL if the rank was asked for as many before. FTC_ERR_NOMEM. */
int ftc_flow_ask(struct ftc_flow *flow, int rank, uint64_t wanted, struct ftc_buffer **question);

/* The rank that was asked last, while it has not called as many; -1: it has. */
int ftc_flow_awaited(const struct ftc_flow *flow);

/* FTC_ERR_PROTO, FTC_ERR_NOMEM */
int ftc_flow_receive(struct ftc_flow *flow, int from, const struct ftc_buffer *message);

/* Makes the next answer that is due, now that this rank has called `called` operations. Returns the
 * rank to send it to, or -1 if no answer is due. *answer is NULL if there is no memory for it. */
int ftc_flow_answer(struct ftc_flow *flow, uint64_t called, struct ftc_buffer **answer);

void ftc_flow_notice(struct ftc_flow *flow, int rank); /* rank has failed: do not answer it */

#endif
