/* What a storm found, for people and as JSON, on standard output. */
#ifndef FTC_SIM_STORM_REPORT_H
#define FTC_SIM_STORM_REPORT_H

#include "sim/storm/pool.h"
#include "sim/storm/shrink.h"

struct ftc_storm_report {
    uint64_t seed, runs;
    int jobs;
    double seconds;
    bool rules; /* list them all */
    const struct ftc_storm_outcome *outcome;
    const struct ftc_shrunk *shrunk; /* NULL: no violation, or it could not be had again */
    char *again;  /* the command that has the violation's whole run again; NULL: none */
    char *replay; /* the command of the shrunk one; NULL: none */
};

void ftc_storm_report_print(const struct ftc_storm_report *report, FILE *out);
int ftc_storm_report_json(const struct ftc_storm_report *report, FILE *out); /* FTC_ERR_NOMEM */

#endif
