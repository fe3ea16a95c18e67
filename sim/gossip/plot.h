/*
 * Figures of gossip aggregation by gnuplot, a curve for each combination of what varies in the
 * table but the axis: that is the flipped bit, the loss, the accuracy or the ranks, the first of
 * these that varies.
 */
#ifndef FTC_SIM_GOSSIP_PLOT_H
#define FTC_SIM_GOSSIP_PLOT_H

#include "sim/gossip/table.h"

enum ftc_gossip_figure {
    FTC_GOSSIP_FIGURE_MESSAGES, /* most of a rank */
    FTC_GOSSIP_FIGURE_ERROR,
    FTC_GOSSIP_FIGURE_HISTORY, /* error against messages, of one run of each row */
    FTC_GOSSIP_FIGURE_FLOWS,   /* greatest flow against messages, likewise */
    FTC_GOSSIP_FIGURES
};

/* FTC_ERR_SYSTEM, FTC_ERR_NOMEM with cause and remedy. The last two run the first run of each row
 * again. */
int ftc_gossip_plot(const struct ftc_gossip_table *table, enum ftc_gossip_figure figure,
                    const char *path);

/* "push-flow, torus, in turns": what varies in the table but `axis`; all of it for a table of one
 * row. */
#define FTC_GOSSIP_CURVE 160
void ftc_gossip_curve_name(const struct ftc_gossip_table *table, const struct ftc_gossip_row *row,
                           char name[FTC_GOSSIP_CURVE]);

#endif
