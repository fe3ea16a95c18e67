/*
 * Shrinks a run that broke a promise to the smallest such run that it can find. It uses delta
 * debugging (Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) on
 * operations, ranks, crashes, losses, settings and the order of events. Each candidate runs in a
 * process of its own (record.h). The effort is limited in runs and steps, not in time. So a run
 * shrinks to the same result on every machine.
 */
#ifndef FTC_SIM_STORM_SHRINK_H
#define FTC_SIM_STORM_SHRINK_H

#include "sim/storm/record.h"

#define FTC_SHRINK_RUNS  20000
#define FTC_SHRINK_STEPS 20000000

struct ftc_shrunk {
    struct ftc_member_settings settings;
    struct ftc_program program; /* owned, like the next two */
    struct ftc_schedule schedule;
    char *trace; /* of its run, as lines */
    /* "": the recorded run keeps all promises when it is repeated */
    char violation[FTC_SCHEDULE_TEXT];
    uint64_t runs; /* number of runs that were tried */
};

/* Shrink the run in *record, which is overwritten. Settings become those of `plain` where that is
 * possible, and ranks and f as low as possible. FTC_ERR_NOMEM, FTC_ERR_SYSTEM. `promise` may be
 * NULL. */
int ftc_shrink(struct ftc_shrunk *shrunk, const struct ftc_member_settings *settings,
               const struct ftc_member_settings *plain, const struct ftc_program *program,
               struct ftc_storm_record *record, const struct ftc_promise *promise);
void ftc_shrunk_fini(struct ftc_shrunk *shrunk); /* a zeroed struct is legal */

#endif
