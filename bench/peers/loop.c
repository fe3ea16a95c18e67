/*
 * The measuring loop, the same for ftcoll and its peers:
 *
 *   loop SECONDS OPERATION:BYTES...     OPERATION: allreduce, reduce, bcast or barrier
 *
 * Rank 0 prints a line for each point: library operation np bytes iterations median_us p99_us
 *
 * A batch (series.h) is a barrier, the start of the clock, K operations, a barrier and the stop of
 * the clock. The root is always 0, so a reduce or bcast can overlap with the next one. The closing
 * barrier makes the figure valid for all ranks. If barriers are measured, it is the last of the K.
 * p99 is the quantile over the batches. The last result of every point is checked on every rank.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/library.h"
#include "bench/peers/series.h"

#define BYTES_MAX (1L << 30)

enum operation { ALLREDUCE, REDUCE, BCAST, BARRIER, OPERATION_COUNT };

static const char *const operation_names[OPERATION_COUNT] = {"allreduce", "reduce", "bcast",
                                                             "barrier"};

struct point {
    enum operation operation;
    size_t count; /* number of doubles */
    double *send, *recv;
};

static bool point_parse(struct point *point, const char *word)
{
    const char *colon = strchr(word, ':');
    char *end;
    if (colon == NULL)
        return false;
    long bytes = strtol(colon + 1, &end, 10);
    if (*end != '\0' || bytes <= 0 || bytes > BYTES_MAX || bytes % (long)sizeof(double) != 0)
        return false;
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (strlen(operation_names[i]) == (size_t)(colon - word) &&
            strncmp(operation_names[i], word, (size_t)(colon - word)) == 0) {
            *point = (struct point){.operation = (enum operation)i,
                                    .count = (size_t)bytes / sizeof(double)};
            return true;
        }
    return false;
}

/* The input of rank r. Its sums are exact and differ between neighbouring elements. */
static double input(int rank, size_t i)
{
    return rank + 1 + (double)(i % 7);
}

static void point_prepare(struct point *point, struct library *library)
{
    size_t bytes = (point->count * sizeof(double) + 4095) / 4096 * 4096;
    point->send = aligned_alloc(4096, bytes);
    point->recv = aligned_alloc(4096, bytes);
    if (point->send == NULL || point->recv == NULL) {
        fprintf(
            stderr,
            "loop: out of memory: two buffers of %zu bytes for each rank; measure smaller sizes\n",
            bytes);
        library_abort(library);
    }
    for (size_t i = 0; i < point->count; i++)
        point->send[i] = input(library->rank, i);
    memset(point->recv, 0, bytes);
    if (point->operation == BCAST && library->rank == 0)
        memcpy(point->recv, point->send, bytes);
}

static void run(const struct point *point, struct library *library, long operations)
{
    switch (point->operation) {
    case ALLREDUCE:
        for (long i = 0; i < operations; i++)
            library_allreduce(library, point->send, point->recv, point->count);
        break;
    case REDUCE:
        for (long i = 0; i < operations; i++)
            library_reduce(library, point->send, point->recv, point->count);
        break;
    case BCAST:
        for (long i = 0; i < operations; i++)
            library_bcast(library, point->recv, point->count);
        break;
    default: /* BARRIER; the closing barrier is the last of the operations */
        for (long i = 1; i < operations; i++)
            library_barrier(library);
    }
}

static double run_batch(const struct point *point, struct library *library, long operations)
{
    library_barrier(library);
    double start = series_now();
    run(point, library, operations);
    library_barrier(library);
    return series_now() - start;
}

static void check(const struct point *point, struct library *library)
{
    double np = library->size;
    bool has_result = point->operation == ALLREDUCE || point->operation == BCAST ||
                      (point->operation == REDUCE && library->rank == 0);
    for (size_t i = 0; has_result && i < point->count; i++) {
        double sum = np * (np + 1) / 2 + np * (double)(i % 7);
        double wanted = point->operation == BCAST ? input(0, i) : sum;
        if (point->recv[i] != wanted) {
            fprintf(stderr, "loop: %s of %zu doubles: element %zu on rank %d is %g, not %g\n",
                    operation_names[point->operation], point->count, i, library->rank,
                    point->recv[i], wanted);
            library_abort(library);
        }
    }
}

/* Only rank 0 decides how the point goes on. The others learn it outside of the timed part. */
static void measure(struct point *point, struct library *library, struct series *series,
                    double seconds)
{
    point_prepare(point, library);
    double operations = (double)series_start(series, seconds);
    while (operations > 0) {
        double elapsed = run_batch(point, library, (long)operations);
        if (library->rank == 0)
            operations = (double)series_next(series, elapsed);
        library_bcast(library, &operations, 1);
    }
    check(point, library);
    free(point->send);
    free(point->recv);
}

static void report(const struct point *point, const struct library *library, struct series *series)
{
    size_t bytes = point->operation == BARRIER ? 0 : point->count * sizeof(double);
    printf("%s %s %d %zu %ld %.4f %.4f\n", LIBRARY_NAME, operation_names[point->operation],
           library->size, bytes, series->total, series_quantile(series, 0.5),
           series_quantile(series, 0.99));
    fflush(stdout); /* because the run may be cut short */
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
    if (!usable) {
        fputs(
            "usage: loop SECONDS OPERATION:BYTES...\n"
            "OPERATION: allreduce, reduce, bcast, barrier; BYTES: a multiple of 8, at most 1 GiB\n",
            stderr);
        return 2;
    }
    library_init(&library);
    point = (struct point){.operation = BARRIER, .count = 1};
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
