/*
 * One gossip aggregation on a virtual machine: the product's objects (collectives/gossip/gossip.h),
 * messages that take their time, get lost and are damaged, and a harness that alone knows the true
 * average (Wimmer 2016, algorithm 9; with `sync` algorithm 7).
 */
#ifndef FTC_SIM_GOSSIP_ENGINE_H
#define FTC_SIM_GOSSIP_ENGINE_H

#include "collectives/baseline/doubling.h"
#include "collectives/gossip/gossip.h"
#include "sim/gossip/inputs.h"
#include "sim/gossip/medium.h"

/* One sample of a run, whenever the rank that has sent most sends again. */
struct ftc_gossip_sample {
    uint64_t most; /* messages of that rank */
    double error;  /* greatest of a rank, relative */
    double flow;   /* greatest entry of a flow */
};

struct ftc_gossip_run {
    struct ftc_gossip_settings gossip; /* of every rank, but self and seed; patience in ticks */
    bool deterministic;                /* by `doubling` instead of gossip, see exact.h */
    enum ftc_doubling_algorithm doubling;
    uint64_t seed;
    enum ftc_gossip_inputs inputs;
    enum ftc_gossip_cost cost;
    double loss; /* 0 .. 1, of whole messages */
    double
        crowd; /* 0 .. 1: so often a rank that takes a message in is told that more of them wait */
    double
        flip_rate; /* 0 .. 1: before a rank takes a message in, a random bit of a flow turns over */
    uint64_t flips_end; /* no more of these when a rank has sent so many; 0: no end */
    struct ftc_flip
        flip;   /* when the first rank has sent `step` messages; rank -1: one drawn at random */
    bool flips; /* there is one */
    int kills;  /* ranks that die when the first one has sent `kill_at` messages */
    uint64_t kill_at;
    bool sync;     /* rounds instead of messages that take time; cost has no meaning then */
    bool first;    /* until one rank has converged, not all */
    uint64_t most; /* until a rank has sent so many */
    struct ftc_gossip_sample *sample; /* NULL: none are taken; sample_room entries */
    int sample_room;
};

struct ftc_gossip_outcome {
    bool converged;
    uint64_t most; /* messages sent by the rank that sent most (sync: rounds) */
    double mean;   /* of all ranks */
    double error; /* greatest of a live rank, relative to the greatest true average of an element */
    double time;  /* in messages of mean cost, one after the other */
    uint64_t flips, corrupt, resets, repairs;
    double flow;
    int samples;
};

/* FTC_ERR_NOMEM, FTC_ERR_ARG (as ftc_gossip_run_check()). */
int ftc_gossip_run(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome);
/* Why that cannot be: FTC_ERR_ARG, with cause and remedy. */
int ftc_gossip_run_check(const struct ftc_gossip_run *run);
/* Of what computes it: "pfcc", "doubling". */
const char *ftc_gossip_run_name(const struct ftc_gossip_run *run);

#endif
