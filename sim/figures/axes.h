/* The axes of a table of broadcasts, read from text. Each list replaces the list before.
 * FTC_ERR_ARG, FTC_ERR_NOMEM. */
#ifndef FTC_SIM_FIGURES_AXES_H
#define FTC_SIM_FIGURES_AXES_H

#include "sim/figures/figures.h"

#define FTC_FIGURES_WAYS   (FTC_PAIRS + FTC_BASELINES)
#define FTC_FIGURES_VALUES 16 /* most values of failed ranks, and of losses */

struct ftc_figures_axes {
    struct ftc_figures_way way[FTC_FIGURES_WAYS];
    struct ftc_figures_failed failed[FTC_FIGURES_VALUES];
    double loss[FTC_FIGURES_VALUES]; /* percent */
    int ways, faileds, losses;
};

/* "all" (pairs), "baselines", "lame+checked,ocg,ack-tree"; each counts once */
int ftc_figures_read_ways(struct ftc_figures_axes *axes, const char *text);
int ftc_figures_read_failed(struct ftc_figures_axes *axes, const char *text); /* "0,1,1%" */
int ftc_figures_read_losses(struct ftc_figures_axes *axes, const char *text); /* "0,0.287,10" */

/* "1%" */
char *ftc_figures_failed_name(const struct ftc_figures_failed *failed, char text[32]);

#endif
