/*
 * The operations of a communicator that were started and have not ended, in the order of their
 * start (docs/design/communicators.md, C11). The first one is under way, by messages. The next one
 * begins when it has ended. All functions run under process->lock.
 *
 * In a communicator with a board, operations go beside the board while there is one in the queue.
 */
#ifndef FTC_RUNTIME_COMM_QUEUE_H
#define FTC_RUNTIME_COMM_QUEUE_H

#include "runtime/comm/comm.h"

/* An operation in the queue. Its owner keeps it until it has ended. */
struct ftc_queued_operation {
    struct ftc_queued_operation *next;
    /* Does all that can be done now, and never waits. True: it has ended with `status`. Called only
     * while it is the first. */
    bool (*advance)(struct ftc_queued_operation *operation, struct ftc_comm *comm);
    int status;
    bool ended;
};

void ftc_queue_add(struct ftc_comm *comm, struct ftc_queued_operation *operation);
/* Moves the operations on. True: one has ended. */
bool ftc_queue_advance(struct ftc_comm *comm);
/* The communicator is revoked: all end with FTC_ERR_REVOKED. */
void ftc_queue_cut_off(struct ftc_comm *comm);
/* Waits until all have ended. */
void ftc_queue_drain(struct ftc_comm *comm);

#endif
