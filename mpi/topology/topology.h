/*
 * Topologies of communicators: grids (cartesian), graphs that every rank knows, and distributed
 * graphs. Only numbers: no rank is spoken to.
 */
#ifndef FTC_MPI_TOPOLOGY_H
#define FTC_MPI_TOPOLOGY_H

#include "mpi/object/object.h"

/* What a rank has of a topology. The arrays are behind the struct, in its memory. */
struct ftc_mpi_topology {
    int kind;                         /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    int dimensions, *sizes, *periods; /* of a grid */
    int nodes, *index, *edges;        /* of a graph, as MPI_Graph_create() takes them */
    /* Of a distributed graph: this rank's neighbours; without weights those are NULL. */
    int in_count, *sources, *in_weights, out_count, *targets, *out_weights;
};

/* A topology with a copy of the arrays that are not NULL; NULL: no memory. To be freed. */
struct ftc_mpi_topology *ftc_mpi_topology_copy(const struct ftc_mpi_topology *topology);

/* The number of ranks of a grid; -1: a size is negative, or there are too many. */
int ftc_mpi_grid_nodes(int dimensions, const int sizes[]);
/* Coordinates, in row order: the last one changes first. */
void ftc_mpi_grid_place(const struct ftc_mpi_topology *grid, int rank, int place[]);
/* The rank at the coordinates, which wrap where the dimension is periodic; MPI_PROC_NULL: they are
 * outside. */
int ftc_mpi_grid_rank(const struct ftc_mpi_topology *grid, const int place[]);
/* The rank that is `steps` away from `rank` in a dimension. */
int ftc_mpi_grid_step(const struct ftc_mpi_topology *grid, int rank, int dimension, int steps);

/* The neighbours of `rank` in the order of neighbourhood collectives, of `in` those it receives
 * from; a distributed graph knows those of its own rank only. neighbours NULL: only their number.
 */
int ftc_mpi_neighbours(const struct ftc_mpi_topology *topology, int rank, bool in,
                       int neighbours[]);

#endif
