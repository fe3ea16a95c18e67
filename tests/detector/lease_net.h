/*
 * A few nodes whose agents hold leases, over channels that are late or cut, with clocks of their
 * own and pauses: for stories. After each step it is checked that nobody was declared failed who
 * has a lease, or to whom somebody with a lease still listens.
 */
#ifndef FTC_TEST_LEASE_NET_H
#define FTC_TEST_LEASE_NET_H

#include "detector/lease/lease.h"

#define LEASE_NODES   9
#define LEASE_PERIOD  UINT64_C(100000000) /* ns */
#define LEASE_TIMEOUT (20 * LEASE_PERIOD)

struct lease_net;

struct lease_net *lease_net_new(int nodes, uint64_t seed);
void lease_net_free(struct lease_net *net);

void lease_net_run(struct lease_net *net, uint64_t ns); /* so much time passes */
uint64_t lease_net_now(const struct lease_net *net);

void lease_net_kill(struct lease_net *net, int node);
void lease_net_left(struct lease_net *net, int node); /* all others see that it has stopped */
/* Messages from one to the other wait until that is healed. */
void lease_net_cut(struct lease_net *net, int from, int to, bool cut);
/* Ranks of a node can reach those of the other, or cannot; their agents can. */
void lease_net_reach(struct lease_net *net, int node, int other, bool reached);
void lease_net_split(
    struct lease_net *net,
    unsigned side); /* nodes in it (bits) from all others, both ways; 0: heal everything */
void lease_net_pause(struct lease_net *net, int node, uint64_t ns);

bool lease_net_is_up(const struct lease_net *net,
                     int node); /* alive, and its lease has not run out */
bool lease_net_fenced(const struct lease_net *net, int node); /* ended itself */
bool lease_net_stopped(const struct lease_net *net,
                       int node); /* dead, or its lease has run out: it has had one */
/* When a living node has declared it failed first; 0: nobody has. */
uint64_t lease_net_declared(const struct lease_net *net, int node);
bool lease_net_declared_by(const struct lease_net *net, int by, int node);
int lease_net_refused(const struct lease_net *net); /* by anybody */

#endif
