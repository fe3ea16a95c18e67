/*
 * Push-cancel-flow: Wimmer 2016, algorithm 4 (Niederbrucker, Strakova, Gansterer 2012), with two
 * slips of the text put right. Half of the estimate is taken once, for both flow and sum (lines 2
 * and 4 take it one after the other). And the result is (initial + absorbed), not absorbed alone
 * (line 24). The algorithm needs turns on each link: after two messages in a row the counters of
 * both ends differ, and from then on every message is thrown away (figure 2.5).
 */
#include <string.h>

#include "collectives/gossip/internal.h"

static bool prepare(struct ftc_gossip *g)
{
    memcpy(g->estimate, g->initial, g->width * sizeof(double));
    ftc_mass_add(g->estimate, g->absorbed, g->width);
    ftc_gossip_value_set(g);
    return true;
}

static void push(struct ftc_gossip *g, int link)
{
    ftc_mass_halve(g->estimate, g->width);
    ftc_mass_subtract(g->absorbed, g->estimate, g->width);
    ftc_mass_subtract(ftc_gossip_flow_of(g, link, g->link[link].active), g->estimate, g->width);
}

/* Lines 10-11 and 20-21: the own flow becomes the opposite of the received one. */
static void adopt(struct ftc_gossip *g, double *own, const double *opposite)
{
    ftc_mass_subtract(g->absorbed, own, g->width);
    ftc_mass_add(g->absorbed, opposite, g->width);
    memcpy(own, opposite, g->width * sizeof(double));
}

/* Lines 12-23: the passive flows cancel, and change places with the active ones. */
static void take_passive(struct ftc_gossip *g, struct ftc_gossip_link *link, double *own,
                         const double *opposite, uint32_t cancels)
{
    if (link->cancels == cancels && ftc_mass_equal(own, opposite, g->width)) {
        memset(own, 0, g->width * sizeof(double));
        link->cancels++;
    } else if (link->cancels + 1 == cancels && ftc_mass_zero(opposite, g->width)) {
        memset(own, 0, g->width * sizeof(double));
        link->cancels++;
        link->active ^= 1;
    } else if (link->cancels <= cancels) {
        adopt(g, own, opposite);
    }
}

static bool take(struct ftc_gossip *g, int at, const struct ftc_gossip_letter *letter)
{
    struct ftc_gossip_link *link = &g->link[at];

    if (link->active != letter->active && link->cancels == letter->cancels)
        link->active = letter->active;
    if (link->active != letter->active)
        return false;
    size_t bytes = g->width * sizeof(double);
    int passive = link->active ^ 1;
    ftc_mass_negate(g->came, letter->mass + link->active * bytes, letter->unit, g->width);
    adopt(g, ftc_gossip_flow_of(g, at, link->active), g->came);
    ftc_mass_negate(g->came, letter->mass + passive * bytes, letter->unit, g->width);
    take_passive(g, link, ftc_gossip_flow_of(g, at, passive), g->came, letter->cancels);
    return false;
}

/* What was cancelled before is not undone. So the result is not the average of the living any
 * more. */
static void remove_link(struct ftc_gossip *g, int link)
{
    for (int which = 0; which < 2; which++) {
        double *flow = ftc_gossip_flow_of(g, link, which);
        ftc_mass_subtract(g->absorbed, flow, g->width);
        memset(flow, 0, g->width * sizeof(double));
    }
}

static void write_flows(const struct ftc_gossip *g, int link, unsigned char *out)
{
    memcpy(out, ftc_gossip_flow_of(g, link, 0), 2 * g->width * sizeof(double));
}

const struct ftc_gossip_ops ftc_gossip_push_cancel_flow = {
    .name = "push-cancel-flow",
    .answers = true,
    .flows = 2,
    .masses = 2,
    .prepare = prepare,
    .push = push,
    .take = take,
    .remove = remove_link,
    .write = write_flows,
};
