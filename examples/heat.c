/*
 * Compute the temperature of a plate whose rim is held warm, by relaxation. The rows of the plate
 * are spread over the ranks, which send their borders to each other. When ranks die, the survivors
 * share out all rows anew, go on, and reach the same temperatures.
 *
 *     ftrun -np 8 -f 2 --kill 3@0.2 --kill 5@0.4 ./heat 24 1
 *
 * arguments: rows and columns within the rim (default 24), pause after each step in milliseconds
 * (default 0)
 *
 *   - In a step each rank relaxes its own rows, and exchanges its first and its last row with the
 *     ranks beside it. Then one allreduce brings to all ranks the squared change, how many ranks
 *     lack a row, and a 1 in a place of each rank's own. If the 1 of a rank is missing, that rank
 *     has died.
 *   - If a rank has died or a row is lacking, and at the end, one more allreduce gathers all rows.
 *     The rows of a dead rank are those that were gathered last, or cold if none were. Every
 *     survivor has the same rows and the same agreed failed set, so each one takes its share of the
 *     rows without asking.
 *   - Relaxation reaches the same end from any beginning. So lost rows cost steps, not correctness.
 *     A computation without this property reads lost rows from a checkpoint: see checkpoint.c.
 */
#include <ftcoll.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENOUGH 1e-20 /* stop when a step's squared change, summed over all cells, is less */

enum { UP, DOWN }; /* tags: to the rank before this one, and to the one behind it */

struct plate {
    ftc_comm *world;
    int rank, size, n, width; /* n rows and columns within the rim; width = n + 2, with the rim */
    bool *owner;              /* owner[rank]: does it own rows? The same at all survivors */
    int first, last;          /* this rank owns the rows first to last - 1, out of 1 to n */
    double *cell;             /* up to date in this rank's rows and in the two rows beside them */
    double *known;            /* all rows as last gathered, the same at all survivors */
    double *sum;              /* buffer of the allreduces */
    long steps, shared_out, lost;
};

/* The rim has the temperature x² - y². The relaxed plate then has it everywhere, so the result can
 * be checked. */
static double exact(const struct plate *p, int row, int column)
{
    double x = (double)column / (p->width - 1), y = (double)row / (p->width - 1);
    return x * x - y * y;
}

/* The rows of a rank. The owners have blocks of nearly the same size, in the order of their
 * ranks. */
static void rows_of(const struct plate *p, int rank, int *first, int *last)
{
    int owners = 0, before = 0;
    for (int i = 0; i < p->size; i++) {
        before += p->owner[i] && i < rank;
        owners += p->owner[i];
    }
    *first = 1 + before * p->n / owners;
    *last = 1 + (before + 1) * p->n / owners;
}

static void give_up(const struct plate *p)
{
    fprintf(stderr, "heat: rank %d: %s\n", p->rank, ftc_last_error());
    ftc_abort(p->world, 1);
}

/* Sum p->sum over the ranks. It holds `count` numbers, and behind them a 1 in the place of each
 * rank that is in the sum. Returns true if all owners are in it. */
static bool everybody(struct plate *p, size_t count)
{
    bool all = true;
    p->sum[count + (size_t)p->rank] = 1;
    if (ftc_allreduce(FTC_IN_PLACE, p->sum, count + (size_t)p->size, FTC_DOUBLE, FTC_SUM,
                      p->world) != 0)
        give_up(p);
    for (int i = 0; i < p->size; i++)
        all &= !p->owner[i] || p->sum[count + (size_t)i] == 1;
    return all;
}

/* Bring all rows to all ranks. From now on the owners are the ranks that were in this sum and are
 * not known to have died since. Returns true if all former owners were in it. */
static bool gather(struct plate *p)
{
    ftc_report report = {.struct_size = sizeof(report)};
    size_t row = (size_t)p->width, cells = row * row;
    memset(p->sum, 0, (cells + (size_t)p->size) * sizeof(double));
    memcpy(&p->sum[(size_t)p->first * row], &p->cell[(size_t)p->first * row],
           (size_t)(p->last - p->first) * row * sizeof(double));
    bool all = everybody(p, cells);
    p->shared_out += !all;
    for (int rank = 0; rank < p->size; rank++) {
        int first, last;
        rows_of(p, rank, &first, &last);
        if (p->owner[rank] && p->sum[cells + (size_t)rank] == 1)
            memcpy(&p->known[(size_t)first * row], &p->sum[(size_t)first * row],
                   (size_t)(last - first) * row * sizeof(double));
        else if (p->owner[rank])
            p->lost += last - first;
    }
    for (int rank = 0; rank < p->size; rank++)
        p->owner[rank] &= p->sum[cells + (size_t)rank] == 1;
    if (ftc_last_report(p->world, &report) != FTC_SUCCESS)
        ftc_abort(p->world, 1);
    for (int i = 0; i < report.failed_count; i++)
        p->owner[report.failed[i]] = false;
    rows_of(p, p->rank, &p->first, &p->last);
    memcpy(p->cell, p->known, cells * sizeof(double));
    return all;
}

