/*
 * Runs many storms on all cores. Worker processes take runs in blocks. Run i has the seed `seed` +
 * i in any worker, and all runs before the first broken promise are finished. So the result does
 * not depend on the number of workers. A worker that dies or hangs is a violation, too, of the run
 * that it was doing.
 */
#ifndef FTC_SIM_STORM_POOL_H
#define FTC_SIM_STORM_POOL_H

#include "sim/progress.h"
#include "sim/storm/storm.h"

struct ftc_storm_plan {
    struct ftc_storm_frame frame;
    uint64_t seed, runs;
    int jobs;                          /* workers */
    const struct ftc_promise *promise; /* NULL: only the promises of the product */
    struct ftc_progress *progress;     /* NULL: silent */
};

struct ftc_storm_outcome {
    /* the same for any number of workers, if all runs came to their end */
    struct ftc_storm_sums sums;
    bool interrupted; /* by SIGINT or SIGTERM */
    bool violated;
    uint64_t seed; /* the lowest seed that breaks a promise */
    char violation[FTC_SCHEDULE_TEXT];
};

/* FTC_ERR_SYSTEM, FTC_ERR_NOMEM. Leaves no child behind. */
int ftc_storm_pool_run(const struct ftc_storm_plan *plan, struct ftc_storm_outcome *outcome);

#endif
