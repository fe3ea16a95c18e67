/*
 * The operations of a communicator that were started and have not ended, in the order of their
 * start (docs/design/communicators.md, C11). Those that go by the board are started there at once,
 * and are not in the queue, unless there is an operation by messages before them. Of those in the
 * queue the first one is under way, by messages, if none is under way on the board. The next one
 * begins when it has ended. All functions run under process->lock.
 */
#ifndef FTC_RUNTIME_COMM_QUEUE_H
#define FTC_RUNTIME_COMM_QUEUE_H

#include "runtime/comm/comm.h"

/* How far an operation is. Its owner looks without the lock. */
enum ftc_queued_state { FTC_QUEUED_WAITS, FTC_QUEUED_ON_BOARD, FTC_QUEUED_ENDED };

/* An operation in the queue. Its owner keeps it until it has ended. */
struct ftc_queued_operation {
    struct ftc_queued_operation *next;
    /* By messages: does all that can be done now, and never waits. True: it has ended with
     * `status`. Called only while it is the first. */
    bool (*advance)(struct ftc_queued_operation *operation, struct ftc_comm *comm);
    int status;
    atomic_int state; /* enum ftc_queued_state. Release: the status and the result are there */
    bool survives;    /* a revoke does not end it: an agree */
    bool by_board;
    struct ftc_board_operation on_board; /* if it goes by the board: filled in by the owner */
    struct ftc_finished *finished;       /* of the operation, once it has ended */
    struct ftc_history history;          /* of the operation, if `record` is this one */
    struct ftc_history *record;          /* where it is recorded, alone or with others */
    bool leads;                          /* it is the first in its record */
    uint32_t agreed;                     /* |G| when it ended on the board */
    void *memory; /* what is freed, if the owner gives it to the communicator to be used again */
};

static inline bool ftc_queued_has_ended(const struct ftc_queued_operation *operation)
{
    return atomic_load_explicit(&operation->state, memory_order_acquire) == FTC_QUEUED_ENDED;
}
static inline bool ftc_queued_is_on_board(const struct ftc_queued_operation *operation)
{
    return atomic_load_explicit(&operation->state, memory_order_acquire) == FTC_QUEUED_ON_BOARD;
}

void ftc_queue_add(struct ftc_comm *comm, struct ftc_queued_operation *operation);
/* Moves the operations on. True: one has ended. */
bool ftc_queue_advance(struct ftc_comm *comm);
/* The first one leaves the queue, which has one. */
static inline struct ftc_queued_operation *ftc_queue_take_first(struct ftc_comm *comm)
{
    struct ftc_queued_operation *operation = comm->queue.first;

    comm->queue.first = operation->next;
    return operation;
}
/* The operation, which is not in the queue, ends with FTC_ERR_REVOKED. */
void ftc_queue_refuse(struct ftc_queued_operation *operation);
/* The communicator is revoked: all end so but those that survive it. */
void ftc_queue_cut_off(struct ftc_comm *comm);
/* Waits until there is none in the queue, or an operation is on the board. */
void ftc_queue_drain(struct ftc_comm *comm);

/* An operation that has ended, to be used again. For the caller alone, without the lock. */
void ftc_queue_give_back(struct ftc_comm *comm, struct ftc_queued_operation *operation);
struct ftc_queued_operation *ftc_queue_take_spare(struct ftc_comm *comm); /* NULL: there is none */
void ftc_queue_free_spares(struct ftc_comm *comm);

#endif
