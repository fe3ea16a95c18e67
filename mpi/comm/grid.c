/* Communicators with a grid. Ranks are never reordered: where they run is not known here. */
#include "mpi/comm/topologies.h"

#include "functions.h"

#include <stdlib.h>

int ftc_mpi_topology_check(const struct ftc_mpi_comm *c, int kind)
{
    if (c->topology == NULL || c->topology->kind != kind)
        return ftc_mpi_error(MPI_ERR_TOPOLOGY, "%s has no topology of this kind", c->name);
    return MPI_SUCCESS;
}

/* A part of the parent, with a copy of the topology. */
static int give_part(struct ftc_mpi_comm *parent, const struct ftc_mpi_topology *topology,
                     int color, int key, MPI_Comm *newcomm)
{
    struct ftc_mpi_topology *copy = ftc_mpi_topology_copy(topology);
    if (copy == NULL)
        return ftc_mpi_no_memory();
    int rc = ftc_mpi_comm_part(parent, color, key, newcomm);
    struct ftc_mpi_comm *made = rc == MPI_SUCCESS ? ftc_mpi_comm_of(*newcomm) : NULL;
    if (made != NULL)
        made->topology = copy;
    else
        free(copy);
    return rc;
}

int ftc_mpi_topology_give(struct ftc_mpi_comm *parent, const struct ftc_mpi_topology *topology,
                          int nodes, MPI_Comm *newcomm)
{
    *newcomm = MPI_COMM_NULL;
    if (nodes < 0 || nodes > parent->size)
        return ftc_mpi_error(MPI_ERR_TOPOLOGY, "the topology has more nodes than %s has ranks (%d)",
                             parent->name, parent->size);
    return give_part(parent, topology, parent->rank < nodes ? 0 : -1, parent->rank, newcomm);
}

static struct ftc_mpi_topology grid_of(int ndims, const int dims[], const int periods[])
{
    return (struct ftc_mpi_topology){
        .kind = MPI_CART, .dimensions = ndims, .sizes = (int *)dims, .periods = (int *)periods};
}

static int check_grid(int ndims, const int dims[])
{
    if (ndims < 0)
        return ftc_mpi_error(MPI_ERR_DIMS, "a grid of %d dimensions", ndims);
    for (int d = 0; d < ndims; d++)
        if (dims[d] < 1)
            return ftc_mpi_error(MPI_ERR_DIMS, "dimension %d has %d nodes", d, dims[d]);
    return MPI_SUCCESS;
}

int ftc_mpi_cart_create(struct ftc_mpi_comm *c, int ndims, const int dims[], const int periods[],
                        MPI_Comm *comm_cart)
{
    int rc = check_grid(ndims, dims);
    if (rc != MPI_SUCCESS)
        return rc;
    struct ftc_mpi_topology grid = grid_of(ndims, dims, periods);
    int nodes = ftc_mpi_grid_nodes(ndims, dims);
    return ftc_mpi_topology_give(c, &grid, nodes < 0 ? c->size + 1 : nodes, comm_cart);
}

int ftc_mpi_cart_map(struct ftc_mpi_comm *c, int ndims, const int dims[], int *newrank)
{
    int rc = check_grid(ndims, dims);
    if (rc != MPI_SUCCESS)
        return rc;
    int nodes = ftc_mpi_grid_nodes(ndims, dims);
    if (nodes < 0 || nodes > c->size)
        return ftc_mpi_error(MPI_ERR_DIMS, "the grid has more nodes than %s has ranks", c->name);
    *newrank = c->rank < nodes ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* Copies the coordinates of the rank, as far as there is room. */
static int copy_place(const struct ftc_mpi_topology *grid, int rank, int room, int place[])
{
    if (room < grid->dimensions)
        return ftc_mpi_error(MPI_ERR_ARG, "room for %d of %d dimensions", room, grid->dimensions);
    ftc_mpi_grid_place(grid, rank, place);
    return MPI_SUCCESS;
}

int ftc_mpi_cart_get(struct ftc_mpi_comm *c, int maxdims, int dims[], int periods[], int coords[])
{
    int rc = copy_place(c->topology, c->rank, maxdims, coords);
    for (int d = 0; rc == MPI_SUCCESS && d < c->topology->dimensions; d++) {
        dims[d] = c->topology->sizes[d];
        periods[d] = c->topology->periods[d] != 0;
    }
    return rc;
}

int ftc_mpi_cart_coords(struct ftc_mpi_comm *c, int rank, int maxdims, int coords[])
{
    if (rank < 0 || rank >= c->size)
        return ftc_mpi_error(MPI_ERR_RANK, "rank %d of %d", rank, c->size);
    return copy_place(c->topology, rank, maxdims, coords);
}

int ftc_mpi_cart_rank(struct ftc_mpi_comm *c, const int coords[], int *rank)
{
    int found = ftc_mpi_grid_rank(c->topology, coords);
    if (found == MPI_PROC_NULL)
        return ftc_mpi_error(MPI_ERR_ARG, "the coordinates are outside of the grid");
    *rank = found;
    return MPI_SUCCESS;
}

int ftc_mpi_cart_shift(struct ftc_mpi_comm *c, int direction, int disp, int *rank_source,
                       int *rank_dest)
{
    if (direction < 0 || direction >= c->topology->dimensions)
        return ftc_mpi_error(MPI_ERR_DIMS, "dimension %d of %d", direction,
                             c->topology->dimensions);
    *rank_source = ftc_mpi_grid_step(c->topology, c->rank, direction, -disp);
    *rank_dest = ftc_mpi_grid_step(c->topology, c->rank, direction, disp);
    return MPI_SUCCESS;
}

/* The ranks whose coordinates are the same in the dimensions that are left out are a part. */
int ftc_mpi_cart_sub(struct ftc_mpi_comm *c, const int remain_dims[], MPI_Comm *newcomm)
{
    const struct ftc_mpi_topology *grid = c->topology;
    int n = grid->dimensions, color = 0, key = 0, kept = 0;
    int *numbers = malloc(((size_t)n * 3 + 1) * sizeof *numbers);
    if (numbers == NULL)
        return ftc_mpi_no_memory();
    int *place = numbers, *sizes = numbers + n, *periods = numbers + 2 * n;
    ftc_mpi_grid_place(grid, c->rank, place);
    for (int d = 0; d < n; d++) {
        if (!remain_dims[d]) {
            color = color * grid->sizes[d] + place[d];
            continue;
        }
        key = key * grid->sizes[d] + place[d];
        sizes[kept] = grid->sizes[d];
        periods[kept++] = grid->periods[d];
    }
    struct ftc_mpi_topology part = grid_of(kept, sizes, periods);
    if (kept == 0) /* a grid without dimensions has one rank */
        color = c->rank == 0 ? 0 : -1;
    int rc = give_part(c, &part, color, key, newcomm);
    free(numbers);
    return rc;
}
