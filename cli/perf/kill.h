/* The time from the death of a rank until the survivors go on. */
#ifndef FTC_CLI_PERF_KILL_H
#define FTC_CLI_PERF_KILL_H

#include "cli/perf/measure.h"

/* Times in microseconds, from the death to the end of the first operation whose failed set has the
 * dead rank. */
struct ftc_perf_kill {
    int rank;
    int survivors;
    double first, last; /* at the first survivor that ends it, at the last one */
};

struct ftc_perf_deaths; /* the time of death, in memory that all ranks share */

/* Make the shared memory. Collective. It has no name, so it leaves nothing behind, whichever rank
 * dies. */
int ftc_perf_deaths_init(struct ftc_perf_job *job, struct ftc_perf_deaths **deaths);
void ftc_perf_deaths_fini(struct ftc_perf_deaths *deaths);

/* Kill one rank while the operation, which takes about `us`, runs in a loop. Collective. At the
 * rank that is drawn it does not return. */
int ftc_perf_kill(struct ftc_perf_bench *bench, struct ftc_perf_deaths *deaths, double us,
                  uint64_t *random, struct ftc_perf_kill *kill);

#endif
