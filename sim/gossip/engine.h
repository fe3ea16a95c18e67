/*
 * One gossip aggregation on a virtual machine: the product's objects (collectives/gossip.h), messages that take their time, get
 * lost and are damaged, and a harness that alone knows the true average (Wimmer 2016, algorithm 9; with `sync` algorithm 7).
 */
#ifndef FTC_SIM_GOSSIP_ENGINE_H
#define FTC_SIM_GOSSIP_ENGINE_H

#include <stdio.h>

#include "collectives/gossip.h"

#define FTC_GOSSIP_TICKS 1024 /* virtual time of a message of mean cost */

enum ftc_gossip_inputs {
    FTC_GOSSIP_UNIFORM,     /* [0, 1) */
    FTC_GOSSIP_NORMAL,      /* mean 1, deviation 1 */
    FTC_GOSSIP_EXPONENTIAL, /* mean 1 */
    FTC_GOSSIP_LINEAR,      /* the rank, from 1 */
    FTC_GOSSIP_SPIKE,       /* 1 at a rank drawn at random, else 0 */
    FTC_GOSSIP_INPUTS
};
const char *ftc_gossip_inputs_name(enum ftc_gossip_inputs inputs);

enum ftc_gossip_cost {
    FTC_GOSSIP_CONSTANT,
    FTC_GOSSIP_RANDOM, /* exponential with the same mean */
    FTC_GOSSIP_HOPS, /* by links of a 3-d torus, ranks at random places; gossip in the torus itself: neighbours */
    FTC_GOSSIP_COSTS
};
const char *ftc_gossip_cost_name(enum ftc_gossip_cost cost);

/* One sample of a run, whenever the rank that has sent most sends again. */
struct ftc_gossip_sample {
    uint64_t most; /* messages of that rank */
    double error;  /* greatest of a rank, relative */
    double flow;   /* greatest entry of a flow */
};

struct ftc_gossip_run {
    struct ftc_gossip_settings gossip; /* of every rank, but self and seed; patience in ticks */
    uint64_t seed;
    enum ftc_gossip_inputs inputs;
    enum ftc_gossip_cost cost;
    double loss;          /* 0 .. 1, of whole messages */
    double flip_rate;     /* 0 .. 1: before a rank takes a message in, a random bit of a flow turns over */
    uint64_t flips_end;   /* no more of these when a rank has sent so many; 0: no end */
    struct ftc_flip flip; /* when the first rank has sent `step` messages; rank -1: one drawn at random */
    bool flips;           /* there is one */
    int kills;            /* ranks that die when the first one has sent `kill_at` messages */
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
    double error;  /* greatest of a live rank, relative to the greatest true average of an element */
    double time;   /* in messages of mean cost, one after the other */
    uint64_t flips, corrupt, resets, repairs;
    double flow;
    int samples;
};

/* FTC_ERR_NOMEM, FTC_ERR_ARG (as ftc_gossip_check()). */
int ftc_gossip_run(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome);

#endif
