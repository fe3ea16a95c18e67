/* What grids and graphs share. */
#ifndef FTC_MPI_TOPOLOGIES_H
#define FTC_MPI_TOPOLOGIES_H

#include "mpi/comm/comm.h"

/* MPI_ERR_TOPOLOGY if the communicator has no topology of this kind. */
int ftc_mpi_topology_check(const struct ftc_mpi_comm *c, int kind);

/* A communicator of the first `nodes` ranks of the parent, with a copy of the topology; the others
 * get MPI_COMM_NULL. Collective. */
int ftc_mpi_topology_give(struct ftc_mpi_comm *parent, const struct ftc_mpi_topology *topology,
                          int nodes, MPI_Comm *newcomm);

#endif
