/*
 * One gossip aggregation on a virtual machine: the product's objects (collectives/gossip/gossip.h),
 * and messages that take time, get lost and are damaged. Only the harness knows the true average
 * (Wimmer 2016, algorithm 9; with `sync` algorithm 7).
 */
#ifndef FTC_SIM_GOSSIP_ENGINE_H
#define FTC_SIM_GOSSIP_ENGINE_H

#include "collectives/baseline/doubling.h"
#include "collectives/gossip/gossip.h"
#include "sim/gossip/inputs.h"
#include "sim/gossip/medium.h"

/* One sample of a run. A sample is taken each time the rank that has sent most sends again. */
struct ftc_gossip_sample {
    uint64_t most; /* number of messages that it has sent */
    double error;  /* greatest relative error of a rank */
    double flow;   /* greatest entry of a flow */
};

struct ftc_gossip_run {
    /* of every rank, except self and seed; patience is in ticks for each unit of the most
     * expensive message */
    struct ftc_gossip_settings gossip;
    bool deterministic; /* use `doubling` instead of gossip, see exact.h */
    enum ftc_doubling_algorithm doubling;
    uint64_t seed;
    enum ftc_gossip_inputs inputs;
    struct ftc_gossip_cost cost;
    double loss; /* share of whole messages that get lost, 0 .. 1 */
    /* The receiver of a lost message makes its step all the same, as in algorithm 9. Otherwise it
     * has not heard of anything, and waits for its timer. */
    bool lost_sends;
    /* 0 .. 1: share of received messages at which the rank is told that more messages wait */
    double crowd;
    /* 0 .. 1: share of received messages before which a random bit of a flow flips */
    double flip_rate;
    /* flips of flip_rate end when a rank has sent that many messages; 0: they never end */
    uint64_t flips_end;
    /* happens when the first rank has sent `step` messages; rank -1: a random rank */
    struct ftc_flip flip;
    bool flips; /* `flip` is set */
    int kills;  /* number of ranks that die when the first rank has sent `kill_at` messages */
    uint64_t kill_at;
    bool sync;                        /* rounds: each lasts as long as its most expensive message */
    bool first;                       /* stop when one rank has converged, not when all have */
    uint64_t most;                    /* stop when a rank has sent that many messages */
    struct ftc_gossip_sample *sample; /* sample_room entries; NULL: no samples are taken */
    /* The greatest entry of the flow of each link, as the link's lower rank has it: for each sample
     * ftc_gossip_run_links() entries. NULL: none. */
    double *link_flow;
    int sample_room;
};

struct ftc_gossip_outcome {
    bool converged;
    uint64_t most; /* messages of the rank that sent most (sync: rounds) */
    double mean;   /* messages of a rank, mean of all ranks */
    double error; /* greatest of a live rank, relative to the greatest true average of an element */
    double time;  /* in units of cost */
    uint64_t flips, corrupt, resets, repairs;
    double flow;
    int samples;
};

/* FTC_ERR_NOMEM, FTC_ERR_ARG (as ftc_gossip_run_check()). */
int ftc_gossip_run(const struct ftc_gossip_run *run, struct ftc_gossip_outcome *outcome);
/* FTC_ERR_ARG, with cause and remedy: this run is not possible. */
int ftc_gossip_run_check(const struct ftc_gossip_run *run);
/* The number of links of all ranks. Each counts once. */
int ftc_gossip_run_links(const struct ftc_gossip_run *run);
/* Name of the algorithm: "pfcc", "doubling". */
const char *ftc_gossip_run_name(const struct ftc_gossip_run *run);

#endif
