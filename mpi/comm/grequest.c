/* Generalised requests: operations of the program, which says when they have ended. */
#include "mpi/comm/request.h"

#include "functions.h"
#include "mpi/type/status.h"

struct generalised {
    struct ftc_mpi_request request; /* it comes first */
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *state;
};

static int start(struct ftc_mpi_request *request)
{
    atomic_store(&request->outside, true);
    return MPI_SUCCESS;
}

static int finish(struct ftc_mpi_request *request, int error)
{
    struct generalised *g = (struct generalised *)request;
    (void)error;
    return g->query(g->state, &request->status);
}

static void release(struct ftc_mpi_request *request)
{
    struct generalised *g = (struct generalised *)request;
    g->free(g->state);
}

static int cancel(struct ftc_mpi_request *request)
{
    struct generalised *g = (struct generalised *)request;
    return g->cancel(g->state, !atomic_load(&request->outside));
}

int ftc_mpi_grequest_start(MPI_Grequest_query_function *query_fn,
                           MPI_Grequest_free_function *free_fn,
                           MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
                           MPI_Request *request)
{
    static const struct ftc_mpi_operation operation = {start, finish, release, cancel};
    struct ftc_mpi_comm *world;
    int rc = ftc_mpi_comm_open(MPI_COMM_WORLD, &world);
    struct generalised *g =
        rc == MPI_SUCCESS ? ftc_mpi_request_new(&operation, world, sizeof *g) : NULL;
    if (g == NULL)
        return rc != MPI_SUCCESS ? rc : ftc_mpi_no_memory();
    g->query = query_fn;
    g->free = free_fn;
    g->cancel = cancel_fn;
    g->state = extra_state;
    return ftc_mpi_request_give(&g->request, request);
}

int ftc_mpi_grequest_complete(MPI_Request request)
{
    struct ftc_mpi_request *r = ftc_mpi_object(request, FTC_MPI_REQUEST);
    if (r == NULL || r->operation->start != start)
        return ftc_mpi_error(MPI_ERR_REQUEST, "this is no generalised request");
    atomic_store(&r->outside, false);
    return MPI_SUCCESS;
}
