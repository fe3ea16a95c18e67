/* A few ranks run a deterministic allreduce over channels of their own. The seed of tests/random.h
 * determines the whole run. */
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

/* Element i of rank r is value(r, i). No rank has started yet. */
struct doubling_net *doubling_net_new(enum ftc_doubling_algorithm algorithm, int ranks,
                                      size_t count, double (*value)(int rank, size_t i));
void doubling_net_free(struct doubling_net *net);

/* Delivers the oldest message of a channel drawn at random. Messages to dead ranks are lost.
 * Returns false if there is no message. */
bool doubling_net_step(struct doubling_net *net);
/* Runs to the end. Ranks start in any order, while messages are already delivered. */
void doubling_net_run(struct doubling_net *net);
void doubling_net_kill(struct doubling_net *net, int rank); /* tells all other ranks */

/* For steps by hand: starts `rank`, and puts what it wants to send into its channels. */
void doubling_net_start(struct doubling_net *net, int rank);

#endif
