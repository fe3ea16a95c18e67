/*
 * Figures of gossip aggregation, made by gnuplot. The axis is the first of these that varies in the
 * table: the flipped bit, the loss, the accuracy, the ranks. Each combination of the other things
 * that vary has a curve.
 */
#ifndef FTC_SIM_GOSSIP_PLOT_H
#define FTC_SIM_GOSSIP_PLOT_H

#include "sim/gossip/table.h"

enum ftc_gossip_figure {
    FTC_GOSSIP_FIGURE_MESSAGES, /* messages of the rank that sent most */
    FTC_GOSSIP_FIGURE_ERROR,
    FTC_GOSSIP_FIGURE_HISTORY, /* error against messages, of one run of each row */
    FTC_GOSSIP_FIGURE_FLOWS,   /* greatest flow against messages, of one run of each row */
    FTC_GOSSIP_FIGURES
};

/* FTC_ERR_SYSTEM, FTC_ERR_NOMEM, with cause and remedy. For the last two figures the first run of
 * each row is run again. */
int ftc_gossip_plot(const struct ftc_gossip_table *table, enum ftc_gossip_figure figure,
                    const char *path);

/* The name of a curve: "push-flow, torus, in turns". It says what varies in the table, except the
 * axis. For a table of one row it says everything. */
#define FTC_GOSSIP_CURVE 160
void ftc_gossip_curve_name(const struct ftc_gossip_table *table, const struct ftc_gossip_row *row,
                           char name[FTC_GOSSIP_CURVE]);

#endif
