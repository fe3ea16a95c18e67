/* One aggregation by gossip of the storm program, and what a rank can check of it. */
#ifndef FTC_TESTS_SYSTEM_STORM_GOSSIP_H
#define FTC_TESTS_SYSTEM_STORM_GOSSIP_H

#include <stdbool.h>
#include <stdint.h>

#include "ftcoll.h"

struct storm_gossip {
    int status;       /* FTC_SUCCESS or FTC_ERR_NOT_CONVERGED */
    uint64_t hash;    /* hash of the result's bits */
    const char *what; /* says what is wrong; NULL: nothing is */
};

/* Runs operation `op`. Its size, operator and accuracy come from the seed, its algorithm and
 * neighbourhood from the job's settings. `flips` says that bits may flip, so the result may be off
 * by what is too small for a checksum. */
struct storm_gossip storm_gossip(ftc_comm *world, uint64_t seed, uint32_t op, bool flips);

#endif
