/* Push-sum: Wimmer 2016, algorithm 8. This is algorithm 2, with one message sent for each one
 * received. */
#include <string.h>

#include "collectives/gossip/internal.h"

static bool prepare(struct ftc_gossip *g)
{
    ftc_mass_add(g->initial, g->absorbed, g->width);
    memset(g->absorbed, 0, g->width * sizeof(double));
    memcpy(g->estimate, g->initial, g->width * sizeof(double));
    ftc_gossip_value_set(g);
    return true;
}

static void push(struct ftc_gossip *g, int link)
{
    (void)link;
    ftc_mass_halve(g->estimate, g->width);
    memcpy(g->initial, g->estimate, g->width * sizeof(double));
}

static bool take(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter)
{
    (void)link;
    ftc_mass_negate(g->came, letter->mass, letter->unit, g->width);
    ftc_mass_subtract(g->absorbed, g->came, g->width);
    return false;
}

static void write_mass(const struct ftc_gossip *g, int link, unsigned char *out)
{
    (void)link;
    memcpy(out, g->initial, g->width * sizeof(double));
}

const struct ftc_gossip_ops ftc_gossip_push_sum = {
    .name = "push-sum",
    .masses = 1,
    .prepare = prepare,
    .push = push,
    .take = take,
    .write = write_mass,
};
