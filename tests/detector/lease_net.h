/*
 * A few nodes whose agents hold leases, for stories. Channels may be late or cut. Each node has a
 * clock of its own, and may pause. Each step checks that a node that is declared failed has no
 * lease, and that no node with a lease still listens to it.
 */
#ifndef FTC_TEST_LEASE_NET_H
#define FTC_TEST_LEASE_NET_H

#include "detector/lease/lease.h"

#define LEASE_NODES   9
#define LEASE_PERIOD  UINT64_C(100000000) /* ns */
#define LEASE_TIMEOUT (20 * LEASE_PERIOD)

struct lease_net;

/* `greetings`: most nodes that a node greets in a round; 0: as in jobs. */
struct lease_net *lease_net_new(int nodes, int greetings, uint64_t seed);
void lease_net_free(struct lease_net *net);

void lease_net_run(struct lease_net *net, uint64_t ns); /* lets so much time pass */
uint64_t lease_net_now(const struct lease_net *net);

void lease_net_kill(struct lease_net *net, int node);
void lease_net_left(struct lease_net *net, int node); /* all other nodes see that it has stopped */
/* Cuts a channel, or heals it. Messages wait while it is cut. */
void lease_net_cut(struct lease_net *net, int from, int to, bool cut);
/* Sets whether the ranks of the two nodes can reach each other. Their agents always can. */
void lease_net_reach(struct lease_net *net, int node, int other, bool reached);
void lease_net_split(
    struct lease_net *net,
    unsigned side); /* cuts the nodes in it (bits) from all others, both ways; 0 heals everything */
void lease_net_pause(struct lease_net *net, int node, uint64_t ns);

bool lease_net_is_up(const struct lease_net *net,
                     int node); /* it is alive, and its lease has not run out */
bool lease_net_fenced(const struct lease_net *net, int node); /* it has ended itself */
bool lease_net_stopped(const struct lease_net *net,
                       int node); /* it is dead, or it had a lease that has run out */
/* Returns when a living node first declared it failed; 0: no node has. */
uint64_t lease_net_declared(const struct lease_net *net, int node);
bool lease_net_declared_by(const struct lease_net *net, int by, int node);
int lease_net_refused(const struct lease_net *net); /* refused by any node */

#endif
