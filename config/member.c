/* From the configuration to what a member is made with: the same way in a job and in the simulator. */
#include "config/config.h"

struct ftc_member_settings ftc_config_member(const struct ftc_config *c, int ranks, int self)
{
    return (struct ftc_member_settings){
        .ranks = ranks,
        .self = self,
        .f = (int)c->f,
        .scheme = c->scheme,
        .share = c->share,
        .rotation = c->rotation,
        .reduce_arity = c->reduce_tree == FTC_REDUCE_CHAIN ? 1 : (int)c->reduce_arity,
        .tree = {.tree = c->tree, .arity = (int)c->arity},
        .correction = c->correction,
        .correction_delay_ns = (uint64_t)c->correction_delay_us * 1000,
        .settle_every = (uint32_t)c->settle_every,
        .prepare = c->prepare,
    };
}
