/*
 * One broadcast with nobody to help: no failure notice comes, and whoever asks (PULL) asks in vain.
 * Ranks die before it or in the middle, datagrams get lost, and events happen in an order drawn
 * from a seed. Then: whom did the dissemination and the correction reach, and is that what they
 * promise?
 */
#ifndef FTC_SIM_REACH_REACH_H
#define FTC_SIM_REACH_REACH_H

#include "sim/reach/promise.h"

struct ftc_reach_run {
    struct ftc_member_settings settings; /* of every member, but self */
    int root;
    int dead_before; /* ranks that die before it; never the root */
    int deaths;      /* at random outputs of anyone */
    uint64_t seed;
};

struct ftc_reach_result {
    int live, missed;
    int coloured_deaths;
    bool kept;
    char words[FTC_REACH_WORDS]; /* what is not kept */
};

void ftc_reach_run(const struct ftc_reach_run *run, struct ftc_reach_result *result);

#define FTC_REACH_RANKS 64 /* at most */

/* Draw everything but dissemination, tree and correction from `seed`: least to most ranks, f,
 * deaths, arity, distance, rounds, loss. */
void ftc_reach_draw(struct ftc_reach_run *run, const struct ftc_member_settings *plain, int least,
                    int most, uint64_t seed);

#endif
