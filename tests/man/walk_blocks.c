/* Calls the functions that gather, scatter, exchange and scan, for walk_app.c. */
#include "tests/man/walk.h"

#include <stdint.h>

#define RANKS 8

/* Arrays of counts: one element of each rank, and the same with nothing of this rank. */
struct counts {
    size_t one[RANKS], none[RANKS], displs[RANKS];
};

static struct counts counts_of(ftc_comm *world)
{
    struct counts c = {{0}, {0}, {0}};

    for (size_t i = 0; i < RANKS; i++) {
        c.one[i] = 1;
        c.none[i] = (int)i != ftc_rank(world);
        c.displs[i] = i;
    }
    return c;
}

static void append(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        ((int32_t *)inout)[i] += 10 * ((const int32_t *)in)[i];
}

static void operators_and_types(ftc_comm *world)
{
    ftc_op op = NULL;
    ftc_type type;
    int32_t value = ftc_rank(world) + 1;

    SEE(FTC_SUCCESS, ftc_op_create_ordered, (append, NULL, &op));
    SEE(FTC_SUCCESS, ftc_type_create, (sizeof(value), &type));
    SEE(FTC_SUCCESS, ftc_scan, (FTC_IN_PLACE, &value, 1, type, op, world));
    MUST(value == (ftc_rank(world) == 0 ? 1 : 12));
    SEE(FTC_SUCCESS, ftc_op_free, (&op));
    SEE(FTC_ERR_ARG, ftc_op_create_ordered, (NULL, NULL, &op));
    SEE(FTC_ERR_ARG, ftc_type_create, (0, &type));
    SEE(FTC_ERR_ARG, ftc_type_create, ((size_t)1 << 30, &type));
    SEE(FTC_ERR_ARG, ftc_type_create, (1, NULL));
}

void walk_blocks(ftc_comm *world)
{
    struct counts c = counts_of(world);
    int32_t mine[RANKS] = {1, 1, 1, 1, 1, 1, 1, 1}, all[RANKS] = {0};
    int me = ftc_rank(world), size = ftc_size(world);

    SEE(FTC_SUCCESS, ftc_allgather, (&mine, all, 1, FTC_INT32, world));
    SEE(FTC_SUCCESS, ftc_allgatherv, (&mine, 1, all, c.one, c.displs, FTC_INT32, world));
    SEE(FTC_SUCCESS, ftc_gather, (&mine, all, 1, FTC_INT32, 0, world));
    SEE(FTC_SUCCESS, ftc_gatherv, (&mine, 1, all, c.one, c.displs, FTC_INT32, 0, world));
    SEE(FTC_SUCCESS, ftc_scatter, (mine, all, 1, FTC_INT32, 0, world));
    SEE(FTC_SUCCESS, ftc_scatterv, (mine, c.one, c.displs, all, 1, FTC_INT32, 0, world));
    SEE(FTC_SUCCESS, ftc_alltoall, (mine, all, 1, FTC_INT32, world));
    SEE(FTC_SUCCESS, ftc_alltoallv,
        (mine, c.one, c.displs, all, c.one, c.displs, FTC_INT32, world));
    MUST(all[0] == 1 && all[size - 1] == 1);
    SEE(FTC_SUCCESS, ftc_reduce_scatter_block, (mine, all, 1, FTC_INT32, FTC_SUM, world));
    SEE(FTC_SUCCESS, ftc_reduce_scatter, (mine, all, c.one, FTC_INT32, FTC_SUM, world));
    MUST(all[0] == size);
    SEE(FTC_SUCCESS, ftc_exscan, (mine, all, 1, FTC_INT32, FTC_SUM, world));
    MUST(all[0] == (me == 0 ? size : me));
    operators_and_types(world);
}

