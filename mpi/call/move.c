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

static int move_bcast(struct ftc_mpi_plan *plan)
{
    const struct ftc_mpi_call *c = &plan->call;
    bool crosses = ftc_mpi_is_inter(plan->comm) && plan->gives;
    int rc = MPI_SUCCESS;
    if (plan->gives || plan->gets)
        rc = ftc_mpi_side_equal(crosses ? &plan->send : &plan->recv, c->buffer, c->count,
                                c->datatype, 1);
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, plan->gives);
    plan->count = plan->recv.bytes;
    return rc;
}

/* The block that this rank gives to a gather. */
static int open_given(struct ftc_mpi_plan *plan)
{
    const struct ftc_mpi_call *c = &plan->call;
    if (c->sendbuf == MPI_IN_PLACE || !plan->gives)
        return MPI_SUCCESS;
    return ftc_mpi_side_equal(&plan->send, c->sendbuf, c->sendcount, c->sendtype, 1);
}

static int move_gather(struct ftc_mpi_plan *plan, bool vector)
{
    const struct ftc_mpi_call *c = &plan->call;
    int rc = open_given(plan);
    if (rc == MPI_SUCCESS && plan->gets && vector)
        rc = ftc_mpi_side_vector(&plan->recv, c->recvbuf, c->recvcounts, c->displs, c->recvtype,
                                 ftc_mpi_comm_peers(plan->comm));
    else if (rc == MPI_SUCCESS && plan->gets)
        rc = ftc_mpi_side_equal(&plan->recv, c->recvbuf, c->recvcount, c->recvtype,
                                ftc_mpi_comm_peers(plan->comm));
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, true);
    plan->count = plan->send.bytes;
    if (rc == MPI_SUCCESS && c->sendbuf == MPI_IN_PLACE && plan->gets)
        plan->count = vector ? plan->recv.sizes[plan->comm->rank] : ftc_mpi_side_block(&plan->recv);
    plan->recvcounts = plan->recv.sizes;
    plan->recvplaces = plan->recv.places;
    return rc;
}

static int move_scatter(struct ftc_mpi_plan *plan, bool vector)
{
    const struct ftc_mpi_call *c = &plan->call;
    bool stays = c->recvbuf == MPI_IN_PLACE;
    int rc = MPI_SUCCESS;
    if (plan->gives && vector)
        rc = ftc_mpi_side_vector(&plan->send, c->sendbuf, c->sendcounts, c->displs, c->sendtype,
                                 ftc_mpi_comm_peers(plan->comm));
    else if (plan->gives)
        rc = ftc_mpi_side_equal(&plan->send, c->sendbuf, c->sendcount, c->sendtype,
                                ftc_mpi_comm_peers(plan->comm));
    if (rc == MPI_SUCCESS && plan->gets && !stays)
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
    int n = ftc_mpi_comm_peers(plan->comm);
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

static int open_and_prepare(struct ftc_mpi_plan *plan)
{
    switch (plan->call.kind) {
    case FTC_MPI_BCAST:
        return move_bcast(plan);
    case FTC_MPI_GATHER:
    case FTC_MPI_ALLGATHER:
        return move_gather(plan, false);
    case FTC_MPI_GATHERV:
    case FTC_MPI_ALLGATHERV:
        return move_gather(plan, true);
    case FTC_MPI_SCATTER:
        return move_scatter(plan, false);
    case FTC_MPI_SCATTERV:
        return move_scatter(plan, true);
    default:
        return move_exchange(plan);
    }
}

int ftc_mpi_plan_move(struct ftc_mpi_plan *plan)
{
    int rc = ftc_mpi_plan_roles(plan);
    if (rc == MPI_SUCCESS)
        rc = open_and_prepare(plan);
    return rc == MPI_SUCCESS && ftc_mpi_is_inter(plan->comm) ? ftc_mpi_plan_cross(plan) : rc;
}
