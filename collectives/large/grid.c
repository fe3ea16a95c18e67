/* The nodes of an exchange as a grid. */
#include "collectives/large/grid.h"

#include <stdlib.h>

#include "base/error.h"

/* The lowest rank of the node behind that of `rank`. */
static int end_of_node(const struct ftc_large_exchange_settings *set, int rank)
{
    int node = 0;

    while (set->nodes->first_ranks[node + 1] <= rank)
        node++;
    return set->nodes->first_ranks[node + 1];
}

static void add_row(struct ftc_large_grid *grid, const struct ftc_large_exchange_settings *set,
                    int end)
{
    int first = grid->first[grid->rows];

    if (set->self >= first && set->self < end) {
        grid->row = grid->rows;
        grid->column = set->self - first;
        grid->members = end - first;
    }
    grid->even = grid->even && (grid->rows == 0 || grid->columns == end - first);
    if (grid->rows == 0 || grid->columns > end - first)
        grid->columns = end - first;
    grid->first[++grid->rows] = end;
}

int ftc_large_grid_open(struct ftc_large_grid *grid, const struct ftc_large_exchange_settings *set,
                        bool alone)
{
    int end = -1;

    free(grid->first);
    *grid = (struct ftc_large_grid){.even = true};
    grid->first = calloc((size_t)set->places + 1, sizeof(grid->first[0]));
    if (grid->first == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a large value among %d ranks",
                             set->places);
    for (int place = 0; place < set->places; place++) {
        bool shares = !alone && set->nodes != NULL && set->rank[place] < end;
        if (place > 0 && !shares)
            add_row(grid, set, place);
        if (!shares && !alone && set->nodes != NULL)
            end = end_of_node(set, set->rank[place]);
    }
    add_row(grid, set, set->places);
    return FTC_SUCCESS;
}

void ftc_large_grid_close(struct ftc_large_grid *grid)
{
    free(grid->first);
    grid->first = NULL;
}

int ftc_large_grid_row_of(const struct ftc_large_grid *grid, int place)
{
    int row = 0, end = grid->rows;

    while (end - row > 1) {
        int middle = row + (end - row) / 2;
        if (grid->first[middle] <= place)
            row = middle;
        else
            end = middle;
    }
    return row;
}
