/* The mean field of gossip, round by round, and what follows from its last round. */
#include "sim/figures/gossip_plan.h"

#include <assert.h>
#include <math.h>

/* --- rounds --- */

/* reached(t): the number of live ranks to which a message was sent before round t. In round t,
 * reached(t - hop + 1) of them have the message. */
struct walk {
    const struct ftc_gossip_model *model;
    int round;
    double messages;
    double reached[FTC_GOSSIP_PLAN_HOP_MAX]; /* reached(t) at t mod hop */
};

static void walk_start(struct walk *walk, const struct ftc_gossip_model *model)
{
    assert(model->ranks >= 1 && 1 <= model->live && model->live <= model->ranks);
    assert(1 <= model->hop && model->hop <= FTC_GOSSIP_PLAN_HOP_MAX);
    walk->model = model;
    walk->round = 0;
    walk->messages = 0;
    for (int i = 0; i < model->hop; i++)
        walk->reached[i] = 1; /* the root */
}

static double walk_reached(const struct walk *walk)
{
    return walk->reached[walk->round % walk->model->hop];
}

/* Each sender picks one of the N - 1 others. A rank is newly reached if at least one sender picks
 * it. */
static void walk_step(struct walk *walk)
{
    const struct ftc_gossip_model *model = walk->model;
    double before = walk_reached(walk), senders = walk->reached[(walk->round + 1) % model->hop];
    double hit = model->ranks > 1 ? -expm1(senders * log1p(-1.0 / (model->ranks - 1))) : 0;

    walk->round++;
    walk->messages += model->ranks > 1 ? senders : 0;
    walk->reached[walk->round % model->hop] = before + (model->live - before) * hit;
}

static struct ftc_gossip_spread walk_spread(const struct walk *walk)
{
    return (struct ftc_gossip_spread){.coloured = walk_reached(walk), .messages = walk->messages};
}

int ftc_gossip_plan_hop(double latency, double overhead)
{
    double hop = ceil((latency + 2 * overhead) / overhead);

    return hop <= FTC_GOSSIP_PLAN_HOP_MAX ? (int)hop : -1;
}

struct ftc_gossip_spread ftc_gossip_plan_spread(const struct ftc_gossip_model *model, int rounds)
{
    struct walk walk;

    walk_start(&walk, model);
    while (walk.round < rounds)
        walk_step(&walk);
    return walk_spread(&walk);
}

/* --- gaps --- */

int ftc_gossip_plan_gap(int ranks, double coloured, double epsilon)
{
    assert(coloured >= 1 && 0 < epsilon && epsilon < 1);
    double q = fmax(0, 1 - coloured / ranks);
    double gap = ceil(log(epsilon / ranks) / log(q)); /* ln 0 is -infinity, and the gap is then 0 */

    return (int)fmax(1, fmin(gap, ranks));
}

/*
 * Probability that, going from a rank in one direction, a run of `run` dead ranks comes before the
 * first coloured rank. The first live rank may end a shorter run. If it is coloured, the answer is
 * no. If it is not, the count starts again. So P = a + (1 - a) u P, with a = dead^run and u the
 * share of uncoloured ranks among the live ones.
 */
static double behind_dead(double dead, double uncoloured, int run)
{
    double all = pow(dead, run);

    return all / (1 - (1 - all) * uncoloured);
}

double ftc_gossip_plan_missed(const struct ftc_gossip_model *model, double coloured, int distance)
{
    double live = model->live, dead = (model->ranks - live) / model->ranks;
    double uncoloured = fmax(0, (live - coloured) / live);
    int left = distance / 2, right = distance - left; /* how far each rank sends to each side */

    if (model->ranks - model->live < distance)
        return 0;
    return live * uncoloured * behind_dead(dead, uncoloured, left) *
           behind_dead(dead, uncoloured, right);
}

/* --- choosing --- */

static struct ftc_gossip_plan plan_here(const struct walk *walk, double epsilon)
{
    const struct ftc_gossip_model *model = walk->model;
    struct ftc_gossip_plan plan = {.rounds = walk->round, .spread = walk_spread(walk)};
    int gap = ftc_gossip_plan_gap(model->ranks, plan.spread.coloured, epsilon);

    plan.distance = gap < model->ranks ? gap : model->ranks - 1;
    plan.duration = plan.rounds + model->hop + plan.distance + model->hop - 1;
    return plan;
}

/* The search ends when gossip alone, and a little more, takes as long as the best plan so far: no
 * later plan can be shorter. */
struct ftc_gossip_plan ftc_gossip_plan_choose(const struct ftc_gossip_model *model, double epsilon)
{
    struct walk walk;

    walk_start(&walk, model);
    struct ftc_gossip_plan best = plan_here(&walk, epsilon);
    while (walk.round + 2 * model->hop - 1 < best.duration) {
        walk_step(&walk);
        struct ftc_gossip_plan plan = plan_here(&walk, epsilon);
        if (plan.duration < best.duration)
            best = plan;
    }
    return best;
}
