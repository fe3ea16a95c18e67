/* The axes of a sweep as text: lists and ranges. */
#ifndef FTC_SIM_TIMED_AXES_H
#define FTC_SIM_TIMED_AXES_H

#include "sim/timed/cost.h"

struct ftc_axis {
    int *value; /* owned */
    int count;
};

/* Values of an axis of deaths, because f differs from row to row. FTC_AXIS_F: f deaths.
 * FTC_AXIS_RANGE: all numbers from the next value of the axis to f. */
#define FTC_AXIS_F     (-1)
#define FTC_AXIS_RANGE (-2)

/* Read "2..1048576" (doubling) or "4,100,2..64". FTC_ERR_ARG, FTC_ERR_NOMEM. The axis must be
 * empty. */
int ftc_axis_read_ranks(struct ftc_axis *axis, const char *text);
/* "0..3", "0,2" */
int ftc_axis_read_f(struct ftc_axis *axis, const char *text);
/* "0,f", "0..f", "0..5" */
int ftc_axis_read_kills(struct ftc_axis *axis, const char *text);
void ftc_axis_fini(struct ftc_axis *axis);

/* The numbers of deaths that an axis means for this f, ascending, each once. Fills in at most
 * `room` and returns how many there are. */
int ftc_axis_kills(const struct ftc_axis *axis, int f, int kills[], int room);

/* "rdma,tcp", "L=2,o=1", "tcp,G=0.1,rdma": a word with = belongs to the model before it */
#define FTC_AXIS_COSTS 16
int ftc_axis_read_costs(struct ftc_cost costs[FTC_AXIS_COSTS], int *count, const char *text);

#endif
