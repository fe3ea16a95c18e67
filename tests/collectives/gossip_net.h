/* A few ranks that gossip over channels of their own. The seed determines the whole run. */
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
    int loss_percent;                          /* of messages; if not 0, each rank has a timer */
    uint64_t patience_ns;                      /* 0 stands for 1 */
    double (*input)(int rank, size_t element); /* NULL: (rank + 1) * (element + 1) */
    double (*weight)(int rank);                /* NULL: 1 */
};
double gossip_net_input(const struct gossip_net_frame *frame, int rank, size_t element);
double gossip_net_weight(const struct gossip_net_frame *frame, int rank);

/* The ranks have started: their first messages are under way. */
struct gossip_net *gossip_net_new(const struct gossip_net_frame *frame);
void gossip_net_free(struct gossip_net *net);
struct ftc_gossip *gossip_net_rank(struct gossip_net *net, int rank);

/* Delivers the oldest message of a channel drawn at random, or fires the timer of a rank that has
 * long had no message. Returns false if all ranks are dead. */
bool gossip_net_step(struct gossip_net *net);
/* Runs until the estimates of all live ranks are within the accuracy of the average of the live
 * ranks, or for `most` steps. Returns the number of steps, or -1 if that was not enough. */
int gossip_net_run(struct gossip_net *net, int most);
double gossip_net_error(const struct gossip_net *net); /* greatest relative error of a live rank */
/* From now on no step delivers messages from a to b. With -1, -1 all channels deliver again. */
void gossip_net_hold(struct gossip_net *net, int from, int to);
void gossip_net_kill(struct gossip_net *net,
                     int rank); /* its messages are lost, and all other ranks are told */
bool gossip_net_settled(const struct gossip_net *net); /* of all live ranks */

/* For steps by hand: gossip_net_take() puts what `rank` wants to send into its channels,
 * gossip_net_deliver() delivers the oldest message from a to b. */
void gossip_net_deliver(struct gossip_net *net, int from, int to);
void gossip_net_take(struct gossip_net *net, int rank);
void gossip_net_fire(struct gossip_net *net, int rank);               /* its timer */
uint64_t gossip_net_patience(const struct gossip_net *net, int rank); /* its last request */
int gossip_net_waiting(const struct gossip_net *net, int from, int to);

#endif
