/* Agreements of the survivors. */
#include "mpi/comm/request.h"

#include "functions.h"

struct agreement {
    struct ftc_mpi_request request; /* it comes first */
    bool blocks;
    int *flag;
};

static int start_agreement(struct ftc_mpi_request *request)
{
    struct agreement *a = (struct agreement *)request;
    ftc_comm *native = request->comm->native;
    int error = FTC_SUCCESS;
    ftc_mpi_comm_enter(request->comm);
    if (a->blocks)
        request->error = ftc_agree(native, a->flag);
    else
        error = ftc_iagree(native, a->flag, &request->native[0]);
    ftc_mpi_comm_leave(request->comm);
    return ftc_mpi_error_from(error);
}

/* A failure that not every survivor has acknowledged is raised. */
static int finish_agreement(struct ftc_mpi_request *request, int error)
{
    bool masked = error == FTC_ERR_RANK_FAILED && !request->comm->raises;
    return masked ? MPI_SUCCESS : ftc_mpi_error_from(error);
}

static void release_agreement(struct ftc_mpi_request *request)
{
    (void)request;
}

/* Without a place for the request it blocks. */
int ftc_mpi_comm_iagree(struct ftc_mpi_comm *comm, int *flag, MPI_Request *request)
{
    static const struct ftc_mpi_operation operation = {
        .start = start_agreement, .finish = finish_agreement, .release = release_agreement};
    struct agreement *a = ftc_mpi_request_new(&operation, comm, sizeof *a);
    if (a == NULL)
        return ftc_mpi_no_memory();
    a->flag = flag;
    a->blocks = request == NULL && !ftc_mpi_process.multiple;
    return ftc_mpi_request_run(&a->request, request);
}
