/* A call of MPI whose parameters are kept together: its blocking, its non-blocking and its
 * persistent form go the same way. */
#ifndef FTC_MPI_CALL_H
#define FTC_MPI_CALL_H

#include "functions.h"

/* The members have the names of the standard's parameters; those that a call has not are 0. */
struct ftc_mpi_call {
    enum ftc_mpi_call_kind kind;
    int root;
    void *sendbuf, *recvbuf, *buffer;
    MPI_Count sendcount, recvcount, count;
    MPI_Datatype sendtype, recvtype, datatype;
    struct ftc_mpi_array sendcounts, sdispls, recvcounts, rdispls, displs;
    const MPI_Datatype *sendtypes, *recvtypes;
    MPI_Op op;
    MPI_Comm comm;
};

int ftc_mpi_call_run(const struct ftc_mpi_call *call);
int ftc_mpi_call_start(const struct ftc_mpi_call *call, MPI_Request *request);
int ftc_mpi_call_init(const struct ftc_mpi_call *call, MPI_Info info, MPI_Request *request);

#endif
