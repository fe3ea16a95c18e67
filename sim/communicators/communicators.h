/*
 * Storms over several communicators. Each of 2 to 16 processes has the communicators of
 * collectives/communicators/communicators.h, and runs a drawn program on one or two threads:
 * operations, creations, freeing and revoking. One FIFO channel for each pair of processes carries
 * the messages of all communicators. Processes die between any two outputs, and notices of a death
 * reach the survivors at different times.
 *
 * A run checks what docs/design/communicators.md promises (part 3), and for each communicator what
 * agreement.md promises:
 * - all that live have the same result and failed set of each call;
 * - the input of each process that lives is in the result, and that of a dead one once or not at
 *   all;
 * - all that live get the same child; no number is given twice;
 * - no message of another history is taken;
 * - calls that are under way in one communicator end in the order of their start;
 * - each call ends, also after a revoke;
 * - at the end nothing is retained.
 *
 * A run follows from its seed alone, bit for bit.
 */
#ifndef FTC_SIM_COMMUNICATORS_COMMUNICATORS_H
#define FTC_SIM_COMMUNICATORS_COMMUNICATORS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/settings.h"
#include "sim/communicators/engine.h"

#define FTC_COMMS_RANKS   16 /* most processes of a run */
#define FTC_COMMS_SLOTS   7  /* the world, and the children that a program makes */
#define FTC_COMMS_ITEMS   48
#define FTC_COMMS_THREADS 2
#define FTC_COMMS_WORDS   400

enum ftc_comms_kind {
    FTC_COMMS_OPERATE,
    FTC_COMMS_CREATE, /* dup, split, shrink or group, as `creation` says */
    FTC_COMMS_FREE,
    FTC_COMMS_REVOKE, /* process `who` revokes */
};

/* A step of the program. Each process does it, if it has a communicator in `slot`. The thread that
 * owns the slot does all steps of the slot. */
struct ftc_comms_item {
    enum ftc_comms_kind kind;
    int slot;
    int call; /* OPERATE: enum ftc_call_kind */
    int who;  /* REVOKE: the process; OPERATE: the root, modulo the size */
    enum ftc_creation creation;
    int child; /* CREATE: the slot of the child */
    /* CREATE, by job's rank: color and key, or whether it is in the list, which begins with rank
     * `first` of the communicator, modulo the size */
    int color[FTC_COMMS_RANKS], key[FTC_COMMS_RANKS];
    bool listed[FTC_COMMS_RANKS];
    uint64_t first;
    bool waits;    /* the thread waits for its end */
    bool recovers; /* only those that know of a revoke do it; others leave such a slot out */
};

struct ftc_comms_story {
    uint64_t seed, random;
    struct ftc_member_settings settings; /* of the world, except self */
    struct ftc_comms_item item[FTC_COMMS_ITEMS];
    int items, slots, threads;
    int owner[FTC_COMMS_SLOTS]; /* the thread of a slot */
    bool revokes;               /* the program revokes something */
    bool boards;                /* children are closed by boards */
    int refusing;               /* in 64: how often the memory of a child cannot be opened */
    /* the process dies before this output, counted from 1; 0: it lives */
    int doom[FTC_COMMS_RANKS];
    int struck;    /* in 64: how often a process dies soon after a word such as REVOKE */
    bool chained;  /* after a death the next doomed process dies soon, too */
    bool lossy;    /* the last messages of dead processes are lost */
    uint64_t lazy; /* sources of events that mostly wait, as bits */
};

/* Sums over runs. */
struct ftc_comms_sums {
    uint64_t runs, deaths, events;
    uint64_t results;          /* deliveries of operations, at all processes */
    uint64_t children, groups; /* that a process got; of these, by ftc_comm_create() */
    uint64_t cut_off;          /* calls that a revoke ended */
    uint64_t agreements;       /* agreements after a revoke, at all processes */
    uint64_t by_messages;      /* children whose memory could not be opened everywhere */
    uint64_t spares;           /* children that took memory over */
    uint64_t forgotten;        /* communicators, temporary ones too */
    uint64_t event[FTC_COMMUNICATORS_EVENTS];
};

void ftc_comms_draw(struct ftc_comms_story *story, uint64_t seed);

/* Run the story. Returns whether all promises were kept; the first broken one is in `violation`.
 * Adds to *sums. `log` gets each step; it may be NULL. */
bool ftc_comms_run(const struct ftc_comms_story *story, struct ftc_comms_sums *sums, FILE *log,
                   char violation[FTC_COMMS_WORDS]);

#endif
