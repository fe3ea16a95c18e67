/*
 * Pairs of nodes that cannot reach each other, though both reach the leader: rule 8 of
 * docs/design/nodes.md. Each node counts the rounds in which it heard nothing from another one; the
 * leader collects what nodes say of each other, and chooses who has to go.
 *
 * Part of a lease (detector/lease/lease.h), without I/O, and of its thread; times are ns of this
 * node's clock.
 */
#ifndef FTC_DETECTOR_APART_H
#define FTC_DETECTOR_APART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/set.h"

struct ftc_apart_peer {
    struct ftc_set unheard; /* what it said in its last echo */
    struct ftc_set pairs;   /* scratch: from whom it is apart */
    uint64_t heard_ns;      /* when that came; 0: none yet */
    uint64_t steady_ns;     /* since when echoes have come without a long gap */
};

struct ftc_apart {
    int self, nodes;
    uint64_t round_ns, patience_ns, gap_ns;
    uint64_t rounded_ns;    /* the last round began */
    unsigned char *silent;  /* rounds, of each node */
    struct ftc_set unheard; /* silent for too many, or unreachable for this node's ranks */
    struct ftc_set unreachable;
    /* of the leader */
    struct ftc_apart_peer *peer;
    struct ftc_set chosen;
    uint64_t since_ns; /* since when there have been pairs; 0: there are none */
    uint64_t looked_ns;
    bool stale; /* somebody in a pair has not been heard for some periods */
};

/* `timeout_ns` is T. FTC_ERR_NOMEM; fini() is legal in any case, if it was zeroed. */
int ftc_apart_init(struct ftc_apart *apart, int self, int nodes, uint64_t timeout_ns);
void ftc_apart_fini(struct ftc_apart *apart);

/* True: a round begins; everybody is to be greeted. Only rounds in which this node ran count: its
 * own pauses accuse nobody. */
bool ftc_apart_round(struct ftc_apart *apart, const struct ftc_set *base, uint64_t now_ns);
uint64_t ftc_apart_due(const struct ftc_apart *apart);
void ftc_apart_hear(struct ftc_apart *apart, int from);
void ftc_apart_left(struct ftc_apart *apart, int node); /* it is in the base no more */
/* This node's ranks cannot reach any of that one's, or can again. */
void ftc_apart_reach(struct ftc_apart *apart, int node, bool reached);

/* The leader. It begins to lead: what was said to others counts no more. */
void ftc_apart_lead(struct ftc_apart *apart, uint64_t now_ns);
void ftc_apart_echo(struct ftc_apart *apart, int from, const struct ftc_set *unheard,
                    uint64_t now_ns);
/* Who has to be refused now; NULL: nobody. With `self` in it this node is to end itself, and nobody
 * is to be refused. */
const struct ftc_set *ftc_apart_choose(struct ftc_apart *apart, const struct ftc_set *base,
                                       const struct ftc_set *refused, uint64_t now_ns);

#endif
