/*
 * The few collective calls that the programs of this folder make. They go to ftcoll or, if PEER_MPI
 * is defined, to the MPI library whose compiler wrapper builds the program. The type is double, the
 * operator is sum, and the root is 0. A collective call with a `request` starts the operation, and
 * library_wait_all() ends it; with NULL the call blocks. An error ends the job.
 */
#ifndef FTC_BENCH_PEERS_LIBRARY_H
#define FTC_BENCH_PEERS_LIBRARY_H

#include <stddef.h>

#ifdef PEER_MPI
#include <mpi.h>

/* The error handler of MPI ends the job, so return codes are not checked. */
struct library {
    int rank, size;
};

typedef MPI_Request library_request;

/* A call without or with a request. The arguments are those before the communicator. */
#define CALL(NAME, STARTS, ...)                                                                    \
    (request == NULL ? MPI_##NAME(__VA_ARGS__, MPI_COMM_WORLD)                                     \
                     : MPI_##STARTS(__VA_ARGS__, MPI_COMM_WORLD, request))

#ifdef OPEN_MPI
#define LIBRARY_NAME "openmpi"
#else
#define LIBRARY_NAME "mpich"
#endif

static inline void library_init(struct library *library)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &library->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &library->size);
}

static inline void library_finalize(struct library *library)
{
    (void)library;
    MPI_Finalize();
}

