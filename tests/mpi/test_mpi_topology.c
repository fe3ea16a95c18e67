/* Topologies: the numbers of grids and graphs. */
#include <mpi.h>

#include "mpi/topology/topology.h"
#include "tests/mpi/alone.h"
#include "tests/random.h"
#include "tests/suite.h"

#include <string.h>

/* The smallest greatest factor of `nodes` in `open` factors, by trying all. */
static int best_factor(int nodes, int open)
{
    if (open == 1)
        return nodes;
    int best = nodes;
    for (int f = 1; f <= nodes; f++)
        if (nodes % f == 0) {
            int rest = best_factor(nodes / f, open - 1), most = rest > f ? rest : f;
            best = most < best ? most : best;
        }
    return best;
}

START_TEST(dimensions_are_balanced)
{
    struct test_random random = test_random_start();
    for (int round = 0; round < 2000; round++) {
        int dims[4], ndims = (int)test_random_between(&random, 1, 4), product = 1, open = 0;
        int nodes = (int)test_random_between(&random, 1, 200), fixed = 1;
        for (int d = 0; d < ndims; d++) {
            dims[d] = test_random_chance(&random, 30) ? (int)test_random_between(&random, 1, 4) : 0;
            fixed *= dims[d] > 0 ? dims[d] : 1;
            open += dims[d] == 0;
        }
        int asked[4];
        memcpy(asked, dims, sizeof asked);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        bool possible = nodes % fixed == 0 && (open > 0 || nodes == fixed);
        ck_assert_int_eq(MPI_Dims_create(nodes, ndims, dims),
                         possible ? MPI_SUCCESS : MPI_ERR_DIMS);
        if (!possible)
            continue;
        int before = 1 << 30;
        for (int d = 0; d < ndims; d++) {
            product *= dims[d];
            if (asked[d] > 0) {
                ck_assert_int_eq(dims[d], asked[d]);
                continue;
            }
            ck_assert_int_le(dims[d], before);
            if (before == 1 << 30)
                ck_assert_int_eq(dims[d], best_factor(nodes / fixed, open));
            before = dims[d];
        }
        ck_assert_int_eq(product, nodes);
    }
}
END_TEST

START_TEST(places_and_ranks)
{
    struct test_random random = test_random_start();
    for (int round = 0; round < 500; round++) {
        int sizes[3], periods[3], place[3], moved[3],
            ndims = (int)test_random_between(&random, 0, 3);
        for (int d = 0; d < ndims; d++) {
            sizes[d] = (int)test_random_between(&random, 1, 4);
            periods[d] = test_random_chance(&random, 50);
        }
        struct ftc_mpi_topology grid = {
            .kind = MPI_CART, .dimensions = ndims, .sizes = sizes, .periods = periods};
        int nodes = ftc_mpi_grid_nodes(ndims, sizes);
        for (int rank = 0; rank < nodes; rank++) {
            ftc_mpi_grid_place(&grid, rank, place);
            ck_assert_int_eq(ftc_mpi_grid_rank(&grid, place), rank);
            for (int d = 0; d < ndims; d++) {
                int steps = (int)test_random_between(&random, -9, 9);
                memcpy(moved, place, sizeof moved);
                moved[d] += steps;
                ck_assert_int_eq(ftc_mpi_grid_step(&grid, rank, d, steps),
                                 ftc_mpi_grid_rank(&grid, moved));
            }
        }
    }
}
END_TEST

START_TEST(a_grid_of_one_rank)
{
    int dims[2] = {1, 1}, periods[2] = {1, 0}, coords[2] = {9, 9}, source, target, status;
    MPI_Comm grid, line;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    MPI_Topo_test(grid, &status);
    ck_assert_int_eq(status, MPI_CART);
    MPI_Cart_coords(grid, 0, 2, coords);
    ck_assert(coords[0] == 0 && coords[1] == 0);
    MPI_Cart_shift(grid, 0, 1, &source, &target);
    ck_assert(source == 0 && target == 0);
    MPI_Cart_shift(grid, 1, 1, &source, &target);
    ck_assert(source == MPI_PROC_NULL && target == MPI_PROC_NULL);
    int keep[2] = {0, 1}, number;
    MPI_Cart_sub(grid, keep, &line);
    MPI_Cartdim_get(line, &number);
    ck_assert_int_eq(number, 1);
    int send[4] = {1, 2, 3, 4}, recv[4] = {-1, -1, -1, -1};
    MPI_Neighbor_alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, grid);
    ck_assert(recv[0] == 2 && recv[1] == 1); /* what goes down comes from above */
    ck_assert(recv[2] == -1 && recv[3] == -1);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    ck_assert_int_eq(MPI_Cart_shift(grid, 2, 1, &source, &target), MPI_ERR_DIMS);
    coords[1] = 1;
    ck_assert_int_eq(MPI_Cart_rank(grid, coords, &number), MPI_ERR_ARG);
    ck_assert_int_eq(MPI_Graphdims_get(grid, &number, &status), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&line);
    MPI_Comm_free(&grid);
}
END_TEST

START_TEST(graphs_of_one_rank)
{
    int index[1] = {2}, edges[2] = {0, 0}, nodes, count, weighted, out;
    int weights[2] = {5, 6}, sources[2], in_weights[2], targets[2], out_weights[2];
    MPI_Comm graph, spread;
    MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &graph);
    MPI_Graphdims_get(graph, &nodes, &count);
    ck_assert(nodes == 1 && count == 2);
    MPI_Graph_neighbors_count(graph, 0, &count);
    ck_assert_int_eq(count, 2);
    MPI_Comm_free(&graph);
    int source = 0, degree = 2;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, edges, weights, MPI_INFO_NULL, 0,
                          &spread);
    MPI_Dist_graph_neighbors_count(spread, &count, &out, &weighted);
    ck_assert(count == 2 && out == 2 && weighted == 1);
    MPI_Dist_graph_neighbors(spread, 2, sources, in_weights, 2, targets, out_weights);
    ck_assert(sources[1] == 0 && in_weights[1] == 6 && targets[0] == 0 && out_weights[0] == 5);
    MPI_Comm_free(&spread);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                   MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &spread);
    MPI_Dist_graph_neighbors_count(spread, &count, &out, &weighted);
    ck_assert(count == 0 && out == 0 && weighted == 1);
    MPI_Comm_free(&spread);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mpi_topology");
    TCase *tc = tcase_create("topology");
    test_seed_announce();
    tcase_add_checked_fixture(tc, start_mpi, stop_mpi);
    tcase_add_test(tc, dimensions_are_balanced);
    tcase_add_test(tc, places_and_ranks);
    tcase_add_test(tc, a_grid_of_one_rank);
    tcase_add_test(tc, graphs_of_one_rank);
    suite_add_tcase(suite, tc);
    return test_suite_run(suite);
}
