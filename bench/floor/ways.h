/*
 * The exchanges of collectives, with bare sockets (wires.h) and shared memory (board.h). The type
 * is double, the operator is sum, and the root is rank 0.
 */
#ifndef FTC_BENCH_FLOOR_WAYS_H
#define FTC_BENCH_FLOOR_WAYS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/floor/board.h"
#include "bench/floor/wires.h"

/* A rank, and its connections. */
struct site {
    struct wires wires;
    struct board board;
    int hosts, per_host; /* rank r is on host r / per_host */
};

enum shape {
    SHAPE_DOUBLING, /* recursive doubling; of a barrier dissemination */
    SHAPE_RING,     /* reduce-scatter and allgather round a ring */
    SHAPE_STAR,     /* the root talks to every other rank */
    SHAPE_TREE,     /* binomial */
    SHAPE_CHAIN     /* each rank talks to the next one */
};

enum levels {
    LEVELS_FLAT, /* all ranks take part in the exchange */
    LEVELS_ONE,  /* one rank of each host does, and talks to the others by shared memory */
    LEVELS_ALL /* all do, each with a part of the value that the ranks of its host have combined */
};

enum operation { ALLREDUCE, REDUCE, BCAST, BARRIER };

/* A way to run an operation. */
struct way {
    const char *name; /* such as "allreduce/one-ring" */
    enum operation operation;
    enum levels levels;
    enum shape shape;
};

/* Returns NULL if there is none of that name. */
const struct way *way_find(const char *name);
void way_print_all(void); /* their names, on standard error */

/* Can so many hosts and ranks use it for so many doubles? */
bool way_fits(const struct way *way, const struct site *site, size_t count);

/* Run the operation on `count` doubles. Other ranks than the root of a reduce use `recv` for what
 * they have so far. A bcast uses `recv` alone, a barrier neither. */
void way_run(const struct way *way, struct site *site, const double *send, double *recv,
             size_t count);

#endif
