/*
 * Many storms, over all cores: worker processes take runs in blocks. Run i has the seed `seed` + i,
 * whoever runs it, and all runs before the first broken promise are finished: what is found does
 * not depend on the number of workers. A worker that dies or hangs is a violation too, of the run
 * that it was at.
 */
#ifndef FTC_SIM_STORM_POOL_H
#define FTC_SIM_STORM_POOL_H

#include "sim/progress.h"
#include "sim/storm/storm.h"

struct ftc_storm_plan {
    struct ftc_storm_frame frame;
    uint64_t seed, runs;
    int jobs;                          /* workers */
    const struct ftc_promise *promise; /* NULL: those of the product alone */
    struct ftc_progress *progress;     /* NULL: silent */
};

struct ftc_storm_outcome {
    struct ftc_storm_sums
        sums;         /* the same for any number of workers, if all runs came to their end */
    bool interrupted; /* by SIGINT or SIGTERM */
    bool violated;
    uint64_t seed; /* the lowest that breaks a promise */
    char violation[FTC_SCHEDULE_TEXT];
};

/* FTC_ERR_SYSTEM, FTC_ERR_NOMEM. Leaves no child behind. */
int ftc_storm_pool_run(const struct ftc_storm_plan *plan, struct ftc_storm_outcome *outcome);

#endif
