/* Makes the settings of a member from the configuration. Jobs and the simulator use the same
 * code. */
#include "config/config.h"

#define GOSSIP_DISTANCE 4 /* because gossip leaves gaps of a few ranks */

_Static_assert(FTC_CONFIG_DISSEMINATION_MULTICAST == FTC_DISSEMINATION_MULTICAST + 1,
               "see config.h");
_Static_assert(FTC_CONFIG_CORRECTION_RING == FTC_CORRECTION_RING + 1, "see config.h");

static enum ftc_dissemination dissemination_of(const struct ftc_config *c)
{
    if (c->dissemination == FTC_CONFIG_DISSEMINATION_AUTO)
        return FTC_DISSEMINATION_TREE;
    return (enum ftc_dissemination)(c->dissemination - 1);
}

static enum ftc_correction correction_of(const struct ftc_config *c)
{
    if (c->correction != FTC_CONFIG_CORRECTION_AUTO)
        return (enum ftc_correction)(c->correction - 1);
    switch (dissemination_of(c)) {
    case FTC_DISSEMINATION_GOSSIP:
        return FTC_CORRECTION_CHECKED;
    case FTC_DISSEMINATION_MULTICAST:
        return FTC_CORRECTION_RING;
    case FTC_DISSEMINATION_TREE:
        break;
    }
    return FTC_CORRECTION_NONE;
}

/* ceil(2 log2(ranks)), which is the exponent of the smallest power of two >= ranks², and some
 * rounds more. After that all but a few ranks have the decision. sim/figures/gossip_plan.h plans
 * the same number for 1024 ranks and a hop of 4, and 2 rounds more for 4096 ranks. */
static int gossip_rounds(const struct ftc_member_settings *member, int ranks)
{
    uint64_t square = (uint64_t)ranks * (uint64_t)ranks;
    int rounds = member->gossip_bound == FTC_GOSSIP_TIME ? member->gossip_hop + 1 : 2;
    for (uint64_t power = 1; power < square; power *= 2)
        rounds++;
    return rounds;
}

void ftc_config_fit(struct ftc_member_settings *member, int ranks)
{
    member->ranks = ranks;
    if (member->gossip_rounds == 0)
        member->gossip_rounds = gossip_rounds(member, ranks);
    if (member->distance == 0)
        member->distance = member->dissemination == FTC_DISSEMINATION_GOSSIP ? GOSSIP_DISTANCE : 2;
}

struct ftc_member_settings ftc_config_member(const struct ftc_config *c, int ranks, int self)
{
    struct ftc_member_settings member = {
        .self = self,
        .f = (int)c->f,
        .scheme = c->scheme,
        .share = c->share,
        .rotation = c->rotation,
        .reduce_arity = c->reduce_tree == FTC_REDUCE_CHAIN ? 1 : (int)c->reduce_arity,
        .direct = (int)c->reduce_direct,
        .doubling = (int)c->reduce_doubling,
        .take = c->reduce_take,
        .straggler_ns = 2 * (uint64_t)c->heartbeat_period_ms * 1000000,
        .tree = {.tree = c->tree, .arity = (int)c->arity},
        .dissemination = dissemination_of(c),
        .correction = correction_of(c),
        .distance = (int)c->distance,
        .correction_delay_ns = (uint64_t)c->correction_delay_us * 1000,
        .patience_ns = (uint64_t)c->patience_us * 1000,
        .gossip_bound = c->gossip_bound,
        .gossip_rounds = (int)c->gossip_rounds,
        .gossip_hop = (int)c->gossip_hop,
        .seed = (uint64_t)c->broadcast_seed,
        .multicast_least = (int)c->multicast_least_ranks,
        .multicast_most = (uint64_t)c->multicast_most_bytes,
        .settle_every = (uint32_t)c->settle_every,
        .prepare = c->prepare,
        .integrity = c->integrity,
    };
    if (ranks > 0)
        ftc_config_fit(&member, ranks);
    return member;
}

bool ftc_config_leaves_node(const struct ftc_config *c)
{
    return c->transport_order[0] != FTC_CONFIG_SHM;
}

bool ftc_config_goes_by(const struct ftc_config *c, int carrier)
{
    for (int i = 0; i < FTC_CONFIG_LIST_MAX && c->transport_order[i] >= 0; i++)
        if (c->transport_order[i] == carrier)
            return true;
    return false;
}

/* The board has one way to collect and none to spread, names all failed ranks and shares them. A
 * value that says otherwise is there to be seen. A value that only tunes an algorithm, such as an
 * arity, does not choose the algorithm. */
const char *ftc_config_asks_for_messages(const struct ftc_config *c)
{
    if (c->dissemination != FTC_CONFIG_DISSEMINATION_AUTO)
        return "[broadcast] dissemination asks for messages";
    if (c->correction != FTC_CONFIG_CORRECTION_AUTO && c->correction != FTC_CONFIG_CORRECTION_NONE)
        return "[broadcast] correction asks for messages";
    if (c->tree != FTC_TREE_BINOMIAL)
        return "[broadcast] tree asks for messages";
    if (c->reduce_tree != FTC_REDUCE_HEAP)
        return "[reduce] tree asks for messages";
    if (c->scheme != FTC_SCHEME_LIST || c->share != FTC_SHARE_PIGGYBACK)
        return "[failure_info] scheme or share asks for messages";
    if (c->large == FTC_CONFIG_LARGE_RING)
        return "[collectives] large asks for messages";
    if (c->integrity != FTC_INTEGRITY_NONE || c->drill_flip[0] != '\0')
        return "[integrity] mode or [drill] flip asks for messages";
    return ftc_config_leaves_node(c) ? "[transport] order asks for messages" : NULL;
}

enum ftc_config_collectives ftc_config_algorithm(const struct ftc_config *c, int nodes)
{
    if (c->algorithm != FTC_ALGORITHM_AUTO)
        return c->algorithm;
    return nodes > 1 || ftc_config_asks_for_messages(c) != NULL ? FTC_ALGORITHM_CORRECTED
                                                                : FTC_ALGORITHM_BOARD;
}
