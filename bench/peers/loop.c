/*
 * The measuring loop, the same for ftcoll and its peers:
 *
 *   loop SECONDS OPERATION:BYTES...
 *
 *   OPERATION   a name of the table `operations`, such as allreduce
 *   iOPERATION  its non-blocking form: each request is waited for before the next one is started
 *   iOPERATION-N: N requests are started, and then waited for
 *
 * BYTES are those that a rank gives to, or gets from, each other rank: of an allreduce the value,
 * of an allgather, gather, scatter, alltoall and reduce_scatter a block, as in the benchmarks of
 * others. Rank 0 prints a line for each point; a non-blocking form has an overlap, too:
 *
 *   library operation np bytes iterations median_us p99_us [overlap_percent]
 *
 * A batch (series.h) is a barrier, the start of the clock, K operations, a barrier and the stop of
 * the clock. The root is always 0, so an operation with a root can overlap with the next one. The
 * closing barrier makes the figure valid for all ranks. If barriers are measured, it is the last of
 * the K. p99 is the quantile over the batches. The last result of every point is checked on every
 * rank.
 *
 * Messages go in pairs of ranks: rank i and rank i + np/2. Of an odd number the last rank has no
 * partner. A pingpong is a message there and one back. A rate is WINDOW messages that are under way
 * together, and an empty answer. Their figures are those of one message.
 *
 * After each batch of requests that counts come two more batches of that many requests, with these
 * in place of the K operations: a computation alone, and the requests with this computation between
 * start and wait. The computation is about as long as the requests where all ranks compute at the
 * same time. The overlap is 100 (1 - (both - computation) / requests), of medians, from 0 to 100.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/peers/library.h"
#include "bench/peers/series.h"

#define BYTES_MAX     (1L << 30)
#define UNDER_WAY_MAX 1024
#define NAME_SIZE     32
#define NAME_FORMAT   "%31[^:]"
#define LINE_DOUBLES  8 /* of a cache line: buffers share none */
#define TRIAL_STEPS   1000000
#define WINDOW        64 /* messages that are under way together */

typedef void operation_fn(struct library *library, const double *send, double *recv, size_t count,
                          library_request *request);
/* Returns the right value of element i of the result, if each block has `count` elements. */
typedef double wanted_fn(const struct library *library, size_t count, size_t i);

struct operation {
    const char *name;
    operation_fn *run;
    wanted_fn *wanted;        /* NULL: the operation has no data */
    bool sends_all, gets_all; /* a block for each rank or message, from each; else one */
    bool rooted;              /* the root alone has a result */
    bool blocks;              /* has no non-blocking form */
    int messages; /* those of one run between two ranks; a figure is that of one. 0: none */
};

struct point {
    char name[NAME_SIZE];
    const struct operation *operation;
    size_t count;  /* number of doubles in a block */
    int under_way; /* requests at the same time, each with buffers of its own; 0: none */
    double *send, *recv;
    size_t sends, gets; /* doubles from one request's buffer to the next one's */
    library_request *request;
    double steps; /* of the computation */
};

