/* Communicators with a graph. */
#include "mpi/comm/topologies.h"

#include "functions.h"

#include <stdlib.h>
#include <string.h>

/* --- graphs that every rank knows --- */

static int check_graph(int nnodes, const int indx[], const int edges[])
{
    for (int i = 0; i < nnodes; i++)
        if (indx[i] < (i == 0 ? 0 : indx[i - 1]))
            return ftc_mpi_error(MPI_ERR_ARG, "index %d of the graph decreases", i);
    for (int i = 0; nnodes > 0 && i < indx[nnodes - 1]; i++)
        if (edges[i] < 0 || edges[i] >= nnodes)
            return ftc_mpi_error(MPI_ERR_ARG, "edge %d leads to node %d of %d", i, edges[i],
                                 nnodes);
    return nnodes < 0 ? ftc_mpi_error(MPI_ERR_ARG, "a graph of %d nodes", nnodes) : MPI_SUCCESS;
}

int ftc_mpi_graph_create(struct ftc_mpi_comm *c, int nnodes, const int indx[], const int edges[],
                         MPI_Comm *comm_graph)
{
    int rc = check_graph(nnodes, indx, edges);
    if (rc != MPI_SUCCESS)
        return rc;
    struct ftc_mpi_topology graph = {
        .kind = MPI_GRAPH, .nodes = nnodes, .index = (int *)indx, .edges = (int *)edges};
    return ftc_mpi_topology_give(c, &graph, nnodes, comm_graph);
}

int ftc_mpi_graph_map(struct ftc_mpi_comm *c, int nnodes, const int indx[], const int edges[],
                      int *newrank)
{
    int rc = check_graph(nnodes, indx, edges);
    if (rc == MPI_SUCCESS)
        *newrank = c->rank < nnodes ? c->rank : MPI_UNDEFINED;
    return rc;
}

int ftc_mpi_graphdims_get(struct ftc_mpi_comm *c, int *nnodes, int *nedges)
{
    *nnodes = c->topology->nodes;
    *nedges = c->topology->nodes == 0 ? 0 : c->topology->index[c->topology->nodes - 1];
    return MPI_SUCCESS;
}

/* Copies what there is room for. */
static void copy_numbers(int to[], int room, const int from[], int count)
{
    if (room > 0 && count > 0)
        memcpy(to, from, (size_t)(room < count ? room : count) * sizeof *to);
}

int ftc_mpi_graph_get(struct ftc_mpi_comm *c, int maxindex, int maxedges, int indx[], int edges[])
{
    int nodes, count;
    ftc_mpi_graphdims_get(c, &nodes, &count);
    copy_numbers(indx, maxindex, c->topology->index, nodes);
    copy_numbers(edges, maxedges, c->topology->edges, count);
    return MPI_SUCCESS;
}

static int check_node(const struct ftc_mpi_comm *c, int rank)
{
    return rank >= 0 && rank < c->size
               ? MPI_SUCCESS
               : ftc_mpi_error(MPI_ERR_RANK, "rank %d of %d", rank, c->size);
}

int ftc_mpi_graph_neighbors_count(struct ftc_mpi_comm *c, int rank, int *nneighbors)
{
    int rc = check_node(c, rank);
    if (rc == MPI_SUCCESS)
        *nneighbors = ftc_mpi_neighbours(c->topology, rank, true, NULL);
    return rc;
}

int ftc_mpi_graph_neighbors(struct ftc_mpi_comm *c, int rank, int maxneighbors, int neighbors[])
{
    int rc = check_node(c, rank);
    if (rc != MPI_SUCCESS)
        return rc;
    const struct ftc_mpi_topology *graph = c->topology;
    int first = rank == 0 ? 0 : graph->index[rank - 1];
    copy_numbers(neighbors, maxneighbors, graph->edges + first, graph->index[rank] - first);
    return MPI_SUCCESS;
}

/* --- distributed graphs --- */

static const int *weights_of(const int *weights)
{
    return weights == MPI_UNWEIGHTED || weights == MPI_WEIGHTS_EMPTY ? NULL : weights;
}

/* A node without edges tells by MPI_WEIGHTS_EMPTY that the graph has weights. */
static int no_weights;

static int check_ranks(const struct ftc_mpi_comm *c, int count, const int ranks[])
{
    if (count < 0)
        return ftc_mpi_error(MPI_ERR_ARG, "%d edges", count);
    for (int i = 0; i < count; i++)
        if (ranks[i] < 0 || ranks[i] >= c->size)
            return ftc_mpi_error(MPI_ERR_RANK, "an edge with rank %d of %d", ranks[i], c->size);
    return MPI_SUCCESS;
}

int ftc_mpi_dist_graph_create_adjacent(struct ftc_mpi_comm *c, int indegree, const int sources[],
                                       const int sourceweights[], int outdegree,
                                       const int destinations[], const int destweights[],
                                       MPI_Comm *comm_dist_graph)
{
    int rc = check_ranks(c, indegree, sources);
    if (rc == MPI_SUCCESS)
        rc = check_ranks(c, outdegree, destinations);
    if (rc != MPI_SUCCESS)
        return rc;
    bool weighted = sourceweights != MPI_UNWEIGHTED || destweights != MPI_UNWEIGHTED;
    struct ftc_mpi_topology graph = {
        .kind = MPI_DIST_GRAPH,
        .in_count = indegree,
        .sources = indegree > 0 ? (int *)sources : &no_weights,
        .in_weights = indegree > 0 ? (int *)weights_of(sourceweights) : NULL,
        .out_count = outdegree,
        .targets = outdegree > 0 ? (int *)destinations : &no_weights,
        .out_weights = outdegree > 0 ? (int *)weights_of(destweights) : NULL,
    };
    if (weighted && graph.in_weights == NULL && indegree == 0)
        graph.in_weights = &no_weights;
    if (weighted && graph.out_weights == NULL && outdegree == 0)
        graph.out_weights = &no_weights;
    return ftc_mpi_topology_give(c, &graph, c->size, comm_dist_graph);
}

