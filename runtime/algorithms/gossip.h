/*
 * Gossip aggregation at run time. Its messages travel beside the member's. The thread that drives
 * the member drives it, too. All under comm->lock.
 */
#ifndef FTC_RUNTIME_ALGORITHMS_GOSSIP_H
#define FTC_RUNTIME_ALGORITHMS_GOSSIP_H

#include "collectives/gossip/end.h"
#include "collectives/gossip/wire.h"
#include "runtime/algorithms/table.h"

struct ftc_gossip_kept;

/* The aggregation under way, and what outlives it. */
struct ftc_gossip_run {
    /* head.op: the operation under way, or the least that a later one can have. */
    struct ftc_gossip_head head;
    struct ftc_gossip *core; /* NULL: none is under way, nor is the next one */
    struct ftc_gossip_end *end;
    struct ftc_set heard; /* ranks that a message has come from */
    struct ftc_neighbourhood neighbourhood;
    int *rank, *place; /* gossip goes on in the view: its i-th rank; where a rank is in it, -1 */
    int places;
    bool frozen;       /* what comes is kept */
    bool taking;       /* no rest: what comes, or was kept, is taken in at once */
    bool putting_off;  /* messages were kept because this rank rests: later ones come after them */
    bool owing;        /* messages were taken in, and what they set off is not out yet */
    uint64_t began_ns; /* when time began to count in this attempt; 0: not yet, or not now */
    uint64_t spent_ns; /* in earlier attempts */
    uint64_t shown_ns; /* when this rank last showed what it does */
    uint64_t sent;     /* messages */
    uint64_t
        spared; /* ... while the estimate stood still: who waits for others does not use up what it may send */
    uint64_t stood;             /* ... until it stood still */
    uint64_t unsettled_ns;      /* not ready for the first agreement since; 0: ready */
    unsigned silent;            /* timers since a message came */
    struct ftc_flip drawn;      /* flip of this operation, if they are drawn */
    bool struck[FTC_FLIPS + 1]; /* flips that have been carried out, the drawn one last */
    uint64_t damaged;           /* messages dropped for a damaged head since it began */

    struct ftc_gossip_kept *first,
        *last; /* messages that came too early, in the order of arrival */
    size_t kept, kept_bytes;
    bool overflowed; /* some were dropped */
    uint64_t random; /* of [drill] message_loss */
    ftc_gossip_report report;
};

/* rank has failed. */
void ftc_gossip_run_notice(struct ftc_comm *comm, int rank);

/* What was put off while this rank was frozen, or before it called: take it in. */
void ftc_gossip_run_take_kept(struct ftc_comm *comm);
/* Carry out what the aggregation wants, and look at where it is. */
void ftc_gossip_run_outputs(struct ftc_comm *comm);
/* May this rank call the first agreement? */
bool ftc_gossip_run_ready(const struct ftc_gossip_run *run);
/* gossip.md, "Bound in time". While this rank gossips: tell the protocol if the time is up. */
void ftc_gossip_run_clock(struct ftc_comm *comm);
/* This rank does not gossip any more: its time does not run. */
void ftc_gossip_run_clock_stop(struct ftc_comm *comm);
/* Flips that are due by now. */
void ftc_gossip_run_strike(struct ftc_comm *comm);

#endif
