/*
 * Push-flow, pflc and pfcc: Wimmer 2016, algorithms 3, 5 and 6, with two slips of the text put
 * right. The estimate is that of the own rank (e_i, not e_j). And nothing is pushed while the
 * estimate is corrupt, since that would carry the error into a sound flow (lines 6-9 of algorithm
 * 6).
 *
 * A rank sums its estimate up afresh in each step. So when a flow is overwritten, its error goes
 * with it.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "collectives/gossip/internal.h"
#include "collectives/mutation.h"

#define UNIT (DBL_EPSILON / 2)

static void sum_up(struct ftc_gossip *g)
{
    memcpy(g->estimate, g->initial, g->width * sizeof(double));
    for (int link = 0; link < g->links; link++)
        ftc_mass_add(g->estimate, ftc_gossip_flow_of(g, link, 0), g->width);
}

/* --- thresholds (docs/design/gossip.md, "tau") --- */

/* More than rounding explains: a bit was flipped. Each step, and each flow in a sum, adds an ulp of
 * either sign. */
static bool suspicious(const struct ftc_gossip *g, const double *mass)
{
    double roundings = 16 + (double)g->links + (double)g->counters.sent;
    double explained = g->set.tau > 0 ? g->set.tau : 16 * sqrt(roundings) * UNIT * g->scale;

    return !(ftc_mass_error(mass, g->width) <= explained);
}

/* gossip.md, rules 6 and 9. The smaller one, weight or value, is hurt first. */
static bool harmful(const struct ftc_gossip *g, const double *mass)
{
    double size = 0;

    if (!suspicious(g, mass) || g->set.tau > 0)
        return suspicious(g, mass);
    for (size_t i = 0; i < g->set.count; i++)
        size = fmax(size, fabs(g->value[i]));
    double stays = fmin(size, 1) * ftc_gossip_weight_size(g) * g->unit /
                   (FTC_MUTATED(KEEP_WHAT_IS_HARMFUL) ? UNIT : 1);
    return !(ftc_mass_error(mass, g->width) <= stays);
}

/* The size of a sound mass says how much rounding to expect. */
static void note_scale(struct ftc_gossip *g, const double *mass)
{
    g->scale = fmax(g->scale, ftc_mass_magnitude(mass, g->width));
}

/* --- the initial value --- */

/* Section 3.3: the initial mass is the estimate minus the flows, if these are sound. `kept` is the
 * estimate of the last step; it is void (NaN) once a flow has changed. The initial mass never
 * changes, so its checksum is exact. */
static void repair_initial(struct ftc_gossip *g)
{
    if (ftc_mass_error(g->initial, g->width) == 0 || suspicious(g, g->kept))
        return;
    for (int link = 0; link < g->links; link++)
        if (suspicious(g, ftc_gossip_flow_of(g, link, 0)))
            return;
    memcpy(g->initial, g->kept, g->width * sizeof(double));
    for (int link = 0; link < g->links; link++)
        ftc_mass_subtract(g->initial, ftc_gossip_flow_of(g, link, 0), g->width);
    ftc_mass_mend(g->initial, g->width);
    g->counters.repairs++;
}

/* --- steps --- */

static bool prepare_plain(struct ftc_gossip *g)
{
    sum_up(g);
    ftc_gossip_value_set(g);
    return true;
}

static void zero(struct ftc_gossip *g, int link)
{
    memset(ftc_gossip_flow_of(g, link, 0), 0, g->width * sizeof(double));
    ftc_gossip_changed(g, link);
    g->steady = 0;
    g->counters.resets++;
}

static bool sound_estimate(struct ftc_gossip *g)
{
    note_scale(g, g->estimate);
    ftc_gossip_value_set(g);
    return true;
}

/* Algorithm 5, lines 2-7. */
static bool prepare_local(struct ftc_gossip *g)
{
    repair_initial(g);
    sum_up(g);
    if (!suspicious(g, g->estimate))
        return sound_estimate(g);
    for (int link = 0; link < g->links; link++) {
        double *flow = ftc_gossip_flow_of(g, link, 0);
        if (!suspicious(g, flow))
            continue;
        g->counters.corrupt++;
        if (harmful(g, flow))
            zero(g, link);
        else /* push-flow heals the flow; its checksum's error must not spread to sound flows */
            ftc_mass_mend(flow, g->width);
    }
    sum_up(g);
    return sound_estimate(g);
}

/* Asks for the neighbour's flow: by sending the own flow or, if it is the neighbour's turn, by an
 * empty message. */
static void ask(struct ftc_gossip *g, int link)
{
    bool turn = !g->set.turns || ftc_gossip_holds(g, link);
    ftc_gossip_queue(g, link, turn ? FTC_GOSSIP_FLOW : FTC_GOSSIP_ASK);
}

