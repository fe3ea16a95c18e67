/*
 * A pair: a dissemination with its tree, and a correction. Its name is like "binomial+none",
 * "lame+checked", "gossip+opportunistic", "multicast+ring". Some pairs also have the names of
 * broadcast.algorithm: "ocg", "ccg", "fcg", "multicast-ring" and "corrected-tree" (here with the
 * binomial tree).
 */
#ifndef FTC_SIM_MODEL_PAIR_H
#define FTC_SIM_MODEL_PAIR_H

#include "base/settings.h"

struct ftc_pair {
    enum ftc_dissemination dissemination;
    enum ftc_tree tree; /* binomial if the dissemination uses no tree */
    enum ftc_correction correction;
};

/* Number of pairs: each tree, gossip and multicast, each with all corrections. */
#define FTC_PAIRS ((FTC_TREE_LAME + 1 + FTC_DISSEMINATION_MULTICAST) * (FTC_CORRECTION_RING + 1))
struct ftc_pair ftc_pair_at(int i); /* 0 <= i < FTC_PAIRS */

#define FTC_PAIR_NAME 48
/* Returns text. */
char *ftc_pair_name(struct ftc_pair pair, char text[FTC_PAIR_NAME]);
const char *ftc_pair_dissemination(struct ftc_pair pair);    /* "binomial", "gossip" */
int ftc_pair_parse(struct ftc_pair *pair, const char *text); /* FTC_ERR_ARG */

/* Write the pair into the settings of a member. */
void ftc_pair_apply(struct ftc_pair pair, struct ftc_member_settings *settings);

#endif
