/*
 * One broadcast without help: no failure notice comes, and PULL gets no answer. Ranks die before it
 * or in the middle, datagrams get lost, and events happen in an order drawn from a seed. The result
 * says which ranks the dissemination and the correction reached, and whether they kept their
 * promise.
 */
#ifndef FTC_SIM_REACH_REACH_H
#define FTC_SIM_REACH_REACH_H

#include "sim/reach/promise.h"

struct ftc_reach_run {
    struct ftc_member_settings settings; /* of every member, except self */
    int root;
    int dead_before; /* ranks that die before it; never the root */
    int deaths;      /* number of deaths, at random outputs of random ranks */
    uint64_t seed;
};

struct ftc_reach_result {
    int live, missed;
    int coloured_deaths;
    bool kept;
    char words[FTC_REACH_WORDS]; /* the promise that is not kept */
};

void ftc_reach_run(const struct ftc_reach_run *run, struct ftc_reach_result *result);

#define FTC_REACH_RANKS 64 /* most ranks of a run */

/* Draw everything but dissemination, tree and correction from `seed`: ranks (from `least` to
 * `most`), f, deaths, arity, distance, rounds, loss. */
void ftc_reach_draw(struct ftc_reach_run *run, const struct ftc_member_settings *plain, int least,
                    int most, uint64_t seed);

#endif
