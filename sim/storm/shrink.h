/*
 * From a run that broke a promise to the smallest one that can be found: delta debugging (Zeller,
 * Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) on operations, ranks,
 * crashes, losses, settings and the order of events. Each candidate runs in a process of its own
 * (record.h). What is spent is counted in runs and steps, not in time: the same run shrinks to the
 * same one everywhere.
 */
#ifndef FTC_SIM_STORM_SHRINK_H
#define FTC_SIM_STORM_SHRINK_H

#include "sim/storm/record.h"

#define FTC_SHRINK_RUNS  20000
#define FTC_SHRINK_STEPS 20000000

struct ftc_shrunk {
    struct ftc_member_settings settings;
    struct ftc_program program; /* owned, and so are the next two */
    struct ftc_schedule schedule;
    char *trace; /* of its run, in lines */
    char violation
        [FTC_SCHEDULE_TEXT]; /* "": the recorded run keeps all promises when it is had again */
    uint64_t runs;           /* tried */
};

/* Shrink the run that *record holds, overwriting it; its settings become those of `plain` where
 * they may, ranks and f as low as may be. FTC_ERR_NOMEM, FTC_ERR_SYSTEM. `promise` may be NULL. */
int ftc_shrink(struct ftc_shrunk *shrunk, const struct ftc_member_settings *settings,
               const struct ftc_member_settings *plain, const struct ftc_program *program,
               struct ftc_storm_record *record, const struct ftc_promise *promise);
void ftc_shrunk_fini(struct ftc_shrunk *shrunk); /* a zeroed struct is legal */

#endif
