/* A few ranks that gossip over channels of their own: for stories. Deterministic from its seed. */
#ifndef FTC_TEST_GOSSIP_NET_H
#define FTC_TEST_GOSSIP_NET_H

#include "collectives/gossip/gossip.h"

struct gossip_net;

struct gossip_net_frame {
    enum ftc_gossip_algorithm algorithm;
    enum ftc_neighbourhood_kind neighbourhood;
    int ranks;
    size_t count;
    double accuracy;
    bool turns;
    uint64_t seed;
    int loss_percent;     /* of messages; each rank then has a timer */
    uint64_t patience_ns; /* 0: 1 */
};

/* Rank r begins with values (r + 1) * (element + 1). Started: first messages are under way. */
struct gossip_net *gossip_net_new(const struct gossip_net_frame *frame);
void gossip_net_free(struct gossip_net *net);
struct ftc_gossip *gossip_net_rank(struct gossip_net *net, int rank);

/* Deliver the oldest message of a channel drawn at random; or the timer of a rank that has long had
 * none fires. False: all are dead. */
bool gossip_net_step(struct gossip_net *net);
/* Until all live ranks are within the accuracy of the average of the living, at most `most` steps;
 * how many, -1: never. */
int gossip_net_run(struct gossip_net *net, int most);
double gossip_net_error(const struct gossip_net *net); /* the greatest of a live rank, relative */
/* From here on no step delivers what goes from a to b; -1, -1: all channels are as quick again. */
void gossip_net_hold(struct gossip_net *net, int from, int to);
void gossip_net_kill(struct gossip_net *net,
                     int rank); /* its messages are lost; all others are told */
bool gossip_net_settled(const struct gossip_net *net); /* all live ranks */

/* By hand, for stories of single messages: take what `rank` wants to send into its channels;
 * deliver the oldest from a to b. */
void gossip_net_deliver(struct gossip_net *net, int from, int to);
void gossip_net_take(struct gossip_net *net, int rank);
void gossip_net_fire(struct gossip_net *net, int rank);               /* its timer */
uint64_t gossip_net_patience(const struct gossip_net *net, int rank); /* what it asked for last */
int gossip_net_waiting(const struct gossip_net *net, int from, int to);

#endif
