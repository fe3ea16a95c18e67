/* A sweep: the same operation with many numbers of ranks, masked failures and deaths, and cost
 * models. */
#ifndef FTC_SIM_TIMED_SWEEP_H
#define FTC_SIM_TIMED_SWEEP_H

#include "sim/timed/options.h"

struct ftc_sweep_row {
    const struct ftc_program_operation *operation;
    const struct ftc_cost *cost;
    int n, f, kills;
    enum ftc_take take;
    uint64_t stall_ns; /* length of the stall; 0: no rank stalls */
    /* results; counts are those of the run with the median latency */
    int runs;
    uint64_t latency, least, most; /* ns: of the last survivor's delivery; latency: the median */
    uint64_t root_latency;         /* ns: median of the runs whose root survived */
    int root_runs;                 /* number of such runs */
    struct ftc_timed_operation median;
    int code;          /* FTC_SIM_EXIT_* */
    uint64_t bad_seed; /* of the run that broke a promise */
    char words[400];   /* of the error or the broken promise */
};

struct ftc_sweep {
    struct ftc_member_settings member; /* of every run, except ranks, self and f */
    struct ftc_timed_options options;  /* except kills */
    uint64_t seed; /* of the first of the repeated runs; each further run has the next seed */
    int repeat;
    struct ftc_sweep_row *row;
    int rows;
};

/* Run the row and fill in its results. It runs more than once only if its runs depend on chance. */
void ftc_sweep_run(const struct ftc_sweep *sweep, struct ftc_sweep_row *row);

/* Run all rows, each in a process of its own, up to `jobs` at once, and report them in their order.
 * `report` returns false to stop. FTC_ERR_SYSTEM (no process can be made), FTC_ERR_NOMEM. */
int ftc_sweep_run_all(struct ftc_sweep *sweep, int jobs,
                      bool (*report)(void *arg, const struct ftc_sweep_row *row), void *arg);

#endif
