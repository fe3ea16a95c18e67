/*
 * The measuring loop, the same for ftcoll and its peers:
 *
 *   loop SECONDS OPERATION:BYTES...     OPERATION: a name of the table `operations`
 *
 * BYTES are those that a rank gives to, or gets from, each other rank: of an allreduce the value,
 * of an allgather, gather, scatter, alltoall and reduce_scatter a block, as in the benchmarks of
 * others. Rank 0 prints a line for each point:
 *
 *   library operation np bytes iterations median_us p99_us
 *
 * A batch (series.h) is a barrier, the start of the clock, K operations, a barrier and the stop of
 * the clock. The root is always 0, so an operation with a root can overlap with the next one. The
 * closing barrier makes the figure valid for all ranks. If barriers are measured, it is the last of
 * the K. p99 is the quantile over the batches. The last result of every point is checked on every
 * rank.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/library.h"
#include "bench/peers/series.h"

#define BYTES_MAX (1L << 30)

typedef void operation_fn(struct library *library, const double *send, double *recv, size_t count);
/* Returns the right value of element i of the result, if each block has `count` elements. */
typedef double wanted_fn(const struct library *library, size_t count, size_t i);

struct operation {
    const char *name;
    operation_fn *run; /* NULL: the barrier, which the loop calls itself */
    wanted_fn *wanted;
    bool sends_all, gets_all; /* a block for each rank, from each rank; else one block */
    bool rooted;              /* the root alone has a result */
};

struct point {
    const struct operation *operation;
    size_t count; /* number of doubles in a block */
    double *send, *recv;
};

/* --- results --- */

/* Element i of the input of rank r. Sums are exact and differ between neighbouring elements. */
static double input(int rank, size_t i)
{
    return rank + 1 + (double)(i % 7);
}

/* Of the inputs of the ranks 0 .. ranks-1. */
static double sum(int ranks, size_t i)
{
    return (double)ranks * (ranks + 1) / 2 + ranks * (double)(i % 7);
}

static double wanted_sum(const struct library *library, size_t count, size_t i)
{
    (void)count;
    return sum(library->size, i);
}

static double wanted_root(const struct library *library, size_t count, size_t i)
{
    (void)library;
    (void)count;
    return input(0, i);
}

static double wanted_block(const struct library *library, size_t count, size_t i)
{
    (void)library;
    return input((int)(i / count), i % count);
}

static double wanted_part(const struct library *library, size_t count, size_t i)
{
    return input(0, (size_t)library->rank * count + i);
}

static double wanted_parts(const struct library *library, size_t count, size_t i)
{
    return input((int)(i / count), (size_t)library->rank * count + i % count);
}

static double wanted_part_of_sum(const struct library *library, size_t count, size_t i)
{
    return sum(library->size, (size_t)library->rank * count + i);
}

static double wanted_sum_so_far(const struct library *library, size_t count, size_t i)
{
    (void)count;
    return sum(library->rank + 1, i);
}

static void bcast(struct library *library, const double *send, double *recv, size_t count)
{
    (void)send;
    library_bcast(library, recv, count);
}

