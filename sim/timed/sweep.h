/* A sweep: the same operation at many sizes, numbers of masked failures, deaths and cost models. */
#ifndef FTC_SIM_TIMED_SWEEP_H
#define FTC_SIM_TIMED_SWEEP_H

#include "sim/timed/options.h"

struct ftc_sweep_row {
    const struct ftc_program_operation *operation;
    const struct ftc_cost *cost;
    int n, f, kills;
    /* results; counts are those of the run with the median latency */
    int runs;
    uint64_t latency, least, most; /* ns: median, of the last survivor's delivery */
    uint64_t root_latency;         /* ns: median of the runs whose root survived */
    int root_runs;                 /* how many those are */
    struct ftc_timed_operation median;
    int code;          /* FTC_SIM_EXIT_* */
    uint64_t bad_seed; /* of a broken promise */
    char words[400];   /* of an error or a broken promise */
};

struct ftc_sweep {
    struct ftc_member_settings member; /* of every run, but ranks, self and f */
    struct ftc_timed_options options;  /* but kills */
    uint64_t seed; /* of the first of the repeated runs, the next one has the next */
    int repeat;
    struct ftc_sweep_row *row;
    int rows;
};

/* Fill in the row's results: run it, as often as chance has a say. */
void ftc_sweep_run(const struct ftc_sweep *sweep, struct ftc_sweep_row *row);

/* Run all rows, each in a process of its own, up to `jobs` at once, and report them in their order.
 * `report` returns false to stop. FTC_ERR_SYSTEM (no process can be made), FTC_ERR_NOMEM. */
int ftc_sweep_run_all(struct ftc_sweep *sweep, int jobs,
                      bool (*report)(void *arg, const struct ftc_sweep_row *row), void *arg);

#endif
