/*
 * The floor under collectives between hosts: the same exchanges with bare sockets and shared
 * memory, without any protocol. Each host runs one process of this program, which forks the ranks
 * of the host:
 *
 *   hosts_floor HOST ADDRESS[,ADDRESS...] RANKS SECONDS OPERATION/WAY:BYTES...
 *
 * HOST is the number of the host, from 0. ADDRESS is the IPv4 address of each host. RANKS is the
 * number of ranks on each host. Rank 0 prints this line for each point:
 *
 *   floor OPERATION/WAY np bytes iterations median_us p99_us
 *
 * bench/peers/series.h says what a batch is. A batch is timed as bench/peers/loop.c times it. A way
 * that does not fit the number of ranks has no line. The last result of each point is checked on
 * every rank.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/floor/ways.h"
#include "bench/peers/series.h"

#define BYTES_MAX   (1L << 30)
#define RANKS_MAX   1024
#define LOOKS       1000 /* docs/design/tcp.md, "Patience" */
#define LOOKS_SHARE 40   /* where ranks share cores */

struct point {
    const struct way *way;
    size_t count; /* doubles */
    double *send, *recv;
};

static double input(int rank, size_t i)
{
    return rank + 1 + (double)(i % 7);
}

static double wanted(const struct point *point, int size, size_t i)
{
    return point->way->operation == BCAST ? input(0, i)
                                          : (double)size * (size + 1) / 2 + size * (double)(i % 7);
}

static bool point_parse(struct point *point, const char *word)
{
    char name[64];
    long bytes = 0;
    int end = 0;
    *point = (struct point){0};
    if (sscanf(word, "%63[^:]:%ld%n", name, &bytes, &end) != 2 || word[end] != '\0' || bytes <= 0 ||
        bytes > BYTES_MAX || bytes % (long)sizeof(double) != 0)
        return false;
    point->count = (size_t)bytes / sizeof(double);
    point->way = way_find(name);
    return point->way != NULL;
}

static double *allocate(size_t count)
{
    size_t bytes = (count * sizeof(double) + 4095) / 4096 * 4096;
    double *memory = aligned_alloc(4096, bytes);
    if (memory == NULL) {
        fprintf(stderr, "hosts_floor: out of memory: no %zu bytes; measure smaller sizes\n", bytes);
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

static void point_prepare(struct point *point, int rank)
{
    point->send = allocate(point->count);
    point->recv = allocate(point->count);
    for (size_t i = 0; i < point->count; i++)
        point->send[i] = input(rank, i);
    if (point->way->operation == BCAST && rank == 0)
        memcpy(point->recv, point->send, point->count * sizeof(double));
}

static void point_check(const struct point *point, const struct wires *wires)
{
    if (point->way->operation == BARRIER || (point->way->operation == REDUCE && wires->rank != 0))
        return;
    for (size_t i = 0; i < point->count; i++) {
        if (point->recv[i] == wanted(point, wires->size, i))
            continue;
        fprintf(stderr, "hosts_floor: %s of %zu doubles: element %zu on rank %d is %g, not %g\n",
                point->way->name, point->count, i, wires->rank, point->recv[i],
                wanted(point, wires->size, i));
        exit(1);
    }
}

static void barrier(struct site *site)
{
    way_run(way_find("barrier/doubling"), site, NULL, NULL, 0);
}

static double run_batch(const struct point *point, struct site *site, long count)
{
    barrier(site);
    double start = series_now();
    /* The closing barrier is the last one of the barriers that are measured. */
    for (long i = point->way->operation == BARRIER ? 1 : 0; i < count; i++)
        way_run(point->way, site, point->send, point->recv, point->count);
    barrier(site);
    return series_now() - start;
}

/* Rank 0 decides how the point goes on. The others learn it outside of the timed part. */
static void measure(struct point *point, struct site *site, struct series *series, double seconds)
{
    const struct way *decide = way_find("bcast/star");
    double operations = (double)series_start(series, seconds);
    point_prepare(point, site->wires.rank);
    barrier(site);
    board_forget(&site->board);
    site->wires.reads_ahead = point->way->operation == REDUCE || point->way->operation == BCAST;
    while (operations > 0) {
        double elapsed = run_batch(point, site, (long)operations);
        if (site->wires.rank == 0)
            operations = (double)series_next(series, elapsed);
        way_run(decide, site, NULL, &operations, 1);
    }
    point_check(point, &site->wires);
    free(point->send);
    free(point->recv);
}

static void report(const struct point *point, int size, struct series *series)
{
    size_t bytes = point->way->operation == BARRIER ? 0 : point->count * sizeof(double);
    printf("floor %s %d %zu %ld %.4f %.4f\n", point->way->name, size, bytes, series->total,
           series_quantile(series, 0.5), series_quantile(series, 0.99));
    fflush(stdout);
}

static void run(struct site *site, double seconds, char *words[])
{
    static struct series series;
    struct point point;
    /* Connections that are new are slower, so this point is not reported. */
    point_parse(&point, "barrier/doubling:8");
    measure(&point, site, &series, seconds);
    for (; *words != NULL; words++) {
        point_parse(&point, *words);
        if (!way_fits(point.way, site, point.count))
            continue;
        measure(&point, site, &series, seconds);
        if (site->wires.rank == 0)
            report(&point, site->wires.size, &series);
    }
}

static int usage(void)
{
    fputs("usage: hosts_floor HOST ADDRESS[,ADDRESS...] RANKS SECONDS OPERATION/WAY:BYTES...\n"
          "OPERATION/WAY:",
          stderr);
    way_print_all();
    fputs("\nBYTES: a multiple of 8, at most 1 GiB\n", stderr);
    return 2;
}

/* Cuts `list` into words. Returns how many there are, at most RANKS_MAX. */
static int split(char *list, char *words[])
{
    int count = 0;
    for (char *word = strtok(list, ","); word != NULL && count < RANKS_MAX;
         word = strtok(NULL, ","))
        words[count++] = word;
    return count;
}

int main(int argc, char **argv)
{
    static char *addresses[RANKS_MAX];
    struct site site = {0};
    struct point point;
    int host = argc > 5 ? atoi(argv[1]) : -1;
    double seconds = argc > 5 ? atof(argv[4]) : 0;
    site.hosts = argc > 5 ? split(argv[2], addresses) : 0;
    site.per_host = argc > 5 ? atoi(argv[3]) : 0;
    bool usable = host >= 0 && host < site.hosts && seconds > 0 && site.per_host > 0 &&
                  site.per_host <= BOARD_RANKS && site.hosts * site.per_host <= RANKS_MAX;
    for (int i = 5; i < argc; i++)
        usable = usable && point_parse(&point, argv[i]);
    if (!usable)
        return usage();
    if (!board_open(&site.board, site.per_host)) {
        perror("hosts_floor: no shared memory");
        return 1;
    }
    site.board.self = fork_processes("hosts_floor", site.per_host);
    site.wires = (struct wires){
        .rank = host * site.per_host + site.board.self,
        .size = site.hosts * site.per_host,
        .looks = site.per_host <= sysconf(_SC_NPROCESSORS_ONLN) ? LOOKS : LOOKS_SHARE};
    wires_open(&site.wires, addresses, site.per_host);
    run(&site, seconds, argv + 5);
    wires_close(&site.wires);
    return site.board.self == 0 ? await_processes() : 0;
}
