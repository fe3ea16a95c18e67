/*
 * Collectives of a neighbourhood, as an exchange among all ranks in which most blocks are empty. So
 * all survivors agree on who has failed, and no rank waits for a neighbour that has died. A process
 * may be a neighbour several times. Its blocks then go in the order of the sender's edges.
 */
#include "mpi/call/plan.h"

#include <stdlib.h>

/* The edges of one side, in the order in which their blocks are packed: by their other end, and
 * then by the number of the edge at the sender. */
struct edges {
    int count;
    int *peers; /* the other end of each edge; MPI_PROC_NULL: it has none */
    int *order, ordered;
};

/* The number that the edge has at its sender. In a grid what is sent down arrives from above. */
static int number_at_sender(const struct ftc_mpi_topology *t, int edge, bool in)
{
    return in && t->kind == MPI_CART ? edge ^ 1 : edge;
}

static int sort_edges(const struct ftc_mpi_topology *t, struct edges *e, bool in)
{
    e->ordered = 0;
    for (int i = 0; i < e->count; i++) {
        int k = e->ordered++;
        if (e->peers[i] == MPI_PROC_NULL) {
            e->ordered--;
            continue;
        }
        for (; k > 0; k--) { /* there are few edges: insertion */
            int before = e->order[k - 1];
            if (e->peers[before] < e->peers[i] ||
                (e->peers[before] == e->peers[i] &&
                 number_at_sender(t, before, in) < number_at_sender(t, i, in)))
                break;
            e->order[k] = before;
        }
        e->order[k] = i;
    }
    return e->ordered;
}

/* The bytes and the place of each rank's part in the packed memory of the side. */
static void sum_up(const struct ftc_mpi_side *side, const struct edges *e, size_t *counts,
                   size_t *places)
{
    for (int k = 0; k < e->ordered; k++) {
        int edge = e->order[k], peer = e->peers[edge];
        if (counts[peer] == 0)
            places[peer] = side->places[edge];
        counts[peer] += side->sizes[edge];
    }
}

static int open_side(struct ftc_mpi_plan *plan, const struct edges *e, bool in)
{
    const struct ftc_mpi_call *c = &plan->call;
    struct ftc_mpi_side *side = in ? &plan->recv : &plan->send;
    bool vector =
        c->kind == FTC_MPI_NEIGHBOR_ALLTOALLV || (c->kind == FTC_MPI_NEIGHBOR_ALLGATHERV && in);
    enum ftc_mpi_shape shape = c->kind == FTC_MPI_NEIGHBOR_ALLTOALLW ? FTC_MPI_TYPED
                               : vector                              ? FTC_MPI_VECTOR
                                                                     : FTC_MPI_EQUAL;
    int rc = ftc_mpi_plan_open(plan, !in, shape, e->count);
    if (!in && (c->kind == FTC_MPI_NEIGHBOR_ALLGATHER || c->kind == FTC_MPI_NEIGHBOR_ALLGATHERV))
        side->same = true;
    side->order = e->order;
    side->ordered = e->ordered;
    return rc != MPI_SUCCESS ? rc : ftc_mpi_side_prepare(side, true);
}

int ftc_mpi_plan_neighbours(struct ftc_mpi_plan *plan)
{
    const struct ftc_mpi_topology *t = plan->comm->topology;
    int n = plan->comm->size;
    if (t == NULL)
        return ftc_mpi_error(MPI_ERR_TOPOLOGY, "%s has no topology", plan->comm->name);
    struct edges out = {.count = ftc_mpi_neighbours(t, plan->comm->rank, false, NULL)};
    struct edges in = {.count = ftc_mpi_neighbours(t, plan->comm->rank, true, NULL)};
    plan->order = malloc(((size_t)out.count + (size_t)in.count) * 2 * sizeof *plan->order + 1);
    plan->numbers = calloc((size_t)n * 4, sizeof *plan->numbers);
    if (plan->order == NULL || plan->numbers == NULL)
        return ftc_mpi_no_memory();
    out.order = plan->order;
    out.peers = out.order + out.count;
    in.order = out.peers + out.count;
    in.peers = in.order + in.count;
    ftc_mpi_neighbours(t, plan->comm->rank, false, out.peers);
    ftc_mpi_neighbours(t, plan->comm->rank, true, in.peers);
    sort_edges(t, &out, false);
    sort_edges(t, &in, true);
    int rc = open_side(plan, &out, false);
    if (rc == MPI_SUCCESS)
        rc = open_side(plan, &in, true);
    if (rc != MPI_SUCCESS)
        return rc;
    size_t *numbers = plan->numbers;
    sum_up(&plan->send, &out, numbers, numbers + n);
    sum_up(&plan->recv, &in, numbers + 2 * n, numbers + 3 * n);
    plan->sendcounts = numbers;
    plan->sendplaces = numbers + n;
    plan->recvcounts = numbers + 2 * n;
    plan->recvplaces = numbers + 3 * n;
    plan->type = FTC_UINT8;
    plan->from = ftc_mpi_side_at(&plan->send);
    plan->to = ftc_mpi_side_at(&plan->recv);
    return MPI_SUCCESS;
}
