/*
 * Pairs of nodes that cannot reach each other, though both reach the leader: rule 8 of
 * docs/design/nodes.md. Each node greets some others in each round, and counts the rounds in which
 * it heard nothing from another node. The leader collects these reports, and chooses the nodes that
 * must be refused.
 *
 * An object of this kind is part of a lease (detector/lease/lease.h) and belongs to its thread. It
 * does no I/O. All times are ns of this node's clock.
 */
#ifndef FTC_DETECTOR_APART_H
#define FTC_DETECTOR_APART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/set.h"

#define FTC_APART_LEAST 3 /* nodes that are greeted in a round: two neighbours and another one */

struct ftc_apart_peer {
    struct ftc_set unheard; /* the nodes that it called unheard in its last echo */
    struct ftc_set pairs;   /* scratch: the nodes that it is apart from */
    uint64_t heard_ns;      /* when its last echo came; 0: none has come yet */
    uint64_t steady_ns;     /* its echoes have come without a long gap since then */
};

struct ftc_apart_heard {
    uint32_t silent; /* rounds in a row in which the node was not heard */
    uint32_t rounds; /* between two of its greetings at most, as its last one has said */
};

struct ftc_apart {
    int self, nodes;
    int others; /* most nodes greeted in a round that are no neighbours */
    uint64_t round_ns, patience_ns, gap_ns;
    uint64_t rounded_ns;           /* when the last round began */
    int left, right;               /* neighbours; -1: there is no other node */
    int walk;                      /* the last node that was greeted in turn */
    int rounds;                    /* until the same node is greeted again in turn */
    struct ftc_set greet;          /* the nodes that are still to be greeted in this round */
    struct ftc_apart_heard *heard; /* of each node */
    struct ftc_set unheard;     /* nodes that were silent for too many rounds, or are unreachable */
    struct ftc_set unreachable; /* nodes to whose ranks this node's ranks cannot connect */
    /* The rest is used by the leader only. */
    struct ftc_apart_peer *peer;
    struct ftc_set chosen; /* the nodes that must be refused */
    uint64_t since_ns;     /* since when there have been pairs; 0: there are none */
    uint64_t looked_ns;    /* when the leader last looked for pairs */
    bool stale;            /* a node of some pair has not been heard for E/2 */
};

/* `timeout_ns` is T. `greetings`, FTC_APART_LEAST or more, is the number of nodes that are greeted
 * in a round at most. FTC_ERR_NOMEM. fini() is legal after a failure, and on a zeroed struct. */
int ftc_apart_init(struct ftc_apart *apart, int self, int nodes, int greetings,
                   uint64_t timeout_ns);
void ftc_apart_fini(struct ftc_apart *apart);

/* True: a round begins, and this node must greet the nodes of `greet` before it sends anything
 * else. Only rounds in which this node itself ran are counted, so that its own pauses accuse
 * nobody. */
bool ftc_apart_round(struct ftc_apart *apart, const struct ftc_set *base,
                     const struct ftc_set *refused, uint64_t now_ns);
/* The number in a greeting to `node`: after so many rounds the next one comes at the latest. */
uint32_t ftc_apart_rounds(const struct ftc_apart *apart, int node);
uint64_t ftc_apart_due(const struct ftc_apart *apart);  /* when the next round begins */
void ftc_apart_hear(struct ftc_apart *apart, int from); /* a message of node `from` came */
/* A greeting of node `from` came, which says after how many rounds the next one does. */
void ftc_apart_greeted(struct ftc_apart *apart, int from, uint32_t rounds);
/* Has this node heard the other one in the last rounds, so that it is not silent to all? */
bool ftc_apart_heard(const struct ftc_apart *apart, int node);
void ftc_apart_left(struct ftc_apart *apart, int node); /* the node has left the base */
/* False: a rank of this node cannot connect to a rank of `node`. True: it can again. */
void ftc_apart_reach(struct ftc_apart *apart, int node, bool reached);

/* For the leader. This node begins to lead. Echoes that went to earlier leaders do not count. When
 * memory is missing, the process ends by abort(). */
void ftc_apart_lead(struct ftc_apart *apart, uint64_t now_ns);
/* An echo of node `from` came. Then: the nodes that it calls unheard. */
void ftc_apart_echo(struct ftc_apart *apart, int from, uint64_t now_ns);
void ftc_apart_pair(struct ftc_apart *apart, int node, int unheard);
/* The nodes that must be refused now; NULL: none. If `self` is among them, this node must end
 * itself, and refuse nobody. */
const struct ftc_set *ftc_apart_choose(struct ftc_apart *apart, const struct ftc_set *base,
                                       const struct ftc_set *refused, uint64_t now_ns);

#endif
