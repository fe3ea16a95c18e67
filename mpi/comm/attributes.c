/* Attributes of communicators, the predefined ones too. */
#include "mpi/comm/comm.h"

#include "functions.h"

#include <limits.h>

/* The values of predefined attributes; a program gets a pointer to one. */
static int tag_bound = INT_MAX, io_rank = MPI_ANY_SOURCE, no_host = MPI_PROC_NULL;
static int clocks_differ = 0, application = 0, universe, last_code;

static int *predefined(int keyval)
{
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_bound;
    case MPI_IO:
        return &io_rank;
    case MPI_HOST:
        return &no_host;
    case MPI_WTIME_IS_GLOBAL:
        return &clocks_differ;
    case MPI_APPNUM:
        return &application;
    case MPI_LASTUSEDCODE:
        last_code = ftc_mpi_error_last_used();
        return &last_code;
    case MPI_UNIVERSE_SIZE:
        universe = ftc_mpi_process.world == NULL ? 1 : ftc_mpi_process.world->size;
        return &universe;
    }
    return NULL;
}

static int check_to_change(int keyval)
{
    return predefined(keyval) == NULL
               ? MPI_SUCCESS
               : ftc_mpi_error(MPI_ERR_KEYVAL, "a predefined attribute cannot be changed");
}

int ftc_mpi_comm_set_attr(struct ftc_mpi_comm *comm, int comm_keyval, void *attribute_val)
{
    int rc = check_to_change(comm_keyval);
    return rc != MPI_SUCCESS
               ? rc
               : ftc_mpi_attribute_set(&comm->attributes, FTC_MPI_COMM, ftc_mpi_comm_handle(comm),
                                       comm_keyval, attribute_val);
}

int ftc_mpi_comm_get_attr(struct ftc_mpi_comm *c, int comm_keyval, void *attribute_val, int *flag)
{
    int *value = predefined(comm_keyval);
    if (value == NULL)
        return ftc_mpi_attribute_get(&c->attributes, FTC_MPI_COMM, comm_keyval, attribute_val,
                                     flag);
    *(void **)attribute_val = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int ftc_mpi_comm_delete_attr(struct ftc_mpi_comm *comm, int comm_keyval)
{
    int rc = check_to_change(comm_keyval);
    return rc != MPI_SUCCESS ? rc
                             : ftc_mpi_attribute_delete(&comm->attributes, FTC_MPI_COMM,
                                                        ftc_mpi_comm_handle(comm), comm_keyval);
}
