/*
 * How news of a failed rank spread over thousands of nodes, in virtual time. Each node is an object
 * of detector/notices.h. Messages cost what sim/timed/cost.h says.
 *
 * One node tells two news, the notice and the rank's end. Some nodes are dead before, and nobody
 * knows it: the news take ways around them, without waiting until they are seen to be gone.
 */
#ifndef FTC_SIM_NODES_SPREAD_H
#define FTC_SIM_NODES_SPREAD_H

#include <stdint.h>
#include <stdio.h>

#include "sim/timed/cost.h"

#define FTC_SPREAD_MOST 65536 /* nodes */

struct ftc_spread {
    struct ftc_cost cost;
    int nodes, dead;
    uint64_t seed;
    /* results */
    uint64_t notice_ns; /* when the last node took the notice that was reached */
    int busiest;        /* messages that one node sent at most, for both news */
    int missed;         /* nodes that live and were not reached */
};

/* FTC_ERR_NOMEM. */
int ftc_spread_run(struct ftc_spread *spread);

/* The same by a flat tree: the origin sends the notice to all others. ns. */
uint64_t ftc_spread_flat(const struct ftc_spread *spread);

/* Print a table as CSV: 2, 4, ... `most` nodes, none or one in a hundred of them dead, medians of 5
 * runs. FTC_ERR_NOMEM. */
int ftc_spread_table(const struct ftc_cost *cost, int most, uint64_t seed, FILE *out);

#endif
