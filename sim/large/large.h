/*
 * Collectives of large values in a simulated communicator, with barriers among them.
 * Each process has a member (collectives/agreement/member.h). It drives attempts, commits and
 * reruns (collectives/large/large.h) over channels with delays. Processes die between any two
 * messages, and notices of a death reach the survivors at different times.
 *
 * A run checks what ftcoll.h promises:
 * - allreduce, reduce, reduce_scatter: every survivor that gets a result has the same sum, with the
 *   input of each live rank, and all or nothing of that of a failed one;
 * - allgather, gather, alltoall: the place of each live rank has its contribution. That of a failed
 *   one has it at all survivors, or is as it was at all;
 * - broadcast, scatter: all survivors have the value of the root, or their slice of it. Or all
 *   leave the call to the agreement core;
 * - scan, exscan: the inputs of the same ranks, combined in their order, at each rank those before
 *   it;
 * - with the scheme `list`, each rank that is left out is named;
 * - no rank that is named has a place in a result, or is in a scan;
 * - no receiver of a gather or alltoall has more blocks on their way to it than it may;
 * - no rank waits for ever;
 * - no live rank is accused, or takes the call for another one.
 *
 * The agreement core does an allreduce for which no attempt is left. Other calls end there: all
 * survivors must come to this end, and their results are as they were.
 *
 * A run follows from its seed alone, bit for bit.
 */
#ifndef FTC_SIM_LARGE_LARGE_H
#define FTC_SIM_LARGE_LARGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/settings.h"
#include "collectives/call.h"

#define FTC_LARGE_SIM_RANKS      6 /* most ranks of a run */
#define FTC_LARGE_SIM_OPERATIONS 4
#define FTC_LARGE_SIM_ELEMENTS   12 /* most of a contribution that has no parts */
#define FTC_LARGE_SIM_PART       4  /* most elements of a part for a rank */
/* Most elements of an input, and of a result. */
#define FTC_LARGE_SIM_INPUT  (FTC_LARGE_SIM_RANKS * (FTC_LARGE_SIM_PART + 1) + 1)
#define FTC_LARGE_SIM_RESULT (FTC_LARGE_SIM_RANKS * FTC_LARGE_SIM_ELEMENTS)
#define FTC_LARGE_SIM_WORDS  300
#define FTC_LARGE_SIM_AREA   1024 /* bytes; more than any call needs of a part of an area */

/* A barrier, a broadcast, or a collective of large values. */
struct ftc_large_operation {
    enum ftc_call_kind kind;
    int root; /* -1: none */
    /* Contributions and parts differ in size. Otherwise all are of the greatest size. */
    bool uneven;
};

struct ftc_large_story {
    uint64_t seed, random;
    struct ftc_member_settings settings; /* of every member, except self */
    int attempts, window;
    int elements;                /* of a contribution that has no parts */
    int part;                    /* elements of a part for a rank */
    int block_least, block_most; /* least and most elements of a block */
    /* The lowest rank of each node, and then the number of ranks. The ranks of a node share areas
     * of `room` bytes; 0: nobody shares memory. */
    int first_ranks[FTC_LARGE_SIM_RANKS + 1];
    size_t room;
    struct ftc_large_operation operation[FTC_LARGE_SIM_OPERATIONS];
    int operations;
    /* the process dies before this output, counted from 1; 0: it lives */
    int doom[FTC_LARGE_SIM_RANKS];
    bool chained;  /* after a death the next doomed process dies soon, too */
    bool lossy;    /* the last messages of dead ranks are lost */
    uint64_t lazy; /* sources of events that mostly wait, as bits: channels, notices, calls */
};

/* Sums over runs. */
struct ftc_large_sums {
    uint64_t runs, deaths, events;
    uint64_t committed, again, fallbacks; /* numbers of attempts, counted at each rank */
    uint64_t early, late, foreign;        /* messages of another attempt than the current one */
    uint64_t results[FTC_CALL_KINDS];     /* calls that at least one rank delivered */
};

void ftc_large_draw(struct ftc_large_story *story, uint64_t seed);

/* Run the story. Returns whether all promises were kept; the first broken one is in `violation`.
 * Adds to *sums. `log` gets each step; it may be NULL. */
bool ftc_large_run(const struct ftc_large_story *story, struct ftc_large_sums *sums, FILE *log,
                   char violation[FTC_LARGE_SIM_WORDS]);

#endif
