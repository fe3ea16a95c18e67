/*
 * Sends and receives in a simulated communicator. Each process has a matching engine
 * (collectives/point_to_point/matching.h), and a program of transfers that it starts in order.
 * Messages travel in channels with delays. Processes die between any two messages, and notices of
 * a death reach the survivors at different times. One process may revoke the communicator, and the
 * others learn of it at different times. Copies from the memory of another process are made, or
 * are refused. When a send has ended, its buffer is overwritten.
 *
 * docs/design/point-to-point.md, part 3, has what a run checks. A run follows from its seed alone,
 * bit for bit.
 */
#ifndef FTC_SIM_POINT_TO_POINT_MESSAGES_H
#define FTC_SIM_POINT_TO_POINT_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FTC_MESSAGES_RANKS     4  /* most ranks of a run */
#define FTC_MESSAGES_TRANSFERS 16 /* most transfers of a process */
#define FTC_MESSAGES_BYTES     48 /* most bytes of a message */
#define FTC_MESSAGES_WORDS     200

struct ftc_messages_transfer {
    bool sends, synchronous;
    bool matched;  /* a receive: of a message that was matched before, if there was one (P13) */
    int rank, tag; /* -1: any */
    int context;
    int size;
};

enum ftc_messages_copies { FTC_MESSAGES_COPY, FTC_MESSAGES_COPY_SOME, FTC_MESSAGES_COPY_NONE };

struct ftc_messages_story {
    uint64_t seed, random;
    int ranks;
    int eager, credit, piece, fragment, window; /* struct ftc_matching_settings */
    struct ftc_messages_transfer transfer[FTC_MESSAGES_RANKS][FTC_MESSAGES_TRANSFERS];
    int transfers[FTC_MESSAGES_RANKS];
    enum ftc_messages_copies copies;
    /* the process dies before this output, counted from 1; 0: it lives */
    int doom[FTC_MESSAGES_RANKS];
    bool lossy;    /* the last messages of dead ranks are lost */
    int revoke;    /* so many events before a process revokes; 0: none does */
    bool cancels;  /* transfers are cancelled */
    bool leaves;   /* processes free the communicator when their transfers have ended */
    uint64_t lazy; /* sources of events that mostly wait, as bits */
};

/* Sums over runs. */
struct ftc_messages_sums {
    uint64_t runs, deaths, events, revokes;
    uint64_t sent, received;       /* messages */
    uint64_t copied, refused;      /* copies */
    uint64_t failed, revoked;      /* transfers that ended so */
    uint64_t cancelled, truncated; /* likewise */
    uint64_t withdrawn, kept;      /* sends, by the answers of their receivers (P10) */
    uint64_t left;                 /* processes that have freed */
    uint64_t interrupted;          /* waits */
    uint64_t matched;              /* messages, before their receive */
    uint64_t lonely;               /* transfers that nobody could match */
};

void ftc_messages_draw(struct ftc_messages_story *story, uint64_t seed);

/* Run the story. Returns whether all promises were kept; the first broken one is in `violation`.
 * Adds to *sums. `log` gets each step; it may be NULL. */
bool ftc_messages_run(const struct ftc_messages_story *story, struct ftc_messages_sums *sums,
                      FILE *log, char violation[FTC_MESSAGES_WORDS]);

#endif
