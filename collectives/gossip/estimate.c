/* The estimate of a gossip aggregation, and whether it stands still. */
#include <math.h>
#include <string.h>

#include "collectives/gossip/internal.h"
#include "collectives/mutation.h"

double ftc_gossip_weight_size(const struct ftc_gossip *g)
{
    double most = ldexp(0.5, g->sizes.weight), least = ldexp(0.5, g->sizes.least);

    return FTC_MUTATED(WEIGHTS_AS_ONE) ? 1 : fmax(fmin(fabs(g->weight), most), least);
}

/* A difference up to this may come from rounding alone, or is within the accuracy (gossip.md, rules
 * 7 and 9). Both entries of the quotient are rounded. */
static double tolerance(const struct ftc_gossip *g, double size)
{
    double rounded = fmax(ldexp(FTC_GOSSIP_FLOOR / 2, g->sizes.input),
                          size * ldexp(FTC_GOSSIP_FLOOR / 4, g->sizes.weight));
    double weight = ftc_gossip_weight_size(g);

    return fmax(g->set.accuracy * size, weight > 0 ? rounded / weight : 0);
}

/* gossip.md, rule 10: the weight is 0, or as small as what rounding leaves of cancelled flows. */
static bool holds_nothing(const struct ftc_gossip *g)
{
    double rounded = g->ops->flows > 0 ? ldexp(FTC_GOSSIP_FLOOR / 2, g->sizes.weight) : 0;

    return fabs(g->weight) <= rounded;
}

static void stay_without_value(struct ftc_gossip *g)
{
    g->steady = isnan(g->anchor[0]) ? g->steady + 1 : 0;
    for (size_t i = 0; i < g->set.count; i++)
        g->value[i] = g->anchor[i] = NAN;
}

void ftc_gossip_value_set(struct ftc_gossip *g)
{
    double size = 0, moved = 0;

    g->weight = g->estimate[g->set.count] / g->unit;
    if (holds_nothing(g)) {
        stay_without_value(g);
        return;
    }
    for (size_t i = 0; i < g->set.count; i++) {
        g->value[i] = g->estimate[i] / g->estimate[g->set.count];
        size = fmax(size, fabs(g->value[i]));
        moved = fmax(moved, fabs(g->value[i] - g->anchor[i]));
        if (!isfinite(g->value[i]) || !isfinite(g->anchor[i]))
            moved = INFINITY;
    }
    if (moved <= tolerance(g, size) / 2 && isfinite(moved)) {
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

double ftc_gossip_weight(const struct ftc_gossip *gossip)
{
    return gossip->weight;
}

const double *ftc_gossip_estimate(const struct ftc_gossip *gossip)
{
    return gossip->value;
}
