/* Chooses the parameters of a row. */
#include <math.h>

#include "config/config.h"
#include "sim/figures/figures.h"
#include "sim/figures/gossip_plan.h"

#define ARITY_MAX 64

static bool is_given(const struct ftc_figures *figures, enum ftc_figures_given what)
{
    return (figures->given & what) != 0;
}

/* (L + 2o) / o: the number of messages that a process sends while one message is on its way. */
static int hop_of(const struct ftc_cost *cost)
{
    int hop = ftc_gossip_plan_hop(cost->L, cost->o);

    return hop > 0 ? hop : FTC_GOSSIP_PLAN_HOP_MAX;
}

static int levels_of(int n, int arity)
{
    int levels = 0;

    for (int64_t reach = 1; reach < n; reach *= arity)
        levels++;
    return levels;
}

/* Long enough for everything that comes without failures: the last rank of the dissemination has
 * sent all of its messages, and its neighbour has received the last of them. */
static uint64_t patience_of(const struct ftc_figures *figures, const struct ftc_figures_row *row,
                            const struct ftc_member_settings *member)
{
    double o = row->cost->o, way = row->cost->L + 2 * o + (double)figures->noise_ns;
    bool kary = member->tree.tree == FTC_TREE_KARY;
    int levels = levels_of(row->n, kary ? member->tree.arity : 2);
    double time = 0;

    if (member->dissemination == FTC_DISSEMINATION_TREE)
        time = levels * (kary ? way + member->tree.arity * o : way + o);
    else if (member->dissemination == FTC_DISSEMINATION_GOSSIP)
        time = member->gossip_rounds * (member->gossip_bound == FTC_GOSSIP_TIME ? o : way);
    return (uint64_t)ceil(time + 2 * way);
}

static void choose_tree(const struct ftc_figures *figures, const struct ftc_figures_row *row,
                        struct ftc_member_settings *member)
{
    int order = hop_of(row->cost);

    if (is_given(figures, FTC_FIGURES_ARITY))
        return;
    member->tree.arity = 4;
    if (member->tree.tree == FTC_TREE_LAME)
        member->tree.arity = order < ARITY_MAX ? order : ARITY_MAX;
}

static bool is_short(enum ftc_correction correction)
{
    return correction == FTC_CORRECTION_OPPORTUNISTIC || correction == FTC_CORRECTION_OPTIMISED;
}

static void choose_gossip(const struct ftc_figures *figures, const struct ftc_figures_row *row,
                          struct ftc_member_settings *member)
{
    struct ftc_gossip_model model = {.ranks = row->n, .live = row->n - row->dead};

    if (!is_given(figures, FTC_FIGURES_BOUND))
        member->gossip_bound = FTC_GOSSIP_TIME;
    if (!is_given(figures, FTC_FIGURES_HOP))
        member->gossip_hop = hop_of(row->cost);
    model.hop = member->gossip_bound == FTC_GOSSIP_TIME ? member->gossip_hop : 1;
    struct ftc_gossip_plan plan = ftc_gossip_plan_choose(&model, FTC_FIGURES_EPSILON);
    if (!is_given(figures, FTC_FIGURES_ROUNDS))
        member->gossip_rounds = plan.rounds;
    struct ftc_gossip_spread spread = ftc_gossip_plan_spread(&model, member->gossip_rounds);
    if (!is_given(figures, FTC_FIGURES_DISTANCE))
        member->distance = ftc_gossip_plan_gap(row->n, spread.coloured, FTC_FIGURES_EPSILON);
}

/* Fill in what the mean field of gossip expects. A correction that is certain needs no formula. */
static void expect(struct ftc_figures_row *row, const struct ftc_member_settings *member)
{
    struct ftc_gossip_model model = {.ranks = row->n, .live = row->n - row->dead, .hop = 1};

    row->formula_missed = row->formula_messages = -1;
    if (member->dissemination != FTC_DISSEMINATION_GOSSIP)
        return;
    if (member->gossip_bound == FTC_GOSSIP_TIME)
        model.hop = member->gossip_hop;
    struct ftc_gossip_spread spread = ftc_gossip_plan_spread(&model, member->gossip_rounds);
    row->rounds = member->gossip_rounds;
    row->formula_messages = spread.messages / model.live;
    if (member->correction == FTC_CORRECTION_NONE)
        row->formula_missed = model.live - spread.coloured;
    else if (is_short(member->correction))
        row->formula_missed = ftc_gossip_plan_missed(&model, spread.coloured, member->distance);
}

struct ftc_member_settings ftc_figures_member(const struct ftc_figures *figures,
                                              struct ftc_figures_row *row)
{
    struct ftc_member_settings member = figures->member;

    ftc_pair_apply(row->way.pair, &member);
    member.f = member.f < row->n ? member.f : row->n - 1;
    member.multicast_least = 2;
    member.multicast_most = UINT64_C(1) << 40;
    if (!is_given(figures, FTC_FIGURES_PACE))
        member.correction_delay_ns = 0;
    choose_tree(figures, row, &member);
    if (member.dissemination == FTC_DISSEMINATION_GOSSIP)
        choose_gossip(figures, row, &member);
    ftc_config_fit(&member, row->n);
    if (!is_given(figures, FTC_FIGURES_PATIENCE))
        member.patience_ns = patience_of(figures, row, &member);
    row->distance = is_short(member.correction) ? member.distance : 0;
    row->arity =
        member.dissemination == FTC_DISSEMINATION_TREE && member.tree.tree != FTC_TREE_BINOMIAL
            ? member.tree.arity
            : 0;
    expect(row, &member);
    return member;
}
