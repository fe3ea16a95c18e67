/*
 * A dissemination with its tree and a correction, by name: "binomial+none", "lame+checked",
 * "gossip+opportunistic", "multicast+ring"; and the names under which some pairs are known
 * (broadcast.algorithm): "ocg", "ccg", "fcg", "multicast-ring" and "corrected-tree", here with the
 * binomial one.
 */
#ifndef FTC_SIM_MODEL_PAIR_H
#define FTC_SIM_MODEL_PAIR_H

#include "base/settings.h"

struct ftc_pair {
    enum ftc_dissemination dissemination;
    enum ftc_tree tree; /* binomial where no tree disseminates */
    enum ftc_correction correction;
};

/* All of them: the trees, gossip, multicast, each with all corrections. */
#define FTC_PAIRS ((FTC_TREE_LAME + 1 + FTC_DISSEMINATION_MULTICAST) * (FTC_CORRECTION_RING + 1))
struct ftc_pair ftc_pair_at(int i); /* 0 <= i < FTC_PAIRS */

#define FTC_PAIR_NAME 48
/* Returns text. */
char *ftc_pair_name(struct ftc_pair pair, char text[FTC_PAIR_NAME]);
const char *ftc_pair_dissemination(struct ftc_pair pair);    /* "binomial", "gossip" */
int ftc_pair_parse(struct ftc_pair *pair, const char *text); /* FTC_ERR_ARG */

/* Into the settings of a member. */
void ftc_pair_apply(struct ftc_pair pair, struct ftc_member_settings *settings);

#endif
