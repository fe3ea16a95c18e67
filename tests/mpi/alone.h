/* MPI in a process that is a job of its own: a fixture of tests that call no other rank. */
#ifndef FTC_TEST_MPI_ALONE_H
#define FTC_TEST_MPI_ALONE_H

#include <mpi.h>
#include <stddef.h>

static inline void start_mpi(void)
{
    MPI_Init(NULL, NULL);
}

static inline void stop_mpi(void)
{
    MPI_Finalize();
}

#endif