/* Relax this rank's rows once. Returns the squared change. */
static double relax(struct plate *p)
{
    double change = 0;
    for (int row = p->first; row < p->last; row++)
        for (int column = 1; column <= p->n; column++) {
            double *cell = &p->cell[row * p->width + column];
            double mean = (cell[-1] + cell[1] + cell[-p->width] + cell[p->width]) / 4;
            change += (mean - *cell) * (mean - *cell);
            *cell = mean;
        }
    return change;
}

/* Begin to exchange one row with the rank `other`. */
static void start_exchange(struct plate *p, int other, int tag, const double *edge, double *halo,
                           ftc_request *requests[2])
{
    size_t row = (size_t)p->width;
    if (ftc_irecv(halo, row, FTC_DOUBLE, other, tag == UP ? DOWN : UP, p->world, &requests[0]) !=
            0 ||
        ftc_isend(edge, row, FTC_DOUBLE, other, tag, p->world, &requests[1]) != 0)
        give_up(p);
}

/* Send this rank's edge rows to the owners next to it, before and behind it, and get theirs.
 * Returns false if a row did not come. */
static bool exchange_edges(struct plate *p)
{
    size_t row = (size_t)p->width, first = (size_t)p->first, last = (size_t)p->last;
    int before = p->rank - 1, behind = p->rank + 1;
    ftc_request *requests[4] = {NULL};
    while (before >= 0 && !p->owner[before])
        before--;
    while (behind < p->size && !p->owner[behind])
        behind++;
    if (before >= 0)
        start_exchange(p, before, UP, &p->cell[first * row], &p->cell[(first - 1) * row], requests);
    if (behind < p->size)
        start_exchange(p, behind, DOWN, &p->cell[(last - 1) * row], &p->cell[last * row],
                       requests + 2);
    int rc = ftc_wait_all(4, requests, NULL);
    if (rc != FTC_SUCCESS && rc != FTC_ERR_RANK_FAILED)
        give_up(p);
    return rc == FTC_SUCCESS;
}

/* One step. Returns true if all owners took part, all rows came, and the change was less than
 * ENOUGH. */
static bool step(struct plate *p)
{
    memset(p->sum, 0, (2 + (size_t)p->size) * sizeof(double));
    p->sum[0] = relax(p);
    p->sum[1] = exchange_edges(p) ? 0 : 1;
    p->steps++;
    if (everybody(p, 2) && p->sum[1] == 0)
        return p->sum[0] < ENOUGH;
    gather(p);
    return false;
}

static bool prepare(struct plate *p, int n)
{
    size_t width = (size_t)n + 2, size = (size_t)p->size;
    p->n = n;
    p->width = n + 2;
    p->owner = malloc(size * sizeof(bool));
    p->cell = calloc(3 * width * width + size + 1, sizeof(double));
    if (p->owner == NULL || p->cell == NULL)
        return false;
    p->known = p->cell + width * width;
    p->sum = p->known + width * width;
    memset(p->owner, true, size);
    rows_of(p, p->rank, &p->first, &p->last);
    for (int i = 0; i < p->width * p->width; i++) {
        int row = i / p->width, column = i % p->width;
        if (row == 0 || row > n || column == 0 || column > n)
            p->cell[i] = p->known[i] = exact(p, row, column);
    }
    return true;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 24;
    long pause_ms = argc > 2 ? atol(argv[2]) : 0;
    struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
    struct plate p = {0};
    double worst = 0;

    if (ftc_init(NULL, &p.world) != FTC_SUCCESS) {
        fprintf(stderr, "heat: %s\n", ftc_last_error());
        return 1;
    }
    p.rank = ftc_rank(p.world);
    p.size = ftc_size(p.world);
    if (n < p.size || n > 2000 || !prepare(&p, n)) {
        fprintf(stderr,
                "heat: no plate of %d x %d: give 1 to 2000, and not less than there are ranks\n", n,
                n);
        ftc_abort(p.world, 2);
    }
    do
        while (!step(&p))
            nanosleep(&pause, NULL);
    while (!gather(&p)); /* if a rank dies in it, rows are lost: go on with the steps */
    for (int i = 0; i < p.width * p.width; i++)
        worst = fmax(worst, fabs(p.known[i] - exact(&p, i / p.width, i % p.width)));
    printf("rank %d: %ld steps, shared out anew %ld times, %ld rows lost, largest error %.1e\n",
           p.rank, p.steps, p.shared_out, p.lost, worst);
    free(p.owner);
    free(p.cell);
    return ftc_finalize(p.world) == FTC_SUCCESS ? 0 : 1;
}
