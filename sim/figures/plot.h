/*
 * Figures of a table of broadcasts, made by gnuplot, against the number of ranks:
 * - latency: the time until the last rank is reached. It has a panel for each dissemination (lines)
 *   and number of failed ranks (columns), and a colour for each correction. The baselines have a
 *   line of panels as well.
 * - messages: the messages for each live process, in the same panels.
 * - skew: how long the ranks take: the mean, and the range from the first to the last. It has a
 *   panel for each combination, number of failed ranks and loss.
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
