/* The report of a storm on standard output, as text or as JSON. */
#ifndef FTC_SIM_STORM_REPORT_H
#define FTC_SIM_STORM_REPORT_H

#include "sim/storm/pool.h"
#include "sim/storm/shrink.h"

struct ftc_storm_report {
    uint64_t seed, runs;
    int jobs;
    double seconds;
    bool rules; /* list all rules */
    const struct ftc_storm_outcome *outcome;
    const struct ftc_shrunk *shrunk; /* NULL: there is no violation, or it could not be repeated */
    char *again;  /* the command that repeats the whole run of the violation; NULL: none */
    char *replay; /* the command that replays the shrunk run; NULL: none */
};

void ftc_storm_report_print(const struct ftc_storm_report *report, FILE *out);
int ftc_storm_report_json(const struct ftc_storm_report *report, FILE *out); /* FTC_ERR_NOMEM */

#endif
