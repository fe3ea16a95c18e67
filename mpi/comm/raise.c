/* What happens when an error is raised. */
#include "mpi/comm/comm.h"

#include "functions.h"

#include <stdio.h>
#include <stdlib.h>

static _Thread_local struct ftc_mpi_comm *blamed; /* by ftc_mpi_error_on() */

/* For errors that belong to no communicator: self (MPI 5.0, 9.3), or world, whose handler programs
 * for older versions of MPI set. */
static struct ftc_mpi_comm *default_comm(void)
{
    struct ftc_mpi_comm *self = ftc_mpi_process.self;
    return self != NULL && self->errhandler != &ftc_mpi_errors_are_fatal ? self
                                                                         : ftc_mpi_process.world;
}

/* The communicator that the error belongs to; NULL: there is none at all. */
static struct ftc_mpi_comm *choose(MPI_Comm comm)
{
    struct ftc_mpi_comm *c = blamed;
    blamed = NULL;
    if (ftc_mpi_process.state != FTC_MPI_RUNNING)
        return NULL;
    if (c == NULL && comm != MPI_COMM_SELF)
        c = ftc_mpi_comm_of(comm);
    return c == NULL ? default_comm() : c;
}

int ftc_mpi_error_on(struct ftc_mpi_comm *comm, int code)
{
    blamed = comm;
    return code;
}

static void end_job(const struct ftc_mpi_comm *c, int code, const char *function)
{
    const char *text = ftc_mpi_error_text(code), *cause = ftc_mpi_error_cause();
    fflush(stdout);
    fprintf(stderr, "ftcoll: rank %d: %s on %s: %s%s%s\n",
            c == NULL ? 0 : ftc_mpi_process.world->rank, function,
            c == NULL       ? "no communicator (MPI does not run)"
            : *c->name == 0 ? ftc_comm_name(c->native)
                            : c->name,
            text == NULL ? "error" : text, *cause == '\0' ? "" : ": ", cause);
    fflush(stderr);
    int exit_code = code > 0 && code < 113 ? code : 1;
    if (c != NULL)
        ftc_abort(ftc_mpi_process.world->native, exit_code);
    exit(exit_code);
}

int ftc_mpi_raise(MPI_Comm comm, int code, const char *function)
{
    struct ftc_mpi_comm *c = choose(comm);
    if (c == NULL || ftc_mpi_is_fatal(c->errhandler))
        end_job(c, code, function);
    if (c->errhandler->handle == 0x143)       /* MPI_ERRORS_RETURN */
        return ftc_mpi_error(code, "%s", ""); /* the cause is told once */
    struct ftc_mpi_errhandler *handler = c->errhandler;
    MPI_Comm handle = ftc_mpi_comm_handle(c);
    int seen = code;
    ftc_mpi_error(code, "%s", "");         /* the cause is told once */
    ftc_mpi_object_hold(&handler->object); /* the function may free it, or set another one */
    handler->function(&handle, &seen, function);
    ftc_mpi_errhandler_release(handler);
    return code;
}
