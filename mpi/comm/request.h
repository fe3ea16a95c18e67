/*
 * Requests. A request has a request of ftcoll while an operation is under way, and what is to be
 * done when that has ended. A persistent one is started again and again.
 */
#ifndef FTC_MPI_REQUEST_H
#define FTC_MPI_REQUEST_H

#include "mpi/comm/comm.h"

/* What belongs to an operation. */
struct ftc_mpi_operation {
    /* The operation has ended with `error` of ftcoll: its results go to their places. Returns what
     * the program gets. Of a request that is not persistent it frees the operation, too. */
    int (*finish)(struct ftc_mpi_operation *operation, struct ftc_mpi_comm *comm, int error);
    /* Of a persistent one: starts it, and stores the request of ftcoll. */
    int (*start)(struct ftc_mpi_operation *operation, struct ftc_mpi_comm *comm,
                 ftc_request **native);
    /* Of a persistent one: frees it, when it is not under way. */
    void (*release)(struct ftc_mpi_operation *operation);
};

/* A request for `operation`, which is under way as `native`; a persistent one has native == NULL.
 * If there is no memory, the operation is waited for. */
int ftc_mpi_request_give(struct ftc_mpi_comm *comm, ftc_request *native,
                         struct ftc_mpi_operation *operation, MPI_Request *request);

#endif
