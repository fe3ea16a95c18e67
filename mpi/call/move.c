/* Calls that move blocks between ranks. To ftcoll they are bytes, so that ranks may give datatypes
 * that differ but have the same bytes. */
#include "mpi/call/plan.h"

/* Is the buffer MPI_IN_PLACE? Then that is what ftcoll gets. */
static const void *source(const struct ftc_mpi_plan *plan)
{
    return plan->call.sendbuf == MPI_IN_PLACE ? FTC_IN_PLACE : ftc_mpi_side_at(&plan->send);
}

int ftc_mpi_plan_open(struct ftc_mpi_plan *plan, bool sends, enum ftc_mpi_shape shape, int blocks)
{
    const struct ftc_mpi_call *c = &plan->call;
    struct ftc_mpi_side *side = sends ? &plan->send : &plan->recv;
    void *buffer = sends ? c->sendbuf : c->recvbuf;
    MPI_Datatype type = sends ? c->sendtype : c->recvtype;
    struct ftc_mpi_array counts = sends ? c->sendcounts : c->recvcounts;
    struct ftc_mpi_array places = sends ? c->sdispls : c->rdispls;
    if (places.at == NULL) /* of the one side that has several blocks */
        places = c->displs;
    if (shape == FTC_MPI_TYPED)
        return ftc_mpi_side_typed(side, buffer, counts, places, sends ? c->sendtypes : c->recvtypes,
                                  blocks);
    return shape == FTC_MPI_VECTOR
               ? ftc_mpi_side_vector(side, buffer, counts, places, type, blocks)
               : ftc_mpi_side_equal(side, buffer, sends ? c->sendcount : c->recvcount, type,
                                    blocks);
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
    plan->sendcounts = plan->send.sizes;
    plan->sendplaces = plan->send.places;
    plan->recvcounts = plan->recv.sizes;
    plan->recvplaces = plan->recv.places;
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

/* The bytes of the block of this rank. */
static size_t own_block(const struct ftc_mpi_plan *plan, const struct ftc_mpi_side *side)
{
    return side->shape == FTC_MPI_EQUAL ? ftc_mpi_side_block(side) : side->sizes[plan->comm->rank];
}

static int move_gather(struct ftc_mpi_plan *plan, enum ftc_mpi_shape shape)
{
    bool in_place = plan->call.sendbuf == MPI_IN_PLACE;
    int rc = MPI_SUCCESS;
    if (plan->gives && !in_place)
        rc = ftc_mpi_plan_open(plan, true, FTC_MPI_EQUAL, 1);
    if (rc == MPI_SUCCESS && plan->gets)
        rc = ftc_mpi_plan_open(plan, false, shape, ftc_mpi_comm_peers(plan->comm));
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, true);
    plan->count = plan->send.bytes;
    if (rc == MPI_SUCCESS && in_place && plan->gets)
        plan->count = own_block(plan, &plan->recv);
    return rc;
}

static int move_scatter(struct ftc_mpi_plan *plan, enum ftc_mpi_shape shape)
{
    bool stays = plan->call.recvbuf == MPI_IN_PLACE;
    int rc = MPI_SUCCESS;
    if (plan->gives)
        rc = ftc_mpi_plan_open(plan, true, shape, ftc_mpi_comm_peers(plan->comm));
    if (rc == MPI_SUCCESS && plan->gets && !stays)
        rc = ftc_mpi_plan_open(plan, false, FTC_MPI_EQUAL, 1);
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, false);
    plan->count = plan->recv.bytes;
    if (rc == MPI_SUCCESS && stays) {
        plan->to = FTC_IN_PLACE;
        plan->count = own_block(plan, &plan->send);
    }
    return rc;
}

static int move_exchange(struct ftc_mpi_plan *plan, enum ftc_mpi_shape shape)
{
    int n = ftc_mpi_comm_peers(plan->comm), rc = ftc_mpi_plan_open(plan, false, shape, n);
    if (rc == MPI_SUCCESS && plan->call.sendbuf != MPI_IN_PLACE)
        rc = ftc_mpi_plan_open(plan, true, shape, n);
    if (rc == MPI_SUCCESS)
        rc = prepare_both(plan, true);
    if (rc == MPI_SUCCESS && shape == FTC_MPI_EQUAL)
        plan->count = ftc_mpi_side_block(&plan->recv);
    return rc;
}

static int open_and_prepare(struct ftc_mpi_plan *plan)
{
    switch (plan->call.kind) {
    case FTC_MPI_BCAST:
        return move_bcast(plan);
    case FTC_MPI_GATHER:
    case FTC_MPI_ALLGATHER:
        return move_gather(plan, FTC_MPI_EQUAL);
    case FTC_MPI_GATHERV:
    case FTC_MPI_ALLGATHERV:
        return move_gather(plan, FTC_MPI_VECTOR);
    case FTC_MPI_SCATTER:
        return move_scatter(plan, FTC_MPI_EQUAL);
    case FTC_MPI_SCATTERV:
        return move_scatter(plan, FTC_MPI_VECTOR);
    case FTC_MPI_ALLTOALL:
        return move_exchange(plan, FTC_MPI_EQUAL);
    case FTC_MPI_ALLTOALLV:
        return move_exchange(plan, FTC_MPI_VECTOR);
    default:
        return move_exchange(plan, FTC_MPI_TYPED);
    }
}

int ftc_mpi_plan_move(struct ftc_mpi_plan *plan)
{
    int rc = ftc_mpi_plan_roles(plan);
    if (rc == MPI_SUCCESS)
        rc = open_and_prepare(plan);
    return rc == MPI_SUCCESS && ftc_mpi_is_inter(plan->comm) ? ftc_mpi_plan_cross(plan) : rc;
}
