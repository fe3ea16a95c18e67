/*
 * Figures of how runs of gossip aggregation go on, against the messages of the rank that sent most.
 * Each row of the table is one run. A deterministic algorithm has none: it gives no result before
 * it ends.
 * - the error, a curve for each row;
 * - the flow of each link, a panel for each row. With more than FTC_GOSSIP_LINKS_SHOWN links: the
 *   greatest flow.
 */
#ifndef FTC_SIM_GOSSIP_HISTORY_H
#define FTC_SIM_GOSSIP_HISTORY_H

#include "sim/gossip/table.h"

#define FTC_GOSSIP_LINKS_SHOWN 64

/* The first run of each row is run again. FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_gossip_history_plot(const struct ftc_gossip_table *table, bool flows, const char *path);

/* Errors are drawn between these. 1e-17 is also an exact result; 1e20 also a larger one, infinity
 * and NaN. */
double ftc_gossip_drawable(double error);

#endif
