/* Calls that move blocks between ranks. To ftcoll they are bytes, so that ranks may give datatypes
 * that differ but have the same bytes. */
#include "mpi/call/plan.h"

/* Is the buffer MPI_IN_PLACE? Then that is what ftcoll gets. */
static const void *source(const struct ftc_mpi_plan *plan)
{
    return plan->call.sendbuf == MPI_IN_PLACE ? FTC_IN_PLACE : ftc_mpi_side_at(&plan->send);
}

static int prepare_both(struct ftc_mpi_plan *plan, bool keep)
{
    int rc = ftc_mpi_side_prepare(&plan->send, true);
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_side_prepare(&plan->recv, keep);
    if (rc != MPI_SUCCESS)
        return rc;
    plan->type = FTC_UINT8;
    plan->from = source(plan);
    plan->to = ftc_mpi_side_at(&plan->recv);
    return MPI_SUCCESS;
}

static int check_root(const struct ftc_mpi_plan *plan)
{
    if (plan->call.root < 0 || plan->call.root >= plan->comm->size)
        return ftc_mpi_error(MPI_ERR_ROOT, "root %d of %d ranks", plan->call.root,
                             plan->comm->size);
    return MPI_SUCCESS;
}

static int move_bcast(struct ftc_mpi_plan *plan)
{
    const struct ftc_mpi_call *c = &plan->call;
    int rc = ftc_mpi_side_equal(&plan->recv, c->buffer, c->count, c->datatype, 1);
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, c->root == plan->comm->rank);
    plan->count = plan->recv.bytes;
    return rc;
}

/* The block that this rank gives to a gather. */
static int open_given(struct ftc_mpi_plan *plan)
{
    const struct ftc_mpi_call *c = &plan->call;
    if (c->sendbuf == MPI_IN_PLACE)
        return MPI_SUCCESS;
    return ftc_mpi_side_equal(&plan->send, c->sendbuf, c->sendcount, c->sendtype, 1);
}

static int move_gather(struct ftc_mpi_plan *plan, bool receives, bool vector)
{
    const struct ftc_mpi_call *c = &plan->call;
    int rc = open_given(plan);
    if (rc == MPI_SUCCESS && receives && vector)
        rc = ftc_mpi_side_vector(&plan->recv, c->recvbuf, c->recvcounts, c->displs, c->recvtype,
                                 plan->comm->size);
    else if (rc == MPI_SUCCESS && receives)
        rc = ftc_mpi_side_equal(&plan->recv, c->recvbuf, c->recvcount, c->recvtype,
                                plan->comm->size);
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, true);
    plan->count = plan->send.bytes;
    if (rc == MPI_SUCCESS && c->sendbuf == MPI_IN_PLACE && receives)
        plan->count = vector ? plan->recv.sizes[plan->comm->rank] : ftc_mpi_side_block(&plan->recv);
    plan->recvcounts = plan->recv.sizes;
    plan->recvplaces = plan->recv.places;
    return rc;
}

static int move_scatter(struct ftc_mpi_plan *plan, bool vector)
{
    const struct ftc_mpi_call *c = &plan->call;
    bool gives = c->root == plan->comm->rank, stays = c->recvbuf == MPI_IN_PLACE;
    int rc = MPI_SUCCESS;
    if (gives && vector)
        rc = ftc_mpi_side_vector(&plan->send, c->sendbuf, c->sendcounts, c->displs, c->sendtype,
                                 plan->comm->size);
    else if (gives)
        rc = ftc_mpi_side_equal(&plan->send, c->sendbuf, c->sendcount, c->sendtype,
                                plan->comm->size);
    if (rc == MPI_SUCCESS && !stays)
        rc = ftc_mpi_side_equal(&plan->recv, c->recvbuf, c->recvcount, c->recvtype, 1);
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, false);
    plan->count = plan->recv.bytes;
    if (rc == MPI_SUCCESS && stays) {
        plan->to = FTC_IN_PLACE;
        plan->count = vector ? plan->send.sizes[plan->comm->rank] : ftc_mpi_side_block(&plan->send);
    }
    plan->sendcounts = plan->send.sizes;
    plan->sendplaces = plan->send.places;
    return rc;
}

static int open_exchange(struct ftc_mpi_plan *plan, struct ftc_mpi_side *side, bool sends)
{
    const struct ftc_mpi_call *c = &plan->call;
    int n = plan->comm->size;
    switch (c->kind) {
    case FTC_MPI_ALLTOALL:
        return sends ? ftc_mpi_side_equal(side, c->sendbuf, c->sendcount, c->sendtype, n)
                     : ftc_mpi_side_equal(side, c->recvbuf, c->recvcount, c->recvtype, n);
    case FTC_MPI_ALLTOALLV:
        return sends ? ftc_mpi_side_vector(side, c->sendbuf, c->sendcounts, c->sdispls, c->sendtype,
                                           n)
                     : ftc_mpi_side_vector(side, c->recvbuf, c->recvcounts, c->rdispls, c->recvtype,
                                           n);
    default:
        return sends ? ftc_mpi_side_typed(side, c->sendbuf, c->sendcounts, c->sdispls, c->sendtypes,
                                          n)
                     : ftc_mpi_side_typed(side, c->recvbuf, c->recvcounts, c->rdispls, c->recvtypes,
                                          n);
    }
}

static int move_exchange(struct ftc_mpi_plan *plan)
{
    int rc = open_exchange(plan, &plan->recv, false);
    if (rc == MPI_SUCCESS && plan->call.sendbuf != MPI_IN_PLACE)
        rc = open_exchange(plan, &plan->send, true);
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, true);
    if (rc == MPI_SUCCESS && plan->call.kind == FTC_MPI_ALLTOALL)
        plan->count = ftc_mpi_side_block(&plan->recv);
    plan->sendcounts = plan->send.sizes;
    plan->sendplaces = plan->send.places;
    plan->recvcounts = plan->recv.sizes;
    plan->recvplaces = plan->recv.places;
    return rc;
}

int ftc_mpi_plan_move(struct ftc_mpi_plan *plan)
{
    bool is_root = plan->call.root == plan->comm->rank;
    int rc = check_root(plan); /* root is 0 in calls that have none */
    if (rc != MPI_SUCCESS)
        return rc;
    switch (plan->call.kind) {
    case FTC_MPI_BCAST:
        return move_bcast(plan);
    case FTC_MPI_GATHER:
        return move_gather(plan, is_root, false);
    case FTC_MPI_GATHERV:
        return move_gather(plan, is_root, true);
    case FTC_MPI_ALLGATHER:
        return move_gather(plan, true, false);
    case FTC_MPI_ALLGATHERV:
        return move_gather(plan, true, true);
    case FTC_MPI_SCATTER:
        return move_scatter(plan, false);
    case FTC_MPI_SCATTERV:
        return move_scatter(plan, true);
    default:
        return move_exchange(plan);
    }
}
