/*
 * The few collective calls that the programs of this folder make. They go to ftcoll or, if PEER_MPI
 * is defined, to the MPI library whose compiler wrapper builds the program. The type is double, the
 * operator is sum, and the root is 0. An error ends the job.
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
                                     size_t count)
{
    (void)library;
    MPI_Allreduce(send, recv, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline void library_reduce(struct library *library, const double *send, double *recv,
                                  size_t count)
{
    (void)library;
    MPI_Reduce(send, recv, (int)count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static inline void library_reduce_max(struct library *library, const double *send, double *recv)
{
    (void)library;
    MPI_Reduce(send, recv, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

static inline void library_bcast(struct library *library, double *buffer, size_t count)
{
    (void)library;
    MPI_Bcast(buffer, (int)count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static inline void library_allgather(struct library *library, const double *send, double *recv,
                                     size_t count)
{
    (void)library;
    MPI_Allgather(send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static inline void library_gather(struct library *library, const double *send, double *recv,
                                  size_t count)
{
    (void)library;
    MPI_Gather(send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static inline void library_scatter(struct library *library, const double *send, double *recv,
                                   size_t count)
{
    (void)library;
    MPI_Scatter(send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static inline void library_alltoall(struct library *library, const double *send, double *recv,
                                    size_t count)
{
    (void)library;
    MPI_Alltoall(send, (int)count, MPI_DOUBLE, recv, (int)count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static inline void library_reduce_scatter(struct library *library, const double *send, double *recv,
                                          size_t count)
{
    (void)library;
    MPI_Reduce_scatter_block(send, recv, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline void library_scan(struct library *library, const double *send, double *recv,
                                size_t count)
{
    (void)library;
    MPI_Scan(send, recv, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static inline void library_barrier(struct library *library)
{
    (void)library;
    MPI_Barrier(MPI_COMM_WORLD);
}

#else
#include <ftcoll.h>
#include <stdio.h>
#include <stdlib.h>

struct library {
    int rank, size;
    ftc_comm *world;
};

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
                                     size_t count)
{
    library_must(library, ftc_allreduce(send, recv, count, FTC_DOUBLE, FTC_SUM, library->world));
}

static inline void library_reduce(struct library *library, const double *send, double *recv,
                                  size_t count)
{
    library_must(library, ftc_reduce(send, recv, count, FTC_DOUBLE, FTC_SUM, 0, library->world));
}

static inline void library_reduce_max(struct library *library, const double *send, double *recv)
{
    library_must(library, ftc_reduce(send, recv, 1, FTC_DOUBLE, FTC_MAX, 0, library->world));
}

static inline void library_bcast(struct library *library, double *buffer, size_t count)
{
    library_must(library, ftc_bcast(buffer, count, FTC_DOUBLE, 0, library->world));
}

static inline void library_allgather(struct library *library, const double *send, double *recv,
                                     size_t count)
{
    library_must(library, ftc_allgather(send, recv, count, FTC_DOUBLE, library->world));
}

static inline void library_gather(struct library *library, const double *send, double *recv,
                                  size_t count)
{
    library_must(library, ftc_gather(send, recv, count, FTC_DOUBLE, 0, library->world));
}

static inline void library_scatter(struct library *library, const double *send, double *recv,
                                   size_t count)
{
    library_must(library, ftc_scatter(send, recv, count, FTC_DOUBLE, 0, library->world));
}

static inline void library_alltoall(struct library *library, const double *send, double *recv,
                                    size_t count)
{
    library_must(library, ftc_alltoall(send, recv, count, FTC_DOUBLE, library->world));
}

static inline void library_reduce_scatter(struct library *library, const double *send, double *recv,
                                          size_t count)
{
    library_must(library,
                 ftc_reduce_scatter_block(send, recv, count, FTC_DOUBLE, FTC_SUM, library->world));
}

static inline void library_scan(struct library *library, const double *send, double *recv,
                                size_t count)
{
    library_must(library, ftc_scan(send, recv, count, FTC_DOUBLE, FTC_SUM, library->world));
}

static inline void library_barrier(struct library *library)
{
    library_must(library, ftc_barrier(library->world));
}
#endif

#endif
