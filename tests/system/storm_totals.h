/* Totals of all runs of the kill storms. */
#ifndef FTC_TESTS_STORM_TOTALS_H
#define FTC_TESTS_STORM_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/agreement/member.h"
#include "tests/system/storm_run.h"

struct totals {
    uint64_t rules[FTC_RULES_COUNT];
    uint64_t deaths, runs, messages;                  /* messages: runs by messages */
    uint64_t of_kind[STORM_KINDS], gossip, converged; /* operations */
    uint64_t damaged;                                 /* ranks that left because of damage */
    uint64_t received, ended; /* messages that came; waits that ended by a death */
    uint64_t several, lost;   /* several: runs of several nodes; lost: nodes that were struck */
    uint64_t unreported;      /* runs where the struck agent was the last one */
};

void print_totals(const struct totals *totals);

/* Were all rules of the protocol's recovery taken, and all ways to spread? Storms that never take
 * one of them have become harmless. */
bool rules_were_taken(const struct totals *totals);
/* Flips that strike nothing test nothing. */
bool flips_were_seen(const struct totals *totals);

#endif
