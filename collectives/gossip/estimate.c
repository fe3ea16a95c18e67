/* The estimate of a gossip aggregation, and whether it stands still. */
#include <math.h>
#include <string.h>

#include "collectives/gossip/internal.h"

/* A difference up to this may come from rounding alone, or is within the accuracy. */
static double tolerance(const struct ftc_gossip *g, double size)
{
    return fmax(g->set.accuracy * size, g->floor);
}

void ftc_gossip_value_set(struct ftc_gossip *g)
{
    double size = 0, moved = 0;

    for (size_t i = 0; i < g->set.count; i++) {
        g->value[i] = g->estimate[i] / g->estimate[g->set.count];
        size = fmax(size, fabs(g->value[i]));
        moved = fmax(moved, fabs(g->value[i] - g->anchor[i]));
        if (!isfinite(g->value[i]))
            moved = INFINITY;
    }
    if (moved <= tolerance(g, size) / 2) {
        g->steady++;
        return;
    }
    g->steady = 0;
    memcpy(g->anchor, g->value, g->set.count * sizeof(double));
}

bool ftc_gossip_settled(const struct ftc_gossip *gossip)
{
    int rounds = 4; /* twice the steps in which a message can reach everybody, and 4 more */
    for (int reached = 1; reached < gossip->set.neighbourhood.ranks; reached *= 2)
        rounds += 2;
    return gossip->steady >= rounds || ftc_gossip_alone(gossip);
}

void ftc_gossip_unsettle(struct ftc_gossip *gossip)
{
    gossip->steady = 0;
}

const double *ftc_gossip_estimate(const struct ftc_gossip *gossip)
{
    return gossip->value;
}
