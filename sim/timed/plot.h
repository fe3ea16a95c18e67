/* A figure of a sweep, made by gnuplot. It has a panel for each operation (rows) and cost model
 * (columns). A panel shows latency against the number of ranks, both logarithmic, in a colour for
 * each f. Lines are dashed where ranks die. For a reduce the latency is the time at the root. */
#ifndef FTC_SIM_TIMED_PLOT_H
#define FTC_SIM_TIMED_PLOT_H

#include "sim/timed/sweep.h"

/* Call it before the work: can gnuplot be found, and can the file be made? FTC_ERR_UNSUPPORTED or
 * FTC_ERR_SYSTEM, with cause and remedy. */
int ftc_plot_check(const char *path);
/* Write an SVG to `path`. FTC_ERR_SYSTEM, FTC_ERR_ARG: no row has a latency to show. */
int ftc_plot(const struct ftc_sweep *sweep, const char *path);
/* The same for a sweep in which a rank stands still: one panel with a curve for each [reduce] take,
 * the latency against the length of the stall. */
int ftc_plot_stall(const struct ftc_sweep *sweep, const char *path);

#endif
