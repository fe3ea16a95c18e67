/* A few ranks with a deterministic allreduce over channels of their own. Deterministic from the
 * seed of tests/random.h. */
#ifndef FTC_TEST_DOUBLING_NET_H
#define FTC_TEST_DOUBLING_NET_H

#include "collectives/baseline/doubling.h"
#include "tests/random.h"

#define DOUBLING_NET_RANKS  64 /* at most */
#define DOUBLING_NET_VALUES 70

struct doubling_channel;

struct doubling_net {
    struct ftc_doubling_settings settings;
    struct test_random random;
    struct ftc_doubling *rank[DOUBLING_NET_RANKS];
    bool dead[DOUBLING_NET_RANKS];
    struct doubling_channel *channel; /* from * DOUBLING_NET_RANKS + to */
    int *busy, busies;                /* channels that are not empty */
};

/* Element i of rank r is value(r, i). Nobody has started. */
struct doubling_net *doubling_net_new(enum ftc_doubling_algorithm algorithm, int ranks,
                                      size_t count, double (*value)(int rank, size_t i));
void doubling_net_free(struct doubling_net *net);

/* Deliver the oldest message of a channel drawn at random; those to the dead are lost. False: there
 * is none. */
bool doubling_net_step(struct doubling_net *net);
/* To the end: ranks start in any order, while messages are delivered. */
void doubling_net_run(struct doubling_net *net);
void doubling_net_kill(struct doubling_net *net, int rank); /* all others are told */

/* By hand: start it, and take what it wants to send into its channels. */
void doubling_net_start(struct doubling_net *net, int rank);

#endif
