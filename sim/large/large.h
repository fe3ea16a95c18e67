/*
 * Large allreduces in a simulated communicator: each process has a member
 * (collectives/agreement/member.h) and drives attempts, commits and reruns
 * (collectives/ring/large.h) over channels that are late, while processes die between any two
 * messages and notices of it come at different times. Among them barriers and broadcasts. Judged is
 * what ftc_allreduce() promises: the same bytes at every survivor, the input of everybody alive in
 * it, that of a failed rank entirely or not at all, and, with the scheme `list`, everybody named
 * who is left out; nobody waits for ever; nobody who lives is accused or takes the call for another
 * one.
 *
 * A run follows from its seed alone, bit for bit.
 */
#ifndef FTC_SIM_LARGE_LARGE_H
#define FTC_SIM_LARGE_LARGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/settings.h"

#define FTC_LARGE_SIM_RANKS      6 /* at most */
#define FTC_LARGE_SIM_OPERATIONS 4
#define FTC_LARGE_SIM_ELEMENTS   12
#define FTC_LARGE_SIM_WORDS      300

/* Of operation i: a large allreduce, -1 a barrier, else a broadcast from this rank. */
#define FTC_LARGE_SIM_REDUCES (-2)
#define FTC_LARGE_SIM_BARRIER (-1)

struct ftc_large_story {
    uint64_t seed, random;
    struct ftc_member_settings settings; /* of every member, but self */
    int attempts, elements;
    int block_least, block_most; /* elements */
    int operation[FTC_LARGE_SIM_OPERATIONS], operations;
    int doom
        [FTC_LARGE_SIM_RANKS]; /* a process ends before this output, counted from 1; 0: it lives */
    bool chained;              /* a death brings the next doomed process close to its own */
    bool lossy;                /* the end of what the dead have sent is lost */
    uint64_t lazy; /* bits of sources of events that mostly wait: channels, notices, calls */
};

/* Sums over runs. */
struct ftc_large_sums {
    uint64_t runs, deaths, events;
    uint64_t committed, again, fallbacks; /* attempts, counted at each rank */
    uint64_t early, late, foreign;        /* messages of another attempt than the one under way */
    uint64_t results;                     /* large allreduces that somebody delivered */
};

void ftc_large_draw(struct ftc_large_story *story, uint64_t seed);

/* Run it: was everything kept? The first broken promise in `violation`. Adds to *sums. `log`: each
 * step, or NULL. */
bool ftc_large_run(const struct ftc_large_story *story, struct ftc_large_sums *sums, FILE *log,
                   char violation[FTC_LARGE_SIM_WORDS]);

#endif
