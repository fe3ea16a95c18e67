/*
 * A lease that a test drives by hand: the test is its clock and all other nodes.
 */
#ifndef FTC_TEST_LEASE_DRIVEN_H
#define FTC_TEST_LEASE_DRIVEN_H

#include "tests/detector/lease_net.h"

#define DRIVEN_NODES 25 /* a tree of three levels */

struct driven {
    struct ftc_lease *lease;
    struct ftc_lease_box box; /* contents of the messages to it */
    struct ftc_set refused, unheard;
    uint32_t beat;               /* its last beat; 0: none */
    uint64_t probes, asks;       /* terms of the last ones; 0: none */
    uint64_t probed_ns;          /* when it last sent a probe; 0: not yet */
    uint64_t declares_ns;        /* when it first declared a node failed; 0: not yet */
    int beats_to[DRIVEN_NODES];  /* how many it has sent to each node */
    int echoes_to[DRIVEN_NODES]; /* and echoes */
    /* how many it has sent; nodes, pairs and the last pair of the last one */
    int echoes, echo_nodes, echo_pairs;
    struct ftc_lease_pair echo_pair;
    int wants_of; /* the leader that its last WANT names; -1: there was none */
};

void driven_start(struct driven *d, int self, int nodes, uint64_t now);
void driven_stop(struct driven *d);
void driven_take(struct driven *d, uint64_t now); /* takes its outputs */
void driven_tick(struct driven *d, uint64_t now);
void driven_left(struct driven *d, int node, uint64_t now);

/* A message to it, from the box and from `refused`. It has no pairs. */
struct ftc_lease_message driven_message(struct driven *d, enum ftc_lease_kind kind, uint64_t term,
                                        uint32_t beat);
void driven_receive(struct driven *d, int from, const struct ftc_lease_message *message,
                    uint64_t now);
/* A message of `from` about its own beat 1, or about the last beat of the lease. If something is
 * in `unheard`, an echo says that `from` does not hear it. */
void driven_hear(struct driven *d, int from, enum ftc_lease_kind kind, uint64_t term, uint64_t now);

#endif
