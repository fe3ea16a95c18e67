/* Operations that were started and have not ended. */
#include "runtime/comm/queue.h"

#include "runtime/comm/drive.h"

void ftc_queue_add(struct ftc_comm *comm, struct ftc_queued_operation *operation)
{
    operation->next = NULL;
    operation->ended = false;
    if (comm->queue.first == NULL) {
        comm->queue.first = operation;
        ftc_comm_leave_board(comm);
        comm->agreeing = true;
    } else {
        comm->queue.last->next = operation;
    }
    comm->queue.last = operation;
    ftc_comm_detour(comm, FTC_DETOUR_QUEUE, true);
}

/* The first one has ended. */
static void pop(struct ftc_comm *comm)
{
    struct ftc_queued_operation *operation = comm->queue.first;

    comm->queue.first = operation->next;
    operation->ended = true;
    comm->process->delivered = true;
    if (comm->queue.first != NULL)
        return;
    comm->agreeing = false;
    if (!ftc_comm_is_revoked(comm))
        ftc_comm_return_to_board(comm);
    ftc_comm_detour(comm, FTC_DETOUR_QUEUE, false);
}

bool ftc_queue_advance(struct ftc_comm *comm)
{
    struct ftc_queued_operation *first = comm->queue.first;

    if (first == NULL || !first->advance(first, comm))
        return false;
    pop(comm);
    return true;
}

void ftc_queue_cut_off(struct ftc_comm *comm)
{
    if (comm->queue.first != NULL)
        comm->started = NULL; /* it is in the first one, which its caller frees */
    while (comm->queue.first != NULL) {
        comm->queue.first->status = FTC_ERR_REVOKED;
        pop(comm);
    }
}

static bool is_empty(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return comm->queue.first == NULL;
}

void ftc_queue_drain(struct ftc_comm *comm)
{
    if (comm->queue.first != NULL)
        ftc_comm_wait(comm, &(struct ftc_until){.done = is_empty});
}
