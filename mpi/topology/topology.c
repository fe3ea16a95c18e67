#include "mpi/topology/topology.h"

#include "functions.h"
#include "mpi/object/error.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Copies `count` numbers to *place, which moves behind them; NULL where there are none. */
static int *put(int **place, const int *numbers, int count)
{
    int *copy = *place;
    if (numbers == NULL)
        return NULL;
    if (count > 0)
        memcpy(copy, numbers, (size_t)count * sizeof *copy);
    *place += count;
    return copy;
}

struct ftc_mpi_topology *ftc_mpi_topology_copy(const struct ftc_mpi_topology *t)
{
    int edges = t->nodes > 0 ? t->index[t->nodes - 1] : 0;
    size_t numbers = 2 * (size_t)t->dimensions + (size_t)t->nodes + (size_t)edges +
                     2 * (size_t)t->in_count + 2 * (size_t)t->out_count;
    struct ftc_mpi_topology *copy = malloc(sizeof *copy + numbers * sizeof(int));
    if (copy == NULL)
        return NULL;
    int *place = (int *)(copy + 1);
    *copy = *t;
    copy->sizes = put(&place, t->sizes, t->dimensions);
    copy->periods = put(&place, t->periods, t->dimensions);
    copy->index = put(&place, t->index, t->nodes);
    copy->edges = put(&place, t->edges, edges);
    copy->sources = put(&place, t->sources, t->in_count);
    copy->in_weights = put(&place, t->in_weights, t->in_count);
    copy->targets = put(&place, t->targets, t->out_count);
    copy->out_weights = put(&place, t->out_weights, t->out_count);
    return copy;
}

int ftc_mpi_grid_nodes(int dimensions, const int sizes[])
{
    int nodes = 1;
    for (int d = 0; d < dimensions; d++)
        if (sizes[d] < 0 || __builtin_mul_overflow(nodes, sizes[d], &nodes))
            return -1;
    return nodes;
}

void ftc_mpi_grid_place(const struct ftc_mpi_topology *grid, int rank, int place[])
{
    for (int d = grid->dimensions - 1; d >= 0; d--) {
        place[d] = rank % grid->sizes[d];
        rank /= grid->sizes[d];
    }
}

int ftc_mpi_grid_rank(const struct ftc_mpi_topology *grid, const int place[])
{
    int rank = 0;
    for (int d = 0; d < grid->dimensions; d++) {
        int size = grid->sizes[d], at = place[d];
        if (grid->periods[d])
            at = (at % size + size) % size;
        if (at < 0 || at >= size)
            return MPI_PROC_NULL;
        rank = rank * size + at;
    }
    return rank;
}

int ftc_mpi_grid_step(const struct ftc_mpi_topology *grid, int rank, int dimension, int steps)
{
    int behind = 1; /* ranks from one index of the dimension to the next */
    for (int d = grid->dimensions - 1; d > dimension; d--)
        behind *= grid->sizes[d];
    int size = grid->sizes[dimension], at = rank / behind % size;
    long to = (long)at + steps;
    if (grid->periods[dimension])
        to = (to % size + size) % size;
    return to < 0 || to >= size ? MPI_PROC_NULL : rank + ((int)to - at) * behind;
}

int ftc_mpi_neighbours(const struct ftc_mpi_topology *t, int rank, bool in, int neighbours[])
{
    int count = 0;
    const int *from = NULL;
    if (t->kind == MPI_CART) {
        count = 2 * t->dimensions;
        for (int i = 0; neighbours != NULL && i < count; i++)
            neighbours[i] = ftc_mpi_grid_step(t, rank, i / 2, i % 2 == 0 ? -1 : 1);
        return count;
    }
    if (t->kind == MPI_GRAPH) {
        int first = rank == 0 ? 0 : t->index[rank - 1];
        count = t->index[rank] - first;
        from = t->edges + first;
    } else {
        count = in ? t->in_count : t->out_count;
        from = in ? t->sources : t->targets;
    }
    if (neighbours != NULL && count > 0)
        memcpy(neighbours, from, (size_t)count * sizeof *neighbours);
    return count;
}

/* A division of nodes into factors that do not increase. */
struct division {
    int count, *factors; /* the best one so far; factors[0] is 0: none */
    int *trial;
};

static int spread(int count, const int factors[])
{
    return factors[0] - factors[count - 1];
}

/* The best division has the least between its largest and its smallest factor. Among such the
 * larger smallest one wins, then the larger second smallest one, and so on. */
static bool is_better(const struct division *d)
{
    int at = d->count - 1;
    int trial = spread(d->count, d->trial), best = spread(d->count, d->factors);
    while (at > 0 && d->trial[at] == d->factors[at])
        at--;
    return d->factors[0] == 0 || trial < best || (trial == best && d->trial[at] > d->factors[at]);
}

/* Tries all factors for the places from `at` on. No smallest factor is larger than the root of the
 * nodes, so the first factors end where they are too far above it. */
static void divide(struct division *d, int at, int nodes)
{
    int lowest = 0, above = at == 0 ? nodes : d->trial[at - 1];
    if (at == d->count - 1) {
        d->trial[at] = nodes;
        if (nodes <= above && is_better(d))
            memcpy(d->factors, d->trial, (size_t)d->count * sizeof *d->factors);
        return;
    }
    for (int factor = 1; factor <= above; factor++) {
        int best = d->factors[0] == 0 ? INT_MAX : spread(d->count, d->factors);
        long reach = 1;
        if (nodes % factor != 0 || (at > 0 && d->trial[0] - factor > best))
            continue;
        for (int i = at; i < d->count && reach < nodes; i++)
            reach *= factor;
        if (reach < nodes)
            continue;
        lowest = lowest == 0 ? factor : lowest;
        if (at == 0 && factor - lowest > best)
            return;
        d->trial[at] = factor;
        divide(d, at + 1, nodes / factor);
    }
}

int ftc_mpi_dims_create(int nnodes, int ndims, int dims[])
{
    int fixed = 1, open = 0;
    if (nnodes < 1 || ndims < 0)
        return ftc_mpi_error(MPI_ERR_DIMS, "%d nodes in %d dimensions", nnodes, ndims);
    for (int d = 0; d < ndims; d++) {
        if (dims[d] < 0 || (dims[d] > 0 && __builtin_mul_overflow(fixed, dims[d], &fixed)))
            return ftc_mpi_error(MPI_ERR_DIMS, "dimension %d cannot be %d", d, dims[d]);
        open += dims[d] == 0;
    }
    if (nnodes % fixed != 0 || (open == 0 && nnodes != fixed))
        return ftc_mpi_error(MPI_ERR_DIMS, "%d nodes do not fill dimensions of %d", nnodes, fixed);
    int *factors = calloc((size_t)open * 2 + 1, sizeof *factors);
    if (factors == NULL)
        return ftc_mpi_no_memory();
    if (open > 0)
        divide(&(struct division){open, factors, factors + open}, 0, nnodes / fixed);
    for (int d = 0, i = 0; d < ndims; d++)
        if (dims[d] == 0)
            dims[d] = factors[i++];
    free(factors);
    return MPI_SUCCESS;
}
