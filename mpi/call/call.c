/* Runs, starts and prepares the calls. */
#include "mpi/call/plan.h"

#include <stdlib.h>

/* The call of ftcoll; with a request it does not block. */
#define NATIVE(name, ...)                                                                          \
    (request == NULL ? ftc_##name(__VA_ARGS__) : ftc_i##name(__VA_ARGS__, request))

static int begin_reduction(struct ftc_mpi_plan *p, ftc_request **request)
{
    ftc_comm *comm = p->native;
    switch (p->call.kind) {
    case FTC_MPI_ALLREDUCE:
        return NATIVE(allreduce, p->from, p->to, p->count, p->type, p->native_op, comm);
    case FTC_MPI_REDUCE:
        return NATIVE(reduce, p->from, p->to, p->count, p->type, p->native_op, p->call.root, comm);
    case FTC_MPI_SCAN:
        return NATIVE(scan, p->from, p->to, p->count, p->type, p->native_op, comm);
    case FTC_MPI_EXSCAN:
        return NATIVE(exscan, p->from, p->to, p->count, p->type, p->native_op, comm);
    case FTC_MPI_REDUCE_SCATTER_BLOCK:
        return NATIVE(reduce_scatter_block, p->from, p->to, p->count, p->type, p->native_op, comm);
    default:
        return NATIVE(reduce_scatter, p->from, p->to, p->recvcounts, p->type, p->native_op, comm);
    }
}

static int begin_move(struct ftc_mpi_plan *p, ftc_request **request)
{
    ftc_comm *comm = p->native;
    int root = p->call.root;
    bool crosses = ftc_mpi_is_inter(p->comm) && p->call.kind != FTC_MPI_BARRIER;
    switch (crosses ? FTC_MPI_ALLTOALLV : p->call.kind) {
    case FTC_MPI_BARRIER:
        return request == NULL ? ftc_barrier(comm) : ftc_ibarrier(comm, request);
    case FTC_MPI_BCAST:
        return NATIVE(bcast, p->to, p->count, p->type, root, comm);
    case FTC_MPI_ALLGATHER:
        return NATIVE(allgather, p->from, p->to, p->count, p->type, comm);
    case FTC_MPI_ALLGATHERV:
        return NATIVE(allgatherv, p->from, p->count, p->to, p->recvcounts, p->recvplaces, p->type,
                      comm);
    case FTC_MPI_GATHER:
        return NATIVE(gather, p->from, p->to, p->count, p->type, root, comm);
    case FTC_MPI_GATHERV:
        return NATIVE(gatherv, p->from, p->count, p->to, p->recvcounts, p->recvplaces, p->type,
                      root, comm);
    case FTC_MPI_SCATTER:
        return NATIVE(scatter, p->from, p->to, p->count, p->type, root, comm);
    case FTC_MPI_SCATTERV:
        return NATIVE(scatterv, p->from, p->sendcounts, p->sendplaces, p->to, p->count, p->type,
                      root, comm);
    case FTC_MPI_ALLTOALL:
        return NATIVE(alltoall, p->from, p->to, p->count, p->type, comm);
    default:
        return NATIVE(alltoallv, p->from, p->sendcounts, p->sendplaces, p->to, p->recvcounts,
                      p->recvplaces, p->type, comm);
    }
}

static bool is_reduction(enum ftc_mpi_call_kind kind)
{
    return kind == FTC_MPI_ALLREDUCE || kind == FTC_MPI_REDUCE || kind == FTC_MPI_SCAN ||
           kind == FTC_MPI_EXSCAN || kind == FTC_MPI_REDUCE_SCATTER ||
           kind == FTC_MPI_REDUCE_SCATTER_BLOCK;
}

static bool is_of_neighbours(enum ftc_mpi_call_kind kind)
{
    return kind == FTC_MPI_NEIGHBOR_ALLGATHER || kind == FTC_MPI_NEIGHBOR_ALLGATHERV ||
           kind == FTC_MPI_NEIGHBOR_ALLTOALL || kind == FTC_MPI_NEIGHBOR_ALLTOALLV ||
           kind == FTC_MPI_NEIGHBOR_ALLTOALLW;
}

/* Gives back all that a plan has made. */
static void clear(struct ftc_mpi_plan *plan)
{
    ftc_mpi_plan_end_reduction(plan);
    ftc_mpi_side_release(&plan->send);
    ftc_mpi_side_release(&plan->recv);
    free(plan->order);
    free(plan->numbers);
    free(plan->crossing);
    free(plan->gathered);
    plan->send = plan->recv = (struct ftc_mpi_side){0};
    plan->order = NULL;
    plan->numbers = plan->crossing = NULL;
    plan->gathered = NULL;
}

/* Are there two buffers that are one? Then the result would change the input. */
static bool is_aliased(const struct ftc_mpi_plan *plan)
{
    const struct ftc_mpi_side *send = &plan->send, *recv = &plan->recv;
    return send->shape == FTC_MPI_EQUAL && recv->shape == FTC_MPI_EQUAL && send->bytes > 0 &&
           recv->bytes > 0 && send->buffer != MPI_BOTTOM && send->buffer == recv->buffer;
}

static int make(struct ftc_mpi_plan *plan)
{
    int rc = MPI_SUCCESS;
    if (is_reduction(plan->call.kind))
        rc = ftc_mpi_plan_reduction(plan);
    else if (is_of_neighbours(plan->call.kind))
        rc = ftc_mpi_plan_neighbours(plan);
    else if (plan->call.kind != FTC_MPI_BARRIER)
        rc = ftc_mpi_plan_move(plan);
    if (rc == MPI_SUCCESS && is_aliased(plan))
        rc = ftc_mpi_error(MPI_ERR_BUFFER, "one buffer is given twice: see MPI_IN_PLACE");
    if (rc != MPI_SUCCESS)
        clear(plan);
    return rc;
}

static int begin(struct ftc_mpi_plan *plan, ftc_request **request)
{
    return is_reduction(plan->call.kind) && !ftc_mpi_is_inter(plan->comm)
               ? begin_reduction(plan, request)
               : begin_move(plan, request);
}

/* The operation has ended with `error` of ftcoll. */
static int end(struct ftc_mpi_plan *plan, int error)
{
    if (error == FTC_SUCCESS)
        error = ftc_mpi_plan_arrive(plan);
    if (error == FTC_SUCCESS)
        ftc_mpi_side_deliver(&plan->recv);
    int rc = ftc_mpi_comm_outcome(plan->comm, plan->native, error);
    clear(plan);
    return rc;
}

static int finish_call(struct ftc_mpi_request *request, int error)
{
    return end((struct ftc_mpi_plan *)request, error);
}

static int start_call(struct ftc_mpi_request *request)
{
    struct ftc_mpi_plan *plan = (struct ftc_mpi_plan *)request;
    struct ftc_mpi_comm *comm = plan->comm;
    int rc =
        comm->revoked ? ftc_mpi_error(MPIX_ERR_REVOKED, "%s was revoked", comm->name) : make(plan);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_comm_enter(comm);
    int error = begin(plan, &request->native[0]);
    ftc_mpi_comm_leave(comm);
    if (error == FTC_SUCCESS)
        return MPI_SUCCESS;
    clear(plan);
    return ftc_mpi_error_from(error);
}

static void release_call(struct ftc_mpi_request *request)
{
    struct ftc_mpi_plan *plan = (struct ftc_mpi_plan *)request;
    if (request->persistent && plan->native != NULL)
        ftc_comm_free(&plan->native);
}

/* A plan for a request. */
static int plan_new(const struct ftc_mpi_call *call, bool persistent, struct ftc_mpi_plan **out)
{
    static const struct ftc_mpi_operation operation = {
        .start = start_call, .finish = finish_call, .release = release_call};
    struct ftc_mpi_comm *comm;
    int rc = ftc_mpi_comm_open(call->comm, &comm);
    if (rc != MPI_SUCCESS)
        return rc;
    struct ftc_mpi_plan *plan = ftc_mpi_request_new(&operation, comm, sizeof *plan);
    if (plan == NULL)
        return ftc_mpi_no_memory();
    plan->call = *call;
    plan->comm = comm;
    plan->native = persistent ? NULL : comm->native;
    plan->request.persistent = persistent;
    *out = plan;
    return MPI_SUCCESS;
}

int ftc_mpi_call_start(const struct ftc_mpi_call *call, MPI_Request *request)
{
    struct ftc_mpi_plan *plan = NULL;
    int rc = plan_new(call, false, &plan);
    return rc == MPI_SUCCESS ? ftc_mpi_request_give(&plan->request, request) : rc;
}

int ftc_mpi_call_run(const struct ftc_mpi_call *call)
{
    struct ftc_mpi_plan plan = {.call = *call};
    MPI_Request request;
    int flag, rc = ftc_mpi_comm_open(call->comm, &plan.comm);
    if (rc == MPI_SUCCESS && ftc_mpi_process.multiple) { /* the other threads get turns */
        rc = ftc_mpi_call_start(call, &request);
        return rc == MPI_SUCCESS ? ftc_mpi_end_one(&request, true, &flag, MPI_STATUS_IGNORE) : rc;
    }
    if (rc == MPI_SUCCESS)
        rc = make(&plan);
    if (rc != MPI_SUCCESS)
        return rc;
    plan.native = plan.comm->native;
    return end(&plan, begin(&plan, NULL));
}

/* The datatypes and the operator must not be freed before the request: they are looked up again at
 * each start. */
int ftc_mpi_call_init(const struct ftc_mpi_call *call, MPI_Info info, MPI_Request *request)
{
    struct ftc_mpi_plan *plan = NULL;
    (void)info;
    int rc = plan_new(call, true, &plan);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = make(plan); /* only to find errors now */
    if (rc == MPI_SUCCESS) {
        clear(plan);
        ftc_mpi_comm_enter(plan->comm);
        rc = ftc_mpi_error_from(ftc_comm_dup(plan->comm->native, &plan->native));
        ftc_mpi_comm_leave(plan->comm);
    }
    if (rc == MPI_SUCCESS)
        *request = (MPI_Request)plan;
    else
        ftc_mpi_request_release(&plan->request);
    return rc;
}
