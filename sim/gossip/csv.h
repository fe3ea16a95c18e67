/* The CSV of tables of gossip aggregation. */
#ifndef FTC_SIM_GOSSIP_CSV_H
#define FTC_SIM_GOSSIP_CSV_H

#include "sim/gossip/table.h"

/* Both print to standard output, and flush it. */
void ftc_gossip_csv_print_head(void);
void ftc_gossip_csv_print(const struct ftc_gossip_row *row);

/* Fill in the results of all rows from a file, which must have these rows. FTC_ERR_SYSTEM,
 * FTC_ERR_ARG, with cause and remedy. */
int ftc_gossip_csv_read(struct ftc_gossip_table *table, const char *path);

#endif
