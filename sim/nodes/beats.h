/*
 * What beats, echoes and greetings cost the busiest of thousands of agents, and how soon a dead
 * node is known, in virtual time. Each node is an object of detector/lease/lease.h. Messages cost
 * what sim/timed/cost.h says.
 */
#ifndef FTC_SIM_NODES_BEATS_H
#define FTC_SIM_NODES_BEATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/timed/cost.h"

#define FTC_BEATS_MOST 16384 /* nodes */

struct ftc_beats {
    struct ftc_cost cost;
    int nodes;
    uint64_t seed;
    /* A quarter of the nodes dies at once, the leader and the next ones among it. Otherwise the
     * leader is paused for 3 P, and later a node dies that has others below it in the tree. */
    bool rack;
    /* results */
    uint64_t busiest;     /* messages that one node sends and takes in T, at most, in peace */
    uint64_t mean;        /* the same, of all nodes */
    uint64_t after;       /* as busiest, in the T after the leader was paused or has died */
    uint64_t declared_ns; /* from the death until a node declares one that died */
    int lost;             /* nodes that were refused or have ended, and had not died */
};

/* FTC_ERR_NOMEM. */
int ftc_beats_run(struct ftc_beats *beats);

/* Print a table as CSV: 4, 16, ... and at most `most` nodes, with T = 5 s and P = 250 ms.
 * FTC_ERR_NOMEM. */
int ftc_beats_table(const struct ftc_cost *cost, int most, uint64_t seed, FILE *out);

#endif
