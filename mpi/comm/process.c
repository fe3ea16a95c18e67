/* The one process that all calls of MPI are for. */
#include "mpi/comm/comm.h"

struct ftc_mpi_process ftc_mpi_process;
