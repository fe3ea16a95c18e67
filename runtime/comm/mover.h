/*
 * Operations that were started on the board of a communicator (docs/design/communicators.md, C11).
 * One thread at a time moves them on, and looks at the board: its *mover*. It is the caller,
 * without process->lock, or a thread that takes steps, with the lock. The latter never waits for
 * the former.
 */
#ifndef FTC_RUNTIME_COMM_MOVER_H
#define FTC_RUNTIME_COMM_MOVER_H

#include "runtime/comm/queue.h"

/* Are operations under way on the board? */
static inline bool ftc_mover_has_work(const struct ftc_comm *comm)
{
    return atomic_load_explicit(&comm->on_board, memory_order_acquire) > 0;
}

/* The caller starts an operation. All that was started before is on the board, too. */
void ftc_mover_start(struct ftc_comm *comm, struct ftc_queued_operation *operation);
/* Under process->lock: starts those at the head of the queue that go by the board. */
void ftc_mover_start_queued(struct ftc_comm *comm);

/* The caller waits until the operation has ended, or all have (NULL). It then takes in what else
 * has ended. */
void ftc_mover_wait(struct ftc_comm *comm, const struct ftc_queued_operation *operation);
/* The caller does what can be done without waiting. */
void ftc_mover_test(struct ftc_comm *comm);
/* The same under process->lock, unless another thread is the mover. True: one has ended. */
bool ftc_mover_step(struct ftc_comm *comm);

/* Under process->lock: closes the board. It is revoked, or no operation is under way there. Those
 * that are end with FTC_ERR_REVOKED. */
void ftc_mover_close(struct ftc_comm *comm);

static inline bool ftc_mover_try(struct ftc_comm *comm)
{
    unsigned long nobody = 0;

    return atomic_compare_exchange_strong_explicit(&comm->mover, &nobody,
                                                   (unsigned long)pthread_self(),
                                                   memory_order_acquire, memory_order_relaxed);
}

static inline void ftc_mover_leave(struct ftc_comm *comm)
{
    atomic_store_explicit(&comm->mover, 0, memory_order_release);
}

/* May this thread look at the board? Not while another one moves. *leave goes to the second. */
static inline bool ftc_mover_peek(struct ftc_comm *comm, bool *leave)
{
    *leave = false;
    if (!ftc_mover_has_work(comm) ||
        atomic_load_explicit(&comm->mover, memory_order_relaxed) == (unsigned long)pthread_self())
        return true;
    *leave = ftc_mover_try(comm);
    return *leave;
}
static inline void ftc_mover_end_peek(struct ftc_comm *comm, bool leave)
{
    if (leave)
        ftc_mover_leave(comm);
}

#endif
