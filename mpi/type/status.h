/* What a status has beyond its three public members: the number of bytes, and whether the
 * operation was cancelled. */
#ifndef FTC_MPI_STATUS_H
#define FTC_MPI_STATUS_H

#include "mpi/object/object.h"

/* Fills *status, which may be MPI_STATUS_IGNORE, but for MPI_ERROR: only calls that finish several
 * requests set that. */
void ftc_mpi_status_set(MPI_Status *status, int source, int tag, MPI_Count bytes);
/* Copies `from` to *status in the same way. */
void ftc_mpi_status_copy(MPI_Status *status, const MPI_Status *from);
/* The status of no operation. */
void ftc_mpi_status_empty(MPI_Status *status);
MPI_Count ftc_mpi_status_bytes(const MPI_Status *status);

#endif