static const struct operation operations[] = {
    {.name = "barrier"},
    {.name = "allreduce", .run = library_allreduce, .wanted = wanted_sum},
    {.name = "reduce", .run = library_reduce, .wanted = wanted_sum, .rooted = true},
    {.name = "bcast", .run = bcast, .wanted = wanted_root},
    {.name = "allgather", .run = library_allgather, .wanted = wanted_block, .gets_all = true},
    {.name = "gather",
     .run = library_gather,
     .wanted = wanted_block,
     .gets_all = true,
     .rooted = true},
    {.name = "scatter", .run = library_scatter, .wanted = wanted_part, .sends_all = true},
    {.name = "alltoall",
     .run = library_alltoall,
     .wanted = wanted_parts,
     .sends_all = true,
     .gets_all = true},
    {.name = "reduce_scatter",
     .run = library_reduce_scatter,
     .wanted = wanted_part_of_sum,
     .sends_all = true},
    {.name = "scan", .run = library_scan, .wanted = wanted_sum_so_far},
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* --- points --- */

static bool point_parse(struct point *point, const char *word)
{
    const char *colon = strchr(word, ':');
    char *end;
    if (colon == NULL)
        return false;
    long bytes = strtol(colon + 1, &end, 10);
    if (*end != '\0' || bytes <= 0 || bytes > BYTES_MAX || bytes % (long)sizeof(double) != 0)
        return false;
    for (size_t i = 0; i < OPERATIONS; i++)
        if (strlen(operations[i].name) == (size_t)(colon - word) &&
            strncmp(operations[i].name, word, (size_t)(colon - word)) == 0) {
            *point = (struct point){.operation = &operations[i],
                                    .count = (size_t)bytes / sizeof(double)};
            return true;
        }
    return false;
}

static double *allocate(struct library *library, size_t count)
{
    size_t bytes = (count * sizeof(double) + 4095) / 4096 * 4096;
    double *memory = aligned_alloc(4096, bytes);

    if (memory == NULL) {
        fprintf(stderr, "loop: out of memory: no %zu bytes; measure smaller sizes\n", bytes);
        library_abort(library);
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

static size_t count_of(const struct point *point, const struct library *library, bool all)
{
    return all ? point->count * (size_t)library->size : point->count;
}

static void point_prepare(struct point *point, struct library *library)
{
    size_t sends = count_of(point, library, point->operation->sends_all);

    point->send = allocate(library, sends);
    point->recv = allocate(library, count_of(point, library, point->operation->gets_all));
    for (size_t i = 0; i < sends; i++)
        point->send[i] = input(library->rank, i);
    if (point->operation->run == bcast && library->rank == 0)
        memcpy(point->recv, point->send, point->count * sizeof(double));
}

/* The closing barrier is the last one of the barriers that are measured. */
static void run(const struct point *point, struct library *library, long count)
{
    operation_fn *operation = point->operation->run;

    for (long i = 1; operation == NULL && i < count; i++)
        library_barrier(library);
    for (long i = 0; operation != NULL && i < count; i++)
        operation(library, point->send, point->recv, point->count);
}

static double run_batch(const struct point *point, struct library *library, long count)
{
    library_barrier(library);
    double start = series_now();
    run(point, library, count);
    library_barrier(library);
    return series_now() - start;
}

static void check(const struct point *point, struct library *library)
{
    const struct operation *operation = point->operation;
    size_t count = count_of(point, library, operation->gets_all);

    if (operation->wanted == NULL || (operation->rooted && library->rank != 0))
        return;
    for (size_t i = 0; i < count; i++) {
        double wanted = operation->wanted(library, point->count, i);
        if (point->recv[i] == wanted)
            continue;
        fprintf(stderr, "loop: %s of %zu doubles: element %zu on rank %d is %g, not %g\n",
                operation->name, point->count, i, library->rank, point->recv[i], wanted);
        library_abort(library);
    }
}

/* Only rank 0 decides how the point goes on. The others learn it outside of the timed part. */
static void measure(struct point *point, struct library *library, struct series *series,
                    double seconds)
{
    point_prepare(point, library);
    double count = (double)series_start(series, seconds);
    while (count > 0) {
        double elapsed = run_batch(point, library, (long)count);
        if (library->rank == 0)
            count = (double)series_next(series, elapsed);
        library_bcast(library, &count, 1);
    }
    check(point, library);
    free(point->send);
    free(point->recv);
}

static void report(const struct point *point, const struct library *library, struct series *series)
{
    size_t bytes = point->operation->run == NULL ? 0 : point->count * sizeof(double);
    printf("%s %s %d %zu %ld %.4f %.4f\n", LIBRARY_NAME, point->operation->name, library->size,
           bytes, series->total, series_quantile(series, 0.5), series_quantile(series, 0.99));
    fflush(stdout); /* because the run may be cut short */
}

static int usage(void)
{
    fputs("usage: loop SECONDS OPERATION:BYTES...\nOPERATION:", stderr);
    for (size_t i = 0; i < OPERATIONS; i++)
        fprintf(stderr, " %s", operations[i].name);
    fputs("; BYTES: a multiple of 8, at most 1 GiB\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static struct series series;
    struct library library;
    struct point point;
    double seconds = argc > 2 ? atof(argv[1]) : 0;
    bool usable = seconds > 0;
    for (int i = 2; i < argc; i++)
        usable = usable && point_parse(&point, argv[i]);
    if (!usable)
        return usage();
    library_init(&library);
    point = (struct point){.operation = &operations[0], .count = 1};
    measure(&point, &library, &series,
            seconds); /* this point is not reported: a job that has just started is slower */
    for (int i = 2; i < argc; i++) {
        point_parse(&point, argv[i]);
        measure(&point, &library, &series, seconds);
        if (library.rank == 0)
            report(&point, &library, &series);
    }
    library_finalize(&library);
    return 0;
}
