/*
 * A grid of q x q ranks, with a communicator for each row and each column. When ranks die, the
 * survivors form the largest grid that they can, and go on.
 *
 *     ftrun -np 9 --kill 4@0.3 ./grid
 */
#include <ftcoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct grid {
    ftc_comm *world;        /* of the job */
    ftc_comm *all;          /* of the survivors: the world until ranks die */
    ftc_comm *row, *column; /* NULL at a rank that has no place in the grid */
    int q;
};

static void check(int rc)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "grid: %s\n", ftc_last_error());
    exit(1); /* a failed rank: the others go on without it */
}

/* Rank i * q + j of the survivors is in row i and column j. */
static void form(struct grid *g)
{
    int rank = ftc_rank(g->all);
    g->q = 1;
    while ((g->q + 1) * (g->q + 1) <= ftc_size(g->all))
        g->q++;
    int placed = rank < g->q * g->q, i = rank / g->q, j = rank % g->q;
    check(ftc_comm_split(g->all, placed ? i : FTC_UNDEFINED, j, &g->row));
    check(ftc_comm_split(g->all, placed ? j : FTC_UNDEFINED, i, &g->column));
}

static int sum(int32_t number, ftc_comm *comm)
{
    if (comm != NULL)
        check(ftc_allreduce(FTC_IN_PLACE, &number, 1, FTC_INT32, FTC_SUM, comm));
    return number;
}

static int failed_in(ftc_comm *comm)
{
    int count = 0;
    if (comm != NULL)
        check(ftc_validate_global(comm, &count));
    return count;
}

static void give_up(ftc_comm **comm)
{
    if (*comm != NULL)
        check(ftc_comm_free(comm));
}

static void form_anew(struct grid *g)
{
    ftc_comm *before = g->all;
    int in_all = failed_in(before), in_row = failed_in(g->row), in_column = failed_in(g->column);
    printf("rank %d: failed: %d of %d, in my row %d, in my column %d\n", ftc_rank(g->world), in_all,
           ftc_size(before), in_row, in_column);
    check(ftc_comm_shrink(before, &g->all));
    give_up(&g->row);
    give_up(&g->column);
    if (before != g->world)
        give_up(&before);
    form(g);
}

int main(void)
{
    struct timespec pause = {.tv_nsec = 10000000}; /* for the drill */
    struct grid g = {0};
    int along = 0, down = 0;

    check(ftc_init(NULL, &g.world));
    g.all = g.world;
    form(&g);
    for (int step = 0; step < 200;) {
        along = sum(ftc_rank(g.all), g.row);
        down = sum(ftc_rank(g.all), g.column);
        if (sum(1, g.all) < ftc_size(g.all)) { /* the same at all survivors */
            form_anew(&g);
            continue;
        }
        step++;
        nanosleep(&pause, NULL);
    }
    if (g.row != NULL)
        printf("rank %d: %d x %d, the row has %d, the column %d\n", ftc_rank(g.world), g.q, g.q,
               along, down);
    return ftc_finalize(g.world) == FTC_SUCCESS ? 0 : 1;
}
