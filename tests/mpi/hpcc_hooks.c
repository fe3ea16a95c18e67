/*
 * Is linked to HPCC, whose sources stay as they are (tests/mpi/hpcc). The environment says what it
 * does:
 *
 *   HPCC_SECTIONS=star          only those sections run in which each rank computes alone, and all
 *                               meet in barriers, reductions, gathers and broadcasts of rank 0
 *   HPCC_SECTIONS=star+latency  and the one that measures messages between the ranks
 *   HPCC_DEATH=RANK:CALL        RANK kills itself in call number CALL of those below, counted from
 *                               the end of HPCC_Init() on
 */
#include <hpcc.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __real_HPCC_Init(HPCC_Params *params);
int __wrap_HPCC_Init(HPCC_Params *params);

static int calls = -1000000; /* before HPCC_Init() has ended */

/* The linker sends calls of HPCC_Init() here (--wrap). */
int __wrap_HPCC_Init(HPCC_Params *params)
{
    int error = __real_HPCC_Init(params);
    const char *sections = getenv("HPCC_SECTIONS");

    calls = 0;
    if (sections == NULL)
        return error;
    params->RunMPIRandomAccess = params->RunSingleRandomAccess = 0;
    params->RunMPIRandomAccess_LCG = params->RunSingleRandomAccess_LCG = 0;
    params->RunPTRANS = params->RunSingleDGEMM = params->RunSingleStream = 0;
    params->RunMPIFFT = params->RunSingleFFT = params->RunHPL = 0;
    params->RunLatencyBandwidth = strcmp(sections, "star") != 0;
    return error;
}

static void count_call(void)
{
    const char *death = getenv("HPCC_DEATH");
    int rank, dying, last;

    calls++;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (death != NULL && sscanf(death, "%d:%d", &dying, &last) == 2 && rank == dying &&
        calls == last)
        raise(SIGKILL);
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm)
{
    count_call();
    return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
               int root, MPI_Comm comm)
{
    count_call();
    return PMPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    count_call();
    return PMPI_Bcast(buffer, count, datatype, root, comm);
}
