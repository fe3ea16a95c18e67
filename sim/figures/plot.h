/*
 * Figures of a table of broadcasts, made by gnuplot, against the number of ranks:
 *   latency   until the last rank is reached, and
 *   messages  for each live process: a panel for each dissemination (lines) and number of failed
 *   ranks (columns), a colour
 *             for each correction; the baselines have a line of panels as well
 *   skew      how long the ranks take: the mean, and what lies between the first and the last; a panel for each combination,
 *             number of failed ranks and loss
 */
#ifndef FTC_SIM_FIGURES_PLOT_H
#define FTC_SIM_FIGURES_PLOT_H

#include "sim/figures/figures.h"

enum ftc_figures_kind { FTC_FIGURES_LATENCY, FTC_FIGURES_MESSAGES, FTC_FIGURES_SKEW };
#define FTC_FIGURES_KINDS 3

/* FTC_ERR_SYSTEM with cause and remedy. */
int ftc_figures_plot(const struct ftc_figures *figures, enum ftc_figures_kind kind,
                     const char *path);

#endif