static inline void library_abort(struct library *library)
{
    (void)library;
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void library_allreduce(struct library *library, const double *send, double *recv,
                                     size_t count, library_request *request)
{
    (void)library;
    CALL(Allreduce, Iallreduce, send, recv, (int)count, MPI_DOUBLE, MPI_SUM);
}

static inline void library_reduce(struct library *library, const double *send, double *recv,
                                  size_t count, library_request *request)
{
    (void)library;
    CALL(Reduce, Ireduce, send, recv, (int)count, MPI_DOUBLE, MPI_SUM, 0);
}

static inline void library_reduce_max(struct library *library, const double *send, double *recv)
{
    (void)library;
    MPI_Reduce(send, recv, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

static inline void library_bcast(struct library *library, double *buffer, size_t count,
                                 library_request *request)
{
    (void)library;
    CALL(Bcast, Ibcast, buffer, (int)count, MPI_DOUBLE, 0);
}

static inline void library_allgather(struct library *library, const double *send, double *recv,
                                     size_t count, library_request *request)
{
    (void)library;
    CALL(Allgather, Iallgather, send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE);
}

static inline void library_gather(struct library *library, const double *send, double *recv,
                                  size_t count, library_request *request)
{
    (void)library;
    CALL(Gather, Igather, send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE, 0);
}

static inline void library_scatter(struct library *library, const double *send, double *recv,
                                   size_t count, library_request *request)
{
    (void)library;
    CALL(Scatter, Iscatter, send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE, 0);
}

static inline void library_alltoall(struct library *library, const double *send, double *recv,
                                    size_t count, library_request *request)
{
    (void)library;
    CALL(Alltoall, Ialltoall, send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE);
}

static inline void library_reduce_scatter(struct library *library, const double *send, double *recv,
                                          size_t count, library_request *request)
{
    (void)library;
    CALL(Reduce_scatter_block, Ireduce_scatter_block, send, recv, (int)count, MPI_DOUBLE, MPI_SUM);
}

static inline void library_scan(struct library *library, const double *send, double *recv,
                                size_t count, library_request *request)
{
    (void)library;
    CALL(Scan, Iscan, send, recv, (int)count, MPI_DOUBLE, MPI_SUM);
}

static inline void library_barrier(struct library *library, library_request *request)
{
    (void)library;
    request == NULL ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Ibarrier(MPI_COMM_WORLD, request);
}

static inline void library_wait_all(struct library *library, library_request *requests, int count)
{
    (void)library;
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* A message to or from a rank. */
static inline void library_send(struct library *library, const double *send, size_t count, int to,
                                library_request *request)
{
    (void)library;
    CALL(Send, Isend, send, (int)count, MPI_DOUBLE, to, 0);
}

static inline void library_recv(struct library *library, double *recv, size_t count, int from,
                                library_request *request)
{
    (void)library;
    if (request == NULL)
        MPI_Recv(recv, (int)count, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Irecv(recv, (int)count, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, request);
}

/* Make a communicator, and free it. */
static inline void library_comm_dup(struct library *library)
{
    MPI_Comm copy;
    (void)library;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_free(&copy);
}

static inline void library_comm_split(struct library *library, int color)
{
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, color, library->rank, &part);
    MPI_Comm_free(&part);
}

#else
#include <ftcoll.h>
#include <stdio.h>
#include <stdlib.h>

struct library {
    int rank, size;
    ftc_comm *world;
};

typedef ftc_request *library_request;

#define CALL(NAME, ...)                                                                            \
    (request == NULL ? ftc_##NAME(__VA_ARGS__, library->world)                                     \
                     : ftc_i##NAME(__VA_ARGS__, library->world, request))

#define LIBRARY_NAME "ftcoll"

static inline void library_abort(struct library *library)
{
    ftc_abort(library->world, 1);
}

static inline void library_must(struct library *library, int error)
{
    if (error == FTC_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s\n", library->rank, ftc_last_error());
    library_abort(library);
}

static inline void library_init(struct library *library)
{
    if (ftc_init(NULL, &library->world) != FTC_SUCCESS) {
        fprintf(stderr, "cannot join the job: %s\n", ftc_last_error());
        exit(1);
    }
    library->rank = ftc_rank(library->world);
    library->size = ftc_size(library->world);
}

static inline void library_finalize(struct library *library)
{
    library_must(library, ftc_finalize(library->world));
}

static inline void library_allreduce(struct library *library, const double *send, double *recv,
                                     size_t count, library_request *request)
{
    library_must(library, CALL(allreduce, send, recv, count, FTC_DOUBLE, FTC_SUM));
}

static inline void library_reduce(struct library *library, const double *send, double *recv,
                                  size_t count, library_request *request)
{
    library_must(library, CALL(reduce, send, recv, count, FTC_DOUBLE, FTC_SUM, 0));
}

static inline void library_reduce_max(struct library *library, const double *send, double *recv)
{
    library_must(library, ftc_reduce(send, recv, 1, FTC_DOUBLE, FTC_MAX, 0, library->world));
}

static inline void library_bcast(struct library *library, double *buffer, size_t count,
                                 library_request *request)
{
    library_must(library, CALL(bcast, buffer, count, FTC_DOUBLE, 0));
}

static inline void library_allgather(struct library *library, const double *send, double *recv,
                                     size_t count, library_request *request)
{
    library_must(library, CALL(allgather, send, recv, count, FTC_DOUBLE));
}

static inline void library_gather(struct library *library, const double *send, double *recv,
                                  size_t count, library_request *request)
{
    library_must(library, CALL(gather, send, recv, count, FTC_DOUBLE, 0));
}

static inline void library_scatter(struct library *library, const double *send, double *recv,
                                   size_t count, library_request *request)
{
    library_must(library, CALL(scatter, send, recv, count, FTC_DOUBLE, 0));
}

static inline void library_alltoall(struct library *library, const double *send, double *recv,
                                    size_t count, library_request *request)
{
    library_must(library, CALL(alltoall, send, recv, count, FTC_DOUBLE));
}

static inline void library_reduce_scatter(struct library *library, const double *send, double *recv,
                                          size_t count, library_request *request)
{
    library_must(library, CALL(reduce_scatter_block, send, recv, count, FTC_DOUBLE, FTC_SUM));
}

static inline void library_scan(struct library *library, const double *send, double *recv,
                                size_t count, library_request *request)
{
    library_must(library, CALL(scan, send, recv, count, FTC_DOUBLE, FTC_SUM));
}

static inline void library_barrier(struct library *library, library_request *request)
{
    library_must(library, request == NULL ? ftc_barrier(library->world)
                                          : ftc_ibarrier(library->world, request));
}

static inline void library_wait_all(struct library *library, library_request *requests, int count)
{
    library_must(library, ftc_wait_all(count, requests, NULL));
}

static inline void library_send(struct library *library, const double *send, size_t count, int to,
                                library_request *request)
{
    library_must(library, CALL(send, send, count, FTC_DOUBLE, to, 0));
}

static inline void library_recv(struct library *library, double *recv, size_t count, int from,
                                library_request *request)
{
    library_must(library,
                 request == NULL
                     ? ftc_recv(recv, count, FTC_DOUBLE, from, 0, library->world, NULL)
                     : ftc_irecv(recv, count, FTC_DOUBLE, from, 0, library->world, request));
}

static inline void library_comm_dup(struct library *library)
{
    ftc_comm *copy;
    library_must(library, ftc_comm_dup(library->world, &copy));
    library_must(library, ftc_comm_free(&copy));
}

static inline void library_comm_split(struct library *library, int color)
{
    ftc_comm *part;
    library_must(library, ftc_comm_split(library->world, color, library->rank, &part));
    library_must(library, ftc_comm_free(&part));
}
#endif

#endif