/* Algorithm 6, lines 2-6. */
static bool prepare_cooperative(struct ftc_gossip *g)
{
    int corrupt = 0;

    repair_initial(g);
    sum_up(g);
    if (!suspicious(g, g->estimate))
        return sound_estimate(g);
    for (int link = 0; link < g->links; link++) {
        if (suspicious(g, ftc_gossip_flow_of(g, link, 0))) {
            corrupt++;
            ask(g, link);
        }
    }
    g->counters.corrupt += (uint64_t)corrupt;
    return corrupt > 0 ? false : sound_estimate(g);
}

static void push(struct ftc_gossip *g, int link)
{
    ftc_mass_halve(g->estimate, g->width);
    ftc_mass_subtract(ftc_gossip_flow_of(g, link, 0), g->estimate, g->width);
    if (g->ops->checksum) /* the rest of the estimate is its other half */
        memcpy(g->kept, g->estimate, g->width * sizeof(double));
}

static bool take_plain(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter)
{
    ftc_mass_negate(ftc_gossip_flow_of(g, link, 0), letter->mass, letter->unit, g->width);
    return false;
}

typedef bool check(const struct ftc_gossip *g, const double *mass);

/* A received flow overwrites the own one, unless `refuses` says no. Returns whether it did. */
static bool take_sound(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter,
                       check *refuses)
{
    repair_initial(g);
    ftc_mass_negate(g->came, letter->mass, letter->unit, g->width);
    bool corrupt = suspicious(g, g->came);
    g->counters.corrupt += corrupt;
    if (refuses(g, g->came))
        return false;
    if (corrupt)
        ftc_mass_mend(g->came, g->width);
    memcpy(ftc_gossip_flow_of(g, link, 0), g->came, g->width * sizeof(double));
    g->kept[0] = NAN;
    note_scale(g, g->came);
    return true;
}

/* Algorithm 5, lines 11-13. */
static bool take_local(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter)
{
    take_sound(g, link, letter, harmful);
    return false;
}

/* gossip.md, rule 3: the flow is corrupt at both ends (algorithm 6, lines 13-15). */
static void begin_anew(struct ftc_gossip *g, int link)
{
    if (!FTC_MUTATED(KEEP_WHERE_NEITHER_IS_SOUND))
        zero(g, link);
}

/* Algorithm 6, lines 10-16. If the received flow is corrupt, the answer is the message of this
 * step. */
static bool take_cooperative(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter)
{
    if (take_sound(g, link, letter, suspicious))
        return false;
    if (suspicious(g, ftc_gossip_flow_of(g, link, 0)))
        begin_anew(g, link);
    ftc_gossip_queue(g, link, FTC_GOSSIP_FLOW);
    return true;
}

/* gossip.md, rule 1: the flow of the other end is as good as the own flow was before its last
 * push. */
static bool heal(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter)
{
    if (!suspicious(g, ftc_gossip_flow_of(g, link, 0)))
        return false;
    if (!take_sound(g, link, letter, suspicious))
        begin_anew(g, link);
    return true;
}

static void remove_link(struct ftc_gossip *g, int link)
{
    if (g->ops->checksum)
        repair_initial(g);
    memset(ftc_gossip_flow_of(g, link, 0), 0, g->width * sizeof(double));
    if (g->ops->checksum)
        g->kept[0] = NAN;
}

static void write_flow(const struct ftc_gossip *g, int link, unsigned char *out)
{
    memcpy(out, ftc_gossip_flow_of(g, link, 0), g->width * sizeof(double));
}

const struct ftc_gossip_ops ftc_gossip_push_flow = {
    .name = "push-flow",
    .survives = true,
    .flows = 1,
    .masses = 1,
    .prepare = prepare_plain,
    .push = push,
    .take = take_plain,
    .remove = remove_link,
    .write = write_flow,
};

const struct ftc_gossip_ops ftc_gossip_pflc = {
    .name = "pflc",
    .checksum = true,
    .survives = true,
    .flows = 1,
    .masses = 1,
    .prepare = prepare_local,
    .push = push,
    .take = take_local,
    .remove = remove_link,
    .write = write_flow,
};

const struct ftc_gossip_ops ftc_gossip_pfcc = {
    .name = "pfcc",
    .checksum = true,
    .survives = true,
    .answers = true,
    .flows = 1,
    .masses = 1,
    .prepare = prepare_cooperative,
    .push = push,
    .take = take_cooperative,
    .heal = heal,
    .remove = remove_link,
    .write = write_flow,
};
