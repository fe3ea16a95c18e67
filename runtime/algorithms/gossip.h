/*
 * Gossip aggregation at run time. Its messages travel beside those of the member. The thread that
 * drives the member also drives the aggregation. All functions run under process->lock.
 */
#ifndef FTC_RUNTIME_ALGORITHMS_GOSSIP_H
#define FTC_RUNTIME_ALGORITHMS_GOSSIP_H

#include "collectives/gossip/end.h"
#include "collectives/gossip/wire.h"
#include "runtime/algorithms/table.h"

struct ftc_gossip_kept;

/* The aggregation under way, and what outlives it. */
struct ftc_gossip_run {
    /* head.op is the number of the operation under way. If none is under way, no later aggregation
     * has a smaller number. */
    struct ftc_gossip_head head;
    struct ftc_gossip *core;    /* NULL: no aggregation is under way */
    struct ftc_gossip_end *end; /* its barrier, freeze and agreement */
    struct ftc_set heard;       /* ranks that a message has come from */
    struct ftc_neighbourhood neighbourhood;
    /* The ranks that gossip are those of the view. rank[i] is the i-th of them. place[r] is the
     * index of rank r among them; -1: r does not take part. Both are made by the first gossip. */
    int *rank, *place;
    int places;        /* how many ranks gossip */
    bool frozen;       /* messages that come are kept for later */
    bool taking;       /* this rank does not rest: it takes in each message at once */
    bool putting_off;  /* this rank rests: it keeps messages, so later ones must wait behind them */
    bool owing;        /* messages were taken in, and the answers to them are not sent yet */
    uint64_t began_ns; /* when the time of this attempt began to count; 0: it does not count now */
    uint64_t spent_ns; /* the time that earlier attempts took */
    uint64_t shown_ns; /* when this rank last showed in its slot what it does */
    uint64_t sent;     /* messages that this rank has sent in this aggregation */
    /* How many of `sent` this rank sent while its estimate stood still. They do not count against
     * most_messages: a rank that waits for others must not use up what it may send. */
    uint64_t spared;
    uint64_t stood;             /* the value of `sent` when the estimate came to stand still */
    uint64_t unsettled_ns;      /* since when it is not ready for the barrier; 0: it is ready */
    unsigned silent;            /* timers that fired since a message came; at most SILENT_MOST */
    struct ftc_flip drawn;      /* the flip of this operation, if flips are drawn at random */
    bool struck[FTC_FLIPS + 1]; /* which flips have been carried out; the last one is `drawn` */
    uint64_t damaged;           /* messages that were dropped because their head was damaged */

    /* A list of messages that are taken in later, in the order of arrival. */
    struct ftc_gossip_kept *first, *last;
    size_t kept, kept_bytes; /* their number and size */
    uint64_t lost_before;    /* 1 + the last operation of which one had to be dropped; 0: none */
    uint64_t random;         /* state of the random numbers of drill.message_loss */
    ftc_gossip_report report;
};

/* Was a message of the operation under way dropped, because there was no room to keep it? */
bool ftc_gossip_run_lost(const struct ftc_gossip_run *run);

/* Tells the aggregation that `rank` has failed. */
void ftc_gossip_run_notice(struct ftc_comm *comm, int rank);

/* Takes in the messages that were kept: before the call, while frozen, or while this rank
 * rested. */
void ftc_gossip_run_take_kept(struct ftc_comm *comm);
/* Carries out the outputs of the aggregation, and notes whether it is ready for the barrier. */
void ftc_gossip_run_outputs(struct ftc_comm *comm);
/* May this rank enter the barrier of the attempt? */
bool ftc_gossip_run_ready(const struct ftc_gossip_run *run);
/* gossip.md, "Bound in time". To be called while this rank gossips: gives up if its time is
 * over. */
void ftc_gossip_run_clock(struct ftc_comm *comm);
/* This rank gossips no more: from now on its time does not count. */
void ftc_gossip_run_clock_stop(struct ftc_comm *comm);
/* Carries out the flips that are due. */
void ftc_gossip_run_strike(struct ftc_comm *comm);

#endif
