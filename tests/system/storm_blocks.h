/* A call of the storm program that gathers, scatters, exchanges or scans, and what a rank checks
 * of it. */
#ifndef FTC_TESTS_SYSTEM_STORM_BLOCKS_H
#define FTC_TESTS_SYSTEM_STORM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ftcoll.h"
#include "tests/system/record.h"

struct storm_blocks {
    int status;
    uint64_t hash;    /* of a result that all survivors have; 0: they have different ones */
    uint64_t counted; /* ranks whose contribution is in it; ~0: not known */
    const char *what; /* says what is wrong; NULL: nothing is */
};

/* Runs operation `op`. Which call it is, among those of its kind, comes from the seed. */
struct storm_blocks storm_blocks(ftc_comm *world, uint64_t seed, uint32_t op, enum record_kind kind,
                                 int root);

#endif
