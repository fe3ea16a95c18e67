/*
 * Large allreduces in a simulated communicator, with barriers and broadcasts among them. Each
 * process has a member (collectives/agreement/member.h). It drives attempts, commits and reruns
 * (collectives/ring/large.h) over channels with delays. Processes die between any two messages, and
 * notices of a death reach the survivors at different times.
 *
 * A run checks what ftc_allreduce() promises:
 * - every survivor has the same bytes;
 * - the input of each live rank is in the result;
 * - the input of a failed rank is in it entirely or not at all;
 * - with the scheme `list`, each rank that is left out is named;
 * - no rank waits for ever;
 * - no live rank is accused, or takes the call for another one.
 *
 * A run follows from its seed alone, bit for bit.
 */
#ifndef FTC_SIM_LARGE_LARGE_H
#define FTC_SIM_LARGE_LARGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/settings.h"

#define FTC_LARGE_SIM_RANKS      6 /* most ranks of a run */
#define FTC_LARGE_SIM_OPERATIONS 4
#define FTC_LARGE_SIM_ELEMENTS   12
#define FTC_LARGE_SIM_WORDS      300

/* Kinds of operation[i]: a large allreduce (-2), a barrier (-1), or a broadcast from the rank of
 * this number. */
#define FTC_LARGE_SIM_REDUCES (-2)
#define FTC_LARGE_SIM_BARRIER (-1)

struct ftc_large_story {
    uint64_t seed, random;
    struct ftc_member_settings settings; /* of every member, except self */
    int attempts, elements;
    int block_least, block_most; /* least and most elements of a block */
    int operation[FTC_LARGE_SIM_OPERATIONS], operations;
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
    uint64_t results;                     /* large allreduces that at least one rank delivered */
};

void ftc_large_draw(struct ftc_large_story *story, uint64_t seed);

/* Run the story. Returns whether all promises were kept; the first broken one is in `violation`.
 * Adds to *sums. `log` gets each step; it may be NULL. */
bool ftc_large_run(const struct ftc_large_story *story, struct ftc_large_sums *sums, FILE *log,
                   char violation[FTC_LARGE_SIM_WORDS]);

#endif
