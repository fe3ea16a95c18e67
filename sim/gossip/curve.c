/* The curves of a table of gossip aggregation, and their names. */
#include "sim/gossip/curve.h"

#include <stdio.h>
#include <string.h>

#define AXES FTC_GOSSIP_AXES_COUNT

double ftc_gossip_place(const struct ftc_gossip_row *row, enum ftc_gossip_axis axis)
{
    switch (axis) {
    case FTC_GOSSIP_AXIS_FLIPS:
        return row->flips_wanted;
    case FTC_GOSSIP_AXIS_BITS:
        return row->bit;
    case FTC_GOSSIP_AXIS_LOSS:
        return row->run.loss * 100;
    case FTC_GOSSIP_AXIS_ACCURACY:
        return row->run.gossip.accuracy;
    default:
        return row->run.gossip.neighbourhood.ranks;
    }
}

static bool varies(const struct ftc_gossip_table *table, enum ftc_gossip_axis axis)
{
    for (int i = 1; i < table->rows; i++)
        if (ftc_gossip_place(&table->row[i], axis) != ftc_gossip_place(&table->row[0], axis))
            return true;
    return false;
}

enum ftc_gossip_axis ftc_gossip_find_axis(const struct ftc_gossip_table *table)
{
    for (int axis = 0; axis < AXES; axis++)
        if (varies(table, (enum ftc_gossip_axis)axis))
            return (enum ftc_gossip_axis)axis;
    return FTC_GOSSIP_AXIS_RANKS;
}

static bool same_place(const struct ftc_gossip_row *a, const struct ftc_gossip_row *b, int axis)
{
    return ftc_gossip_place(a, (enum ftc_gossip_axis)axis) ==
           ftc_gossip_place(b, (enum ftc_gossip_axis)axis);
}

bool ftc_gossip_same_places(const struct ftc_gossip_row *a, const struct ftc_gossip_row *b)
{
    for (int axis = 0; axis < AXES; axis++)
        if (!same_place(a, b, axis))
            return false;
    return true;
}

bool ftc_gossip_same_but_axis(const struct ftc_gossip_row *a, const struct ftc_gossip_row *b,
                              enum ftc_gossip_axis axis)
{
    const struct ftc_gossip_settings *x = &a->run.gossip, *y = &b->run.gossip;

    if (strcmp(ftc_gossip_run_name(&a->run), ftc_gossip_run_name(&b->run)) != 0 ||
        x->neighbourhood.kind != y->neighbourhood.kind || x->turns != y->turns ||
        a->run.lost_sends != b->run.lost_sends)
        return false;
    for (int other = 0; other < AXES; other++)
        if (other != (int)axis && !same_place(a, b, other))
            return false;
    return true;
}

static void append(char name[FTC_GOSSIP_CURVE], const char *text)
{
    size_t used = strlen(name);
    snprintf(name + used, FTC_GOSSIP_CURVE - used, "%s%s", used > 0 ? ", " : "", text);
}

static void append_place(char name[FTC_GOSSIP_CURVE], const struct ftc_gossip_row *row, int axis)
{
    static const char *const formats[AXES] = {"%g flips", "bit %g", "%g %% lost", "accuracy %g",
                                              "%g ranks"};
    char text[48];

    snprintf(text, sizeof(text), formats[axis], // NOLINT(*-nonliteral)
             ftc_gossip_place(row, (enum ftc_gossip_axis)axis));
    append(name, text);
}

void ftc_gossip_curve_name(const struct ftc_gossip_table *table, const struct ftc_gossip_row *row,
                           bool whole, char name[FTC_GOSSIP_CURVE])
{
    const struct ftc_gossip_settings *mine = &row->run.gossip;
    enum ftc_gossip_axis axis = ftc_gossip_find_axis(table);
    bool neighbourhoods = false, turns = false, sends = false;

    name[0] = '\0';
    for (int i = 0; i < table->rows; i++) {
        const struct ftc_gossip_settings *other = &table->row[i].run.gossip;
        neighbourhoods |= mine->neighbourhood.kind != other->neighbourhood.kind;
        turns |= mine->turns != other->turns && mine->algorithm == other->algorithm;
        sends |= row->run.lost_sends != table->row[i].run.lost_sends;
    }
    append(name, ftc_gossip_run_name(&row->run));
    if (neighbourhoods && !row->run.deterministic)
        append(name, ftc_neighbourhood_name(mine->neighbourhood.kind));
    if (turns && !row->run.deterministic)
        append(name, mine->turns ? "in turns" : "free");
    if (sends && !row->run.deterministic)
        append(name, row->run.lost_sends ? "receiver sends" : "receiver waits");
    for (int other = 0; other < AXES; other++)
        if ((whole || other != (int)axis) && varies(table, (enum ftc_gossip_axis)other))
            append_place(name, row, other);
}
