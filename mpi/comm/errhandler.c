/* Error handlers. */
#include "mpi/comm/comm.h"

#include "functions.h"

#define PREDEFINED(number)                                                                         \
    {                                                                                              \
        .object = {.kind = FTC_MPI_ERRHANDLER, .references = 1}, .handle = number                  \
    }
struct ftc_mpi_errhandler ftc_mpi_errors_are_fatal = PREDEFINED(0x141);
static struct ftc_mpi_errhandler errors_abort = PREDEFINED(0x142);
static struct ftc_mpi_errhandler errors_return = PREDEFINED(0x143);

static struct ftc_mpi_errhandler *find(MPI_Errhandler handle)
{
    if (handle == MPI_ERRORS_ARE_FATAL)
        return &ftc_mpi_errors_are_fatal;
    if (handle == MPI_ERRORS_ABORT)
        return &errors_abort;
    return handle == MPI_ERRORS_RETURN ? &errors_return
                                       : ftc_mpi_object(handle, FTC_MPI_ERRHANDLER);
}

void ftc_mpi_errhandler_release(struct ftc_mpi_errhandler *handler)
{
    if (handler != NULL && handler->handle == 0 && ftc_mpi_object_drop(&handler->object))
        ftc_mpi_object_free(&handler->object);
}

/* docs/design/mpi.md, "When a rank dies". */
void ftc_mpi_comm_set_raises(struct ftc_mpi_comm *comm)
{
    enum ftc_mpi_failures failures = ftc_mpi_process.failures;
    comm->raises = failures == FTC_MPI_FAILURES_AUTO ? !ftc_mpi_is_fatal(comm->errhandler)
                                                     : failures == FTC_MPI_FAILURES_RAISE;
}

int ftc_mpi_comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn,
                                   MPI_Errhandler *errhandler)
{
    if (comm_errhandler_fn == NULL)
        return ftc_mpi_error(MPI_ERR_ARG, "the error handler has no function");
    struct ftc_mpi_errhandler *made = ftc_mpi_object_new(FTC_MPI_ERRHANDLER, sizeof *made);
    if (made == NULL)
        return ftc_mpi_no_memory();
    made->function = comm_errhandler_fn;
    *errhandler = (MPI_Errhandler)made;
    return MPI_SUCCESS;
}

int ftc_mpi_errhandler_free(MPI_Errhandler *errhandler)
{
    struct ftc_mpi_errhandler *handler = find(*errhandler);
    if (handler == NULL)
        return ftc_mpi_error(MPI_ERR_ERRHANDLER, "this is no error handler");
    ftc_mpi_errhandler_release(handler);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int ftc_mpi_comm_set_errhandler(struct ftc_mpi_comm *c, MPI_Errhandler errhandler)
{
    struct ftc_mpi_errhandler *handler = find(errhandler);
    if (handler == NULL)
        return ftc_mpi_error(MPI_ERR_ERRHANDLER, "this is no error handler");
    if (handler->handle == 0)
        ftc_mpi_object_hold(&handler->object);
    struct ftc_mpi_errhandler *before = c->errhandler;
    c->errhandler = handler;
    ftc_mpi_comm_set_raises(c);
    ftc_mpi_errhandler_release(before);
    return MPI_SUCCESS;
}

int ftc_mpi_comm_get_errhandler(struct ftc_mpi_comm *c, MPI_Errhandler *errhandler)
{
    if (c->errhandler->handle != 0) {
        *errhandler = (MPI_Errhandler)(uintptr_t)c->errhandler->handle;
        return MPI_SUCCESS;
    }
    ftc_mpi_object_hold(&c->errhandler->object);
    *errhandler = (MPI_Errhandler)c->errhandler;
    return MPI_SUCCESS;
}
