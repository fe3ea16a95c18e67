/* Figures of gossip aggregation, made by gnuplot. curve.h says what a curve is. */
#ifndef FTC_SIM_GOSSIP_PLOT_H
#define FTC_SIM_GOSSIP_PLOT_H

#include "sim/gossip/table.h"

enum ftc_gossip_figure {
    FTC_GOSSIP_FIGURE_MESSAGES, /* messages of the rank that sent most */
    FTC_GOSSIP_FIGURE_TIME,     /* units of cost */
    FTC_GOSSIP_FIGURE_BOXES,    /* quartiles of the messages */
    FTC_GOSSIP_FIGURE_ERROR,
    FTC_GOSSIP_FIGURE_HISTORY, /* error against messages, of one run of each row */
    FTC_GOSSIP_FIGURE_FLOWS,   /* flows against messages, of one run of each row: see history.h */
    FTC_GOSSIP_FIGURES
};

/* What messages and times are divided by. */
struct ftc_gossip_relative {
    enum {
        FTC_GOSSIP_ABSOLUTE,
        FTC_GOSSIP_TO_FIRST,     /* the first row of the curve */
        FTC_GOSSIP_TO_ALGORITHM, /* the row of this algorithm at the same places of all axes */
        FTC_GOSSIP_TO_TABLE      /* the same row of another table */
    } kind;
    const char *algorithm;
    struct ftc_gossip_table other;
};
/* `text`: "first", the name of an algorithm of the table, or a CSV file; NULL: absolute.
 * FTC_ERR_ARG, FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_gossip_relative_read(struct ftc_gossip_relative *relative,
                             const struct ftc_gossip_table *table, const char *text);
void ftc_gossip_relative_fini(struct ftc_gossip_relative *relative);

/* `fit`: draw the models, too. FTC_ERR_SYSTEM, FTC_ERR_NOMEM, with cause and remedy. For the last
 * two figures the first run of each row is run again. */
int ftc_gossip_plot(const struct ftc_gossip_table *table, enum ftc_gossip_figure figure,
                    const struct ftc_gossip_relative *relative, bool fit, const char *path);

#endif
