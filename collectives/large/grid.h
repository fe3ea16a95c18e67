/*
 * The places of an exchange (exchange.h) as a grid. A row has the places of one node, in their
 * order; column j has the j-th place of each row. There are as many columns as the shortest row has
 * places. A place behind them has a row and no column. Private to collectives/large.
 */
#ifndef FTC_COLLECTIVES_LARGE_GRID_H
#define FTC_COLLECTIVES_LARGE_GRID_H

#include "collectives/large/exchange.h"

struct ftc_large_grid {
    int rows, columns;
    int row, column; /* of this place; column >= columns: it has none */
    int members;     /* places in its row */
    bool even;       /* all rows have as many places */
    int *first;      /* the first place of each row, and then the number of places */
};

/* Opens a zeroed grid, or one that was opened. `alone`: each place has a row of its own, as it has
 * where the settings name no nodes. FTC_ERR_NOMEM. */
int ftc_large_grid_open(struct ftc_large_grid *grid, const struct ftc_large_exchange_settings *set,
                        bool alone);
void ftc_large_grid_close(struct ftc_large_grid *grid); /* legal when zeroed */

int ftc_large_grid_row_of(const struct ftc_large_grid *grid, int place);

#endif
