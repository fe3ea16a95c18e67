/*
 * Multiply two matrices on a grid of q x q ranks by SUMMA (van de Geijn, Watts 1997). When ranks
 * die, the survivors form the largest grid that they can, and compute what is missing.
 *
 *     ftrun -np 9 ./matmul --kill 4 --kill 7
 *
 * arguments: blocks in a row of a matrix (default 12); --kill RANK: this rank kills itself at a
 * step that is drawn; --seed NUMBER: draw the same steps again
 *
 *   - The grid computes q x q blocks of C at a time, a tile. In each step of a tile one rank of
 *     each row broadcasts a block of A in its row, and one of each column a block of B in its
 *     column. Each rank adds their product to its block of C.
 *   - A tile ends by an allreduce among all survivors, in which each rank has a place. The blocks
 *     of the ranks that came are finished, and stay where they are. If a place is empty, that rank
 *     has died. Then the survivors shrink, and form a new grid.
 *   - Each block of A and B follows from its indices, so nobody needs the memory of a dead rank. If
 *     the root of a broadcast has failed, the others compute its block themselves. Blocks of C that
 *     a dead rank had finished are computed again, by the ranks of the new grid.
 */
#include <ftcoll.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIDE   16 /* rows and columns of a block */
#define NOBODY (-1)

struct job {
    ftc_comm *world, *all; /* all: the survivors, as far as they have agreed */
    ftc_comm *row, *column;
    int rank, q, i, j; /* rank in the world; place in the grid. i is NOBODY if it has none */
    int blocks, n;     /* blocks and numbers in a row of a matrix */
    int *owner; /* of each block of C: the rank that has finished it. Same at all survivors */
    double (*c)[SIDE * SIDE]; /* C; only the blocks of this rank are used */
    int32_t *came;            /* buffer of the allreduces */
    long steps, last_step, computed, grids;
};

static void need(const struct job *job, bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "matmul: rank %d: %s: %s\n", job->rank, what, ftc_last_error());
    ftc_abort(job->world, 1);
}

/* Block (row, column) of A, whose elements are r + c, or of B, whose elements are r - c. */
static void fill(double block[SIDE][SIDE], int row, int column, int sign)
{
    for (int r = 0; r < SIDE; r++)
        for (int c = 0; c < SIDE; c++)
            block[r][c] = row * SIDE + r + sign * (column * SIDE + c);
}

/* Element (r, c) of C: the sum of (r + k) (k - c) over all k < n. */
static double exact(double n, double r, double c)
{
    return (n - 1) * n * (2 * n - 1) / 6 + (r - c) * (n - 1) * n / 2 - n * r * c;
}

/* Bring a block of A or B to a row or a column. The root has it from its indices, as all may. */
static void spread(const struct job *job, double block[SIDE][SIDE], int row, int column, int sign,
                   int root, ftc_comm *comm)
{
    if (ftc_rank(comm) == root)
        fill(block, row, column, sign);
    int rc = ftc_bcast(block, (size_t)SIDE * SIDE, FTC_DOUBLE, root, comm);
    if (rc == FTC_ERR_ROOT_FAILED)
        fill(block, row, column, sign);
    else
        need(job, rc == FTC_SUCCESS, "broadcast");
}

/* Count the ranks of `all` that come: came[r] is 1 if rank r did. Returns true if all did. */
static bool everybody(struct job *job)
{
    int size = ftc_size(job->all), count = 0;
    memset(job->came, 0, (size_t)size * sizeof(int32_t));
    job->came[ftc_rank(job->all)] = 1;
    int rc = ftc_allreduce(FTC_IN_PLACE, job->came, (size_t)size, FTC_INT32, FTC_SUM, job->all);
    need(job, rc == 0, "allreduce");
    for (int r = 0; r < size; r++)
        count += job->came[r];
    return count == size;
}

/* Compute the block of C of this rank in the tile whose first block is (top, left). */
static void compute(struct job *job, int top, int left)
{
    double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE] = {{0}};
    int row = top + job->i, column = left + job->j, place = row * job->blocks + column;
    bool inside = row < job->blocks && column < job->blocks;
    bool missing = inside && job->owner[place] == NOBODY;
    for (int k = 0; k < job->blocks; k++) {
        if (job->steps++ == job->last_step)
            raise(SIGKILL);
        if (row < job->blocks)
            spread(job, a, row, k, 1, k % job->q, job->row);
        if (column < job->blocks)
            spread(job, b, k, column, -1, k % job->q, job->column);
        for (int e = 0; missing && e < SIDE * SIDE * SIDE; e++)
            c[e / SIDE / SIDE][e % SIDE] +=
                a[e / SIDE / SIDE][e / SIDE % SIDE] * b[e / SIDE % SIDE][e % SIDE];
    }
    if (missing)
        memcpy(job->c[place], c, sizeof(c));
    job->computed += missing;
}

/* Note the owners of a tile: the ranks that came to its end. */
static void note_owners(struct job *job, int top, int left)
{
    for (int r = 0; r < job->q * job->q; r++) {
        int row = top + r / job->q, column = left + r % job->q;
        if (row < job->blocks && column < job->blocks && job->came[r] &&
            job->owner[row * job->blocks + column] == NOBODY)
            job->owner[row * job->blocks + column] = ftc_comm_translate(job->all, r, job->world);
    }
}

