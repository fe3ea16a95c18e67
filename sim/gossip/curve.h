/*
 * The curves of a table of gossip aggregation. The axis is the first of these that varies in the
 * table: the number of flips, the flipped bit, the loss, the accuracy, the ranks. Each combination
 * of the other things that vary has a curve.
 */
#ifndef FTC_SIM_GOSSIP_CURVE_H
#define FTC_SIM_GOSSIP_CURVE_H

#include "sim/gossip/table.h"

enum ftc_gossip_axis {
    FTC_GOSSIP_AXIS_FLIPS,
    FTC_GOSSIP_AXIS_BITS,
    FTC_GOSSIP_AXIS_LOSS,
    FTC_GOSSIP_AXIS_ACCURACY,
    FTC_GOSSIP_AXIS_RANKS,
    FTC_GOSSIP_AXES_COUNT
};

enum ftc_gossip_axis ftc_gossip_find_axis(const struct ftc_gossip_table *table);
/* Where a row is on an axis. */
double ftc_gossip_place(const struct ftc_gossip_row *row, enum ftc_gossip_axis axis);
/* Are two rows equal in all but their places on this axis? */
bool ftc_gossip_same_but_axis(const struct ftc_gossip_row *a, const struct ftc_gossip_row *b,
                              enum ftc_gossip_axis axis);
/* Are two rows at the same places on all axes? */
bool ftc_gossip_same_places(const struct ftc_gossip_row *a, const struct ftc_gossip_row *b);

/* The name of a curve: "push-flow, torus, in turns". It says what varies in the table, except the
 * axis, or with `whole` also the place on the axis. For a table of one row it says everything. */
#define FTC_GOSSIP_CURVE 160
void ftc_gossip_curve_name(const struct ftc_gossip_table *table, const struct ftc_gossip_row *row,
                           bool whole, char name[FTC_GOSSIP_CURVE]);

#endif
