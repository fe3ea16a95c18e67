/* Operations that were started and have not ended. */
#include "runtime/comm/queue.h"

#include <stdlib.h>

#include "runtime/comm/drive.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/mover.h"

#define MOST_SPARES 256

void ftc_queue_add(struct ftc_comm *comm, struct ftc_queued_operation *operation)
{
    operation->next = NULL;
    atomic_store_explicit(&operation->state, FTC_QUEUED_WAITS, memory_order_relaxed);
    if (comm->queue.first == NULL)
        comm->queue.first = operation;
    else
        comm->queue.last->next = operation;
    comm->queue.last = operation;
    ftc_comm_detour(comm, FTC_DETOUR_QUEUE, true);
}

static void end(struct ftc_comm *comm, struct ftc_queued_operation *operation)
{
    comm->process->delivered = true;
    atomic_store_explicit(&operation->state, FTC_QUEUED_ENDED, memory_order_release);
}

static void start_on_board(struct ftc_comm *comm)
{
    ftc_mover_start_queued(comm);
    if (comm->queue.first == NULL)
        ftc_comm_detour(comm, FTC_DETOUR_QUEUE, false);
}

/* No operation by messages is under way. */
static void return_to_board(struct ftc_comm *comm)
{
    comm->agreeing = false;
    if (!ftc_comm_is_revoked(comm))
        ftc_comm_return_to_board(comm);
    start_on_board(comm);
}

bool ftc_queue_advance(struct ftc_comm *comm)
{
    /* The one before it has ended while its caller was about to queue it. */
    if (comm->queue.first != NULL && comm->queue.first->by_board)
        start_on_board(comm);
    if (ftc_mover_step(comm)) {
        comm->process->delivered = true;
        return true;
    }
    struct ftc_queued_operation *first = comm->queue.first;
    if (first == NULL || ftc_mover_has_work(comm))
        return false;
    if (!comm->agreeing) {
        ftc_comm_leave_board(comm);
        comm->agreeing = true;
    }
    if (!first->advance(first, comm))
        return false;
    (void)ftc_queue_take_first(comm);
    if (comm->queue.first == NULL || comm->queue.first->by_board)
        return_to_board(comm);
    end(comm, first);
    return true;
}

void ftc_queue_refuse(struct ftc_queued_operation *operation)
{
    operation->status = FTC_ERR_REVOKED;
    atomic_store_explicit(&operation->state, FTC_QUEUED_ENDED, memory_order_release);
}

void ftc_queue_cut_off(struct ftc_comm *comm)
{
    struct ftc_queued_operation *operation = comm->queue.first, *behind;

    if (operation != NULL && !operation->survives)
        comm->started = NULL; /* it may be in the first one, which its caller frees */
    comm->queue.first = NULL;
    comm->agreeing = false;
    ftc_comm_detour(comm, FTC_DETOUR_QUEUE, false);
    for (; operation != NULL; operation = behind) {
        behind = operation->next;
        if (operation->survives) {
            ftc_queue_add(comm, operation);
            continue;
        }
        ftc_queue_refuse(operation);
        comm->process->delivered = true;
    }
}

static bool is_empty(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return comm->queue.first == NULL || ftc_mover_has_work(comm);
}

void ftc_queue_drain(struct ftc_comm *comm)
{
    if (!is_empty(comm, NULL))
        ftc_comm_wait(comm, &(struct ftc_until){.done = is_empty});
}

/* --- spares --- */

void ftc_queue_give_back(struct ftc_comm *comm, struct ftc_queued_operation *operation)
{
    if (comm->spares == MOST_SPARES) {
        ftc_finished_free(operation->finished);
        free(operation->memory);
        return;
    }
    comm->spares++;
    operation->next = comm->spare;
    comm->spare = operation;
}

struct ftc_queued_operation *ftc_queue_take_spare(struct ftc_comm *comm)
{
    struct ftc_queued_operation *operation = comm->spare;

    if (operation != NULL) {
        comm->spares--;
        comm->spare = operation->next;
    }
    return operation;
}

void ftc_queue_free_spares(struct ftc_comm *comm)
{
    struct ftc_queued_operation *operation;

    while ((operation = ftc_queue_take_spare(comm)) != NULL) {
        ftc_finished_free(operation->finished);
        free(operation->memory);
    }
}