/* Compute all tiles that are not finished. Returns false if the survivors find that one died. */
static bool compute_all(struct job *job)
{
    for (int block = 0; block < job->blocks * job->blocks; block++) {
        int row = block / job->blocks, column = block % job->blocks;
        int top = row - row % job->q, left = column - column % job->q;
        if (job->owner[block] != NOBODY)
            continue;
        if (job->i != NOBODY)
            compute(job, top, left);
        bool all = everybody(job);
        note_owners(job, top, left);
        if (!all)
            return false;
    }
    return true;
}

static void give_up(const struct job *job, ftc_comm **comm)
{
    if (*comm != NULL && *comm != job->world)
        need(job, ftc_comm_free(comm) == 0, "free");
}

/* Split the survivors into rows and columns. Returns true if no rank is missing in them. */
static bool split(struct job *job)
{
    int rank = ftc_rank(job->all), size = ftc_size(job->all);
    job->q = (int)sqrt(size);
    bool placed = rank < job->q * job->q;
    job->i = placed ? rank / job->q : NOBODY;
    job->j = placed ? rank % job->q : NOBODY;
    int row = placed ? job->i : FTC_UNDEFINED, column = placed ? job->j : FTC_UNDEFINED;
    give_up(job, &job->row);
    give_up(job, &job->column);
    need(job, ftc_comm_split(job->all, row, job->j, &job->row) == 0, "split");
    need(job, ftc_comm_split(job->all, column, job->i, &job->column) == 0, "split");
    job->grids++;
    return everybody(job);
}

/* Leave the dead out. What they had finished is to be computed again. */
static void form_anew(struct job *job)
{
    ftc_comm *before = job->all;
    need(job, ftc_comm_shrink(before, &job->all) == 0, "shrink");
    give_up(job, &before);
    for (int block = 0; block < job->blocks * job->blocks; block++)
        if (job->owner[block] != NOBODY &&
            ftc_comm_translate(job->world, job->owner[block], job->all) == FTC_UNDEFINED)
            job->owner[block] = NOBODY;
}

/* Compare this rank's blocks of C with the formula. Returns true if the survivors have all blocks:
 * an owner may have died after its last tile. */
static bool is_complete(const struct job *job)
{
    int32_t count[2] = {0, 0}; /* blocks, and those that are wrong */
    for (int block = 0; block < job->blocks * job->blocks; block++) {
        int row = block / job->blocks * SIDE, column = block % job->blocks * SIDE, wrong = 0;
        if (job->owner[block] != job->rank)
            continue;
        for (int e = 0; e < SIDE * SIDE; e++)
            wrong |= job->c[block][e] != exact(job->n, row + e / SIDE, column + e % SIDE);
        count[0]++;
        count[1] += wrong;
    }
    int rc = ftc_allreduce(FTC_IN_PLACE, count, 2, FTC_INT32, FTC_SUM, job->all);
    need(job, rc == 0, "allreduce");
    if (count[0] < job->blocks * job->blocks)
        return false;
    printf("rank %d: %d blocks, %d wrong; computed %ld; grids: %ld, the last one %d x %d\n",
           job->rank, (int)count[0], (int)count[1], job->computed, job->grids, job->q, job->q);
    return true;
}

/* Read the arguments. With --kill this rank dies in one of the steps that it would take. */
static void prepare(struct job *job, int argc, char **argv)
{
    unsigned seed = (unsigned)time(NULL);
    bool killed = false;
    job->blocks = 12;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--kill") == 0 && i + 1 < argc)
            killed |= atoi(argv[++i]) == job->rank;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            job->blocks = atoi(argv[i]);
    }
    int size = ftc_size(job->world), q = (int)sqrt(size);
    need(job, q * q == size, "the number of ranks is no square");
    need(job, job->blocks > 0 && job->blocks <= 64, "give 1 to 64 blocks");
    int tiles = (job->blocks + q - 1) / q;
    srand(seed + (unsigned)job->rank);
    job->last_step = killed ? rand() % (tiles * tiles * job->blocks) : -1;
    if (killed)
        fprintf(stderr, "matmul: rank %d dies at step %ld, by seed %u\n", job->rank, job->last_step,
                seed);
    job->n = job->blocks * SIDE;
    job->owner = malloc((size_t)(job->blocks * job->blocks) * sizeof(int));
    job->c = calloc((size_t)(job->blocks * job->blocks), sizeof(job->c[0]));
    job->came = malloc((size_t)size * sizeof(int32_t));
    need(job, job->owner != NULL && job->c != NULL && job->came != NULL, "memory");
    for (int block = 0; block < job->blocks * job->blocks; block++)
        job->owner[block] = NOBODY;
}

int main(int argc, char **argv)
{
    struct job job = {0};

    if (ftc_init(NULL, &job.world) != FTC_SUCCESS) {
        fprintf(stderr, "matmul: %s\n", ftc_last_error());
        return 1;
    }
    job.all = job.world;
    job.rank = ftc_rank(job.world);
    prepare(&job, argc, argv);
    while (!split(&job) || !compute_all(&job) || !is_complete(&job))
        form_anew(&job);
    free(job.c);
    free(job.owner);
    free(job.came);
    return ftc_finalize(job.world) == FTC_SUCCESS ? 0 : 1;
}
