/* Time from the death of a rank until the survivors go on. */
#ifndef FTC_CLI_PERF_KILL_H
#define FTC_CLI_PERF_KILL_H

#include "cli/perf/measure.h"

/* Microseconds from the death to the end of the first operation whose failed set has the rank. */
struct ftc_perf_kill {
    int rank;
    int survivors;
    double first, last; /* on the first survivor that ends it, on the last */
};

struct ftc_perf_deaths; /* their times, in memory that all ranks share */

/* Collective. The memory has no name: whoever dies, nothing is left behind. */
int ftc_perf_deaths_init(struct ftc_perf_job *job, struct ftc_perf_deaths **deaths);
void ftc_perf_deaths_fini(struct ftc_perf_deaths *deaths);

/* Kill one rank while the operation, which takes about `us`, runs in a loop. Collective; a rank
 * that is drawn does not return. */
int ftc_perf_kill(struct ftc_perf_bench *bench, struct ftc_perf_deaths *deaths, double us,
                  uint64_t *random, struct ftc_perf_kill *kill);

#endif