void walk_wrong_blocks(ftc_comm *world)
{
    struct counts c = counts_of(world);
    int32_t in[RANKS] = {0}, out[RANKS] = {0};
    int me = ftc_rank(world);

    SEE(FTC_ERR_ARG, ftc_allgather, (NULL, out, 1, FTC_INT32, world));
    SEE(FTC_ERR_ARG, ftc_allgather, (in, out, SIZE_MAX / 8, FTC_INT32, world));
    SEE(FTC_ERR_ARG, ftc_allgatherv, (in, 2, out, c.one, c.displs, FTC_INT32, world));
    SEE(FTC_ERR_ARG, ftc_gather, (in, NULL, 1, FTC_INT32, me, world));
    SEE(FTC_ERR_ARG, ftc_gather, (in, out, 1, FTC_INT32, -1, world));
    SEE(FTC_ERR_ARG, ftc_gatherv, (in, 1, out, NULL, NULL, FTC_INT32, me, world));
    SEE(FTC_ERR_ARG, ftc_gatherv, (in, 1, out, c.none, c.displs, FTC_INT32, me, world));
    SEE(FTC_ERR_ARG, ftc_scatter, (NULL, out, 1, FTC_INT32, me, world));
    SEE(FTC_ERR_ARG, ftc_scatter, (in, FTC_IN_PLACE, 1, FTC_INT32, 1 - me, world));
    SEE(FTC_ERR_ARG, ftc_scatterv, (in, c.one, c.displs, NULL, 1, FTC_INT32, me, world));
    SEE(FTC_ERR_ARG, ftc_alltoall, (in, NULL, 1, FTC_INT32, world));
    SEE(FTC_ERR_ARG, ftc_alltoallv, (in, c.none, c.displs, out, c.one, c.displs, FTC_INT32, world));
    c.displs[0] = SIZE_MAX / 4;
    SEE(FTC_ERR_ARG, ftc_alltoallv, (in, c.one, c.displs, out, c.one, c.displs, FTC_INT32, world));
    SEE(FTC_ERR_ARG, ftc_reduce_scatter_block, (in, NULL, 1, FTC_INT32, FTC_SUM, world));
    SEE(FTC_ERR_TYPE, ftc_reduce_scatter_block, (in, out, 1, FTC_FLOAT, FTC_BAND, world));
    SEE(FTC_ERR_ARG, ftc_reduce_scatter, (in, out, NULL, FTC_INT32, FTC_SUM, world));
    SEE(FTC_ERR_TYPE, ftc_reduce_scatter, (in, out, c.one, FTC_FLOAT, FTC_BAND, world));
    SEE(FTC_ERR_ARG, ftc_scan, (in, NULL, 1, FTC_INT32, FTC_SUM, world));
    SEE(FTC_ERR_TYPE, ftc_scan, (in, out, 1, FTC_FLOAT, FTC_BAND, world));
    SEE(FTC_ERR_ARG, ftc_exscan, (in, out, 1, FTC_INT32, FTC_AVG, world));
    SEE(FTC_ERR_TYPE, ftc_exscan, (in, out, 1, FTC_FLOAT, FTC_BAND, world));
}

void walk_refused_blocks(ftc_comm *world, int code)
{
    size_t one[RANKS] = {1, 1, 1, 1, 1, 1, 1, 1}, displs[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    int32_t in[RANKS] = {0}, out[RANKS] = {0};

    SEE(code, ftc_allgather, (in, out, 1, FTC_INT32, world));
    SEE(code, ftc_allgatherv, (in, 1, out, one, displs, FTC_INT32, world));
    SEE(code, ftc_gather, (in, out, 1, FTC_INT32, 0, world));
    SEE(code, ftc_gatherv, (in, 1, out, one, displs, FTC_INT32, 0, world));
    SEE(code, ftc_scatter, (in, out, 1, FTC_INT32, 0, world));
    SEE(code, ftc_scatterv, (in, one, displs, out, 1, FTC_INT32, 0, world));
    SEE(code, ftc_alltoall, (in, out, 1, FTC_INT32, world));
    SEE(code, ftc_alltoallv, (in, one, displs, out, one, displs, FTC_INT32, world));
    SEE(code, ftc_reduce_scatter_block, (in, out, 1, FTC_INT32, FTC_SUM, world));
    SEE(code, ftc_reduce_scatter, (in, out, one, FTC_INT32, FTC_SUM, world));
    SEE(code, ftc_scan, (in, out, 1, FTC_INT32, FTC_SUM, world));
    SEE(code, ftc_exscan, (in, out, 1, FTC_INT32, FTC_SUM, world));
}

/* Each rank is the root of a scatter, so that none waits for another one. */
void walk_blocks_without_memory(ftc_comm *world)
{
    struct counts c = counts_of(world);
    double in = 0, out = 0;
    int me = ftc_rank(world), other = 1 - me;

    c.one[other] = TOO_MANY;
    SEE(FTC_ERR_NOMEM, ftc_scatterv, (&in, c.one, c.displs, &out, 1, FTC_DOUBLE, me, world));
    SEE(FTC_ERR_NOMEM, ftc_alltoallv,
        (&in, c.one, c.displs, &out, c.one, c.displs, FTC_DOUBLE, world));
}