/* An edge of a graph, as a rank tells all others of it. */
struct edge {
    int source, target, weight;
};

/* The edges that all ranks give, in *all with *count; the order is that of the ranks. */
static int gather_edges(struct ftc_mpi_comm *c, const struct edge *own, int own_count,
                        struct edge **all, int *count)
{
    int *counts = calloc((size_t)c->size, sizeof *counts);
    size_t *bytes = calloc((size_t)c->size * 2, sizeof *bytes), *places = bytes + c->size;
    int rc = counts == NULL || bytes == NULL ? ftc_mpi_no_memory() : MPI_SUCCESS;
    *all = NULL;
    *count = 0;
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_comm_outcome(c, c->native,
                                  ftc_allgather(&own_count, counts, 1, FTC_INT32, c->native));
    for (int r = 0; rc == MPI_SUCCESS && r < c->size; r++) {
        places[r] = (size_t)*count * sizeof(struct edge);
        bytes[r] = (size_t)counts[r] * sizeof(struct edge);
        *count += counts[r];
    }
    if (rc == MPI_SUCCESS) {
        *all = calloc((size_t)*count + 1, sizeof(struct edge));
        rc = *all == NULL ? ftc_mpi_no_memory()
                          : ftc_mpi_comm_outcome(c, c->native,
                                                 ftc_allgatherv(own, bytes[c->rank], *all, bytes,
                                                                places, FTC_UINT8, c->native));
    }
    free(counts);
    free(bytes);
    return rc;
}

/* The graph of the edges that begin or end at this rank. */
static int choose_edges(struct ftc_mpi_comm *c, const struct edge *all, int count, bool weighted,
                        MPI_Comm *comm_dist_graph)
{
    int *numbers = malloc(((size_t)count * 4 + 1) * sizeof *numbers);
    if (numbers == NULL)
        return ftc_mpi_no_memory();
    struct ftc_mpi_topology graph = {.kind = MPI_DIST_GRAPH,
                                     .sources = numbers,
                                     .in_weights = numbers + count,
                                     .targets = numbers + 2 * count,
                                     .out_weights = numbers + 3 * count};
    for (int i = 0; i < count; i++) {
        if (all[i].target == c->rank) {
            graph.sources[graph.in_count] = all[i].source;
            graph.in_weights[graph.in_count++] = all[i].weight;
        }
        if (all[i].source == c->rank) {
            graph.targets[graph.out_count] = all[i].target;
            graph.out_weights[graph.out_count++] = all[i].weight;
        }
    }
    if (!weighted)
        graph.in_weights = graph.out_weights = NULL;
    int rc = ftc_mpi_topology_give(c, &graph, c->size, comm_dist_graph);
    free(numbers);
    return rc;
}

int ftc_mpi_dist_graph_create(struct ftc_mpi_comm *c, int n, const int sources[],
                              const int degrees[], const int destinations[], const int weights[],
                              MPI_Comm *comm_dist_graph)
{
    int own_count = 0, count = 0;
    for (int i = 0; i < n; i++)
        own_count += degrees[i];
    int rc = check_ranks(c, n, sources);
    if (rc == MPI_SUCCESS)
        rc = check_ranks(c, own_count, destinations);
    if (rc != MPI_SUCCESS)
        return rc;
    const int *own_weights = weights_of(weights);
    struct edge *all, *own = calloc((size_t)own_count + 1, sizeof *own);
    if (own == NULL)
        return ftc_mpi_no_memory();
    for (int i = 0, e = 0; i < n; i++)
        for (int k = 0; k < degrees[i]; k++, e++)
            own[e] = (struct edge){sources[i], destinations[e],
                                   own_weights == NULL ? 0 : own_weights[e]};
    ftc_mpi_comm_enter(c);
    rc = gather_edges(c, own, own_count, &all, &count);
    if (rc == MPI_SUCCESS)
        rc = choose_edges(c, all, count, weights != MPI_UNWEIGHTED, comm_dist_graph);
    ftc_mpi_comm_leave(c);
    free(all);
    free(own);
    return rc;
}

int ftc_mpi_dist_graph_neighbors_count(struct ftc_mpi_comm *c, int *indegree, int *outdegree,
                                       int *weighted)
{
    *indegree = c->topology->in_count;
    *outdegree = c->topology->out_count;
    *weighted = c->topology->in_weights != NULL || c->topology->out_weights != NULL;
    return MPI_SUCCESS;
}

int ftc_mpi_dist_graph_neighbors(struct ftc_mpi_comm *c, int maxindegree, int sources[],
                                 int sourceweights[], int maxoutdegree, int destinations[],
                                 int destweights[])
{
    const struct ftc_mpi_topology *t = c->topology;
    copy_numbers(sources, maxindegree, t->sources, t->in_count);
    copy_numbers(destinations, maxoutdegree, t->targets, t->out_count);
    if (t->in_weights != NULL && weights_of(sourceweights) != NULL)
        copy_numbers(sourceweights, maxindegree, t->in_weights, t->in_count);
    if (t->out_weights != NULL && weights_of(destweights) != NULL)
        copy_numbers(destweights, maxoutdegree, t->out_weights, t->out_count);
    return MPI_SUCCESS;
}