/* The times of the batches, which rank 0 keeps. */
struct results {
    struct series operations, computation, both;
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

static void bcast(struct library *library, const double *send, double *recv, size_t count,
                  library_request *request)
{
    (void)send;
    library_bcast(library, recv, count, request);
}

static void barrier(struct library *library, const double *send, double *recv, size_t count,
                    library_request *request)
{
    (void)send, (void)recv, (void)count;
    library_barrier(library, request);
}

static void comm_dup(struct library *library, const double *send, double *recv, size_t count,
                     library_request *request)
{
    (void)send, (void)recv, (void)count, (void)request;
    library_comm_dup(library);
}

/* One communicator of the even ranks, and one of the odd ranks. */
static void comm_split(struct library *library, const double *send, double *recv, size_t count,
                       library_request *request)
{
    (void)send, (void)recv, (void)count, (void)request;
    library_comm_split(library, library->rank % 2);
}

static bool starts(const struct library *library)
{
    return library->rank < library->size / 2;
}

/* Returns the other rank of the pair, or -1. */
static int partner(const struct library *library)
{
    int half = library->size / 2;

    return library->rank >= 2 * half ? -1 : (library->rank + half) % (2 * half);
}

static double wanted_message(const struct library *library, size_t count, size_t i)
{
    (void)count;
    return partner(library) < 0 ? 0 : input(partner(library), i);
}

static double wanted_window(const struct library *library, size_t count, size_t i)
{
    return starts(library) ? 0 : wanted_message(library, count, i);
}

static void pingpong(struct library *library, const double *send, double *recv, size_t count,
                     library_request *request)
{
    int other = partner(library);

    (void)request;
    for (int turn = 0; other >= 0 && turn < 2; turn++)
        if (starts(library) == (turn == 0))
            library_send(library, send, count, other, NULL);
        else
            library_recv(library, recv, count, other, NULL);
}

static void rate(struct library *library, const double *send, double *recv, size_t count,
                 library_request *request)
{
    library_request under_way[WINDOW];
    int other = partner(library);

    (void)request;
    if (other < 0)
        return;
    for (size_t i = 0; i < WINDOW; i++)
        if (starts(library))
            library_send(library, send + i * count, count, other, &under_way[i]);
        else
            library_recv(library, recv + i * count, count, other, &under_way[i]);
    library_wait_all(library, under_way, WINDOW);
    if (starts(library))
        library_recv(library, recv, 0, other, NULL);
    else
        library_send(library, send, 0, other, NULL);
}

static const struct operation operations[] = {
    {.name = "barrier", .run = barrier},
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
    {.name = "pingpong", .run = pingpong, .wanted = wanted_message, .blocks = true, .messages = 2},
    {.name = "rate",
     .run = rate,
     .wanted = wanted_window,
     .sends_all = true,
     .gets_all = true,
     .blocks = true,
     .messages = WINDOW},
    {.name = "comm_dup", .run = comm_dup, .blocks = true},
    {.name = "comm_split", .run = comm_split, .blocks = true},
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* --- points --- */

static const struct operation *find_operation(const char *name)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

/* Read "allreduce", "iallreduce" or "iallreduce-16". */
static bool name_parse(struct point *point)
{
    char plain[NAME_SIZE];
    char *dash;

    point->operation = find_operation(point->name);
    if (point->operation != NULL)
        return true;
    memcpy(plain, point->name, sizeof(plain));
    dash = strchr(plain, '-');
    point->under_way = dash == NULL ? 1 : atoi(dash + 1);
    if (dash != NULL)
        *dash = '\0';
    point->operation = plain[0] == 'i' ? find_operation(plain + 1) : NULL;
    return point->operation != NULL && !point->operation->blocks && point->under_way > 0 &&
           point->under_way <= UNDER_WAY_MAX;
}

static bool point_parse(struct point *point, const char *word)
{
    long bytes = 0;
    int end = 0;

    *point = (struct point){.name = ""};
    if (sscanf(word, NAME_FORMAT ":%ld%n", point->name, &bytes, &end) != 2 || word[end] != '\0' ||
        bytes <= 0 || bytes > BYTES_MAX || bytes % (long)sizeof(double) != 0)
        return false;
    point->count = (size_t)bytes / sizeof(double);
    return name_parse(point);
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
    int blocks = point->operation->messages > 0 ? point->operation->messages : library->size;

    return all ? point->count * (size_t)blocks : point->count;
}

static size_t sets_of(const struct point *point)
{
    return point->under_way > 0 ? (size_t)point->under_way : 1;
}

/* How many operations, or messages, follow each other in one run. */
static size_t parts_of(const struct point *point)
{
    return point->operation->messages > 0 ? (size_t)point->operation->messages : sets_of(point);
}

/* In whole cache lines. */
static size_t stride_of(size_t count)
{
    return (count + LINE_DOUBLES - 1) / LINE_DOUBLES * LINE_DOUBLES;
}

static void point_prepare(struct point *point, struct library *library)
{
    size_t sends = count_of(point, library, point->operation->sends_all), sets = sets_of(point);

    point->sends = stride_of(sends);
    point->gets = stride_of(count_of(point, library, point->operation->gets_all));
    point->send = allocate(library, sets * point->sends);
    point->recv = allocate(library, sets * point->gets);
    point->request = calloc(sets, sizeof(point->request[0]));
    if (point->request == NULL)
        library_abort(library);
    for (size_t set = 0; set < sets; set++)
        for (size_t i = 0; i < sends; i++)
            point->send[set * point->sends + i] = input(library->rank, i);
    if (point->operation->run == bcast && library->rank == 0)
        memcpy(point->recv, point->send, sets * point->gets * sizeof(double));
}

static void point_free(struct point *point)
{
    free(point->send);
    free(point->recv);
    free(point->request);
}

/* --- batches --- */

enum phase { OPERATIONS_ALONE, COMPUTATION_ALONE, BOTH };

/* Needs no memory, and a compiler cannot shorten it. */
static void compute(double steps)
{
    volatile double result;
    double x = 0;

    for (double i = 0; i < steps; i++)
        x = x * 0.999 + 1;
    result = x;
    (void)result;
}

/* How many us a step takes where all ranks, which share the cores, compute at the same time. */
static double time_step(const struct library *library)
{
    struct timespec start, end;
    double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double share = library->size > cores ? library->size / cores : 1;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    compute(TRIAL_STEPS);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return share / TRIAL_STEPS *
           ((double)(end.tv_sec - start.tv_sec) * 1e6 +
            (double)(end.tv_nsec - start.tv_nsec) / 1e3);
}

/* Start as many requests as are to be under way, compute if there is a computation, and wait. */
static void run_requests(const struct point *point, struct library *library, double steps)
{
    for (size_t set = 0; set < (size_t)point->under_way; set++)
        point->operation->run(library, point->send + set * point->sends,
                              point->recv + set * point->gets, point->count, &point->request[set]);
    compute(steps);
    library_wait_all(library, point->request, point->under_way);
}

static void run(const struct point *point, struct library *library, long count, enum phase phase)
{
    /* The closing barrier is the last one of the barriers that are measured. */
    if (point->under_way == 0 && point->operation->run == barrier)
        count--;
    for (long i = 0; i < count; i++)
        if (phase == COMPUTATION_ALONE)
            compute(point->steps);
        else if (point->under_way > 0)
            run_requests(point, library, phase == BOTH ? point->steps : 0);
        else
            point->operation->run(library, point->send, point->recv, point->count, NULL);
}

static double run_batch(const struct point *point, struct library *library, long count,
                        enum phase phase)
{
    library_barrier(library, NULL);
    double start = series_now();
    run(point, library, count, phase);
    library_barrier(library, NULL);
    return series_now() - start;
}

static void check_set(const struct point *point, struct library *library, const double *recv)
{
    const struct operation *operation = point->operation;
    size_t count = count_of(point, library, operation->gets_all);

    for (size_t i = 0; i < count; i++) {
        double wanted = operation->wanted(library, point->count, i);
        if (recv[i] == wanted)
            continue;
        fprintf(stderr, "loop: %s of %zu doubles: element %zu on rank %d is %g, not %g\n",
                point->name, point->count, i, library->rank, recv[i], wanted);
        library_abort(library);
    }
}

static void check(const struct point *point, struct library *library)
{
    const struct operation *operation = point->operation;

    if (operation->wanted == NULL || (operation->rooted && library->rank != 0))
        return;
    for (size_t set = 0; set < sets_of(point); set++)
        check_set(point, library, point->recv + set * point->gets);
}

/* The batches of the computation, and of both, that belong to a batch of requests. */
static void measure_overlap(struct point *point, struct library *library, struct results *results,
                            long count)
{
    double computation = run_batch(point, library, count, COMPUTATION_ALONE);
    double both = run_batch(point, library, count, BOTH);

    series_add(&results->computation, computation, count);
    series_add(&results->both, both, count);
}

/* Only rank 0 decides how the point goes on. The others learn it outside of the timed part. */
static void measure(struct point *point, struct library *library, struct results *results,
                    double seconds)
{
    double step_us = point->under_way > 0 ? time_step(library) : 1;
    enum { NEXT, STEPS, COUNTS, DECISIONS };
    double decision[DECISIONS] = {(double)series_start(&results->operations, seconds)};

    series_start(&results->computation, seconds);
    series_start(&results->both, seconds);
    point_prepare(point, library);
    while (decision[NEXT] > 0) {
        long count = (long)decision[NEXT];
        double elapsed = run_batch(point, library, count, OPERATIONS_ALONE);
        if (library->rank == 0) {
            size_t before = results->operations.count;
            decision[NEXT] = (double)series_next(&results->operations, elapsed);
            decision[COUNTS] = results->operations.count > before;
            if (before == 0) /* all batches that count have the computation of the first one */
                decision[STEPS] = elapsed * 1e6 / (double)count / step_us;
        }
        library_bcast(library, decision, DECISIONS, NULL);
        point->steps = decision[STEPS];
        if (point->under_way > 0 && decision[COUNTS] != 0)
            measure_overlap(point, library, results, count);
    }
    check(point, library);
    point_free(point);
}

static double overlap_percent(struct results *results)
{
    double both = series_quantile(&results->both, 0.5);
    double computation = series_quantile(&results->computation, 0.5);
    double percent = 100 * (1 - (both - computation) / series_quantile(&results->operations, 0.5));

    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

static void report(const struct point *point, const struct library *library,
                   struct results *results)
{
    size_t bytes = point->operation->wanted == NULL ? 0 : point->count * sizeof(double);
    size_t parts = parts_of(point);

    printf("%s %s %d %zu %ld %.4f %.4f", LIBRARY_NAME, point->name, library->size, bytes,
           results->operations.total * (long)parts,
           series_quantile(&results->operations, 0.5) / (double)parts,
           series_quantile(&results->operations, 0.99) / (double)parts);
    if (point->under_way > 0)
        printf(" %.1f", overlap_percent(results));
    putchar('\n');
    fflush(stdout); /* because the run may be cut short */
}

static int usage(void)
{
    fputs("usage: loop SECONDS [i]OPERATION[-N]:BYTES...\nOPERATION:", stderr);
    for (size_t i = 0; i < OPERATIONS; i++)
        fprintf(stderr, " %s", operations[i].name);
    fputs("; BYTES: a multiple of 8, at most 1 GiB\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static struct results results;
    struct library library;
    struct point point;
    double seconds = argc > 2 ? atof(argv[1]) : 0;
    bool usable = seconds > 0;
    for (int i = 2; i < argc; i++)
        usable = usable && point_parse(&point, argv[i]);
    if (!usable)
        return usage();
    library_init(&library);
    /* A job that has just started is slower, so this point is not reported. */
    point_parse(&point, "barrier:8");
    measure(&point, &library, &results, seconds);
    for (int i = 2; i < argc; i++) {
        point_parse(&point, argv[i]);
        measure(&point, &library, &results, seconds);
        if (library.rank == 0)
            report(&point, &library, &results);
    }
    library_finalize(&library);
    return 0;
}
