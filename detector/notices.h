/*
 * News of nodes, above all notices of failed ranks: how they spread to all nodes
 * (docs/design/nodes.md, "Notices", N1 to N7). One object is the part of one node. It does no I/O.
 *
 * The news of a node are numbered 1, 2, 3, ... by the node itself, its origin. Each node takes the
 * news of an origin in this order. It passes on what is new to it, once: to its children in the
 * origin's tree (detector/places.h), and a little later to those neighbours in the ring that do not
 * have it. A new neighbour gets a vector, which says how many news of each origin this node has. It
 * answers with those that this node lacks.
 *
 * Promise. News that one node has taken are taken by all nodes that live and can talk with their
 * neighbours in the ring, whichever nodes die meanwhile. Nodes may die, or be cut off, and not
 * be known to be gone. If these nodes follow one another in the ring, nobody waits until they are:
 * a wait for a correction is enough.
 * Costs. For each news a node sends at most log2(n) + 2 messages, log2(n) rounded up. If nobody
 * dies, the longest way has log2(n) messages.
 *
 * Use. After each input, call ftc_notices_next() until it gives false. Call ftc_notices_tick() when
 * ftc_notices_due() says. Times are of one clock, in ns, and above 0. Links between two nodes must
 * be FIFO. `item` is anything that the caller wants to have with a news; it stays the caller's.
 *
 * An object belongs to one thread. Memory grows with the news and with the nodes that are gone.
 * When it is missing, the process ends by abort(), a fail-stop like any other.
 */
#ifndef FTC_DETECTOR_NOTICES_H
#define FTC_DETECTOR_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detector/places.h"

#define FTC_NOTICES_WAITS 16 /* in a period: W of N3 is P/16 */

enum ftc_notices_kind {
    FTC_NOTICES_NEWS,  /* send news `number` of `origin`, with its item */
    FTC_NOTICES_VECTOR /* send how many news of each origin this node has */
};

/* In the order in which a correction goes to them. */
enum ftc_notices_sides { FTC_NOTICES_RIGHT, FTC_NOTICES_LEFT, FTC_NOTICES_SIDES };

struct ftc_notices_output {
    enum ftc_notices_kind kind;
    int to, origin;
    uint32_t number;
    void *item;
    bool asks; /* VECTOR: it opens an exchange. Otherwise it answers one. */
};

/* A neighbour in the ring, and what it has of the news of one origin (N3). */
struct ftc_notices_side {
    uint32_t has;    /* the first so many news have come from it, or were sent to it */
    uint64_t due_ns; /* when it is told what it may lack; 0: no correction waits */
};

struct ftc_notices_log {
    int origin;
    bool closed; /* no more news of this origin are taken */
    uint32_t count, room;
    void **item; /* item[i] is that of news i + 1 */
    struct ftc_notices_side side[FTC_NOTICES_SIDES];
};

struct ftc_notices {
    int self;
    int neighbour[FTC_NOTICES_SIDES]; /* self: no other node is left */
    uint64_t wait_ns;                 /* W of N3 */
    uint64_t due_ns;                  /* of the first correction; UINT64_MAX: none waits */
    struct ftc_places places;
    struct ftc_notices_log *log; /* of origins that had news, in ascending order */
    int logs, log_room;
    struct ftc_notices_output *output;
    size_t outputs, taken, output_room;
};

/* A correction waits for `wait_ns`, or twice as long. */
void ftc_notices_init(struct ftc_notices *notices, int self, int nodes, uint64_t wait_ns);
void ftc_notices_fini(struct ftc_notices *notices); /* a zeroed struct is legal */

/* This node has news. Returns their number. */
uint32_t ftc_notices_tell(struct ftc_notices *notices, void *item, uint64_t now_ns);
/* Node `from` has sent news. True: they were new, and were taken. False: they were not kept. */
bool ftc_notices_take(struct ftc_notices *notices, int from, int origin, uint32_t number,
                      void *item, uint64_t now_ns);
/* Send the corrections that are due. */
void ftc_notices_tick(struct ftc_notices *notices, uint64_t now_ns);
/* When the next correction is due; UINT64_MAX: none waits. */
uint64_t ftc_notices_due(const struct ftc_notices *notices);

/* Node `from` has have[i] news of each node i. */
void ftc_notices_vector(struct ftc_notices *notices, int from, const uint32_t have[], bool asks);
/* Node `from` wants this node's own news behind the first `have`. */
void ftc_notices_want(struct ftc_notices *notices, int from, uint32_t have);

/* The node is refused, lost or has left: it is in no tree and not in the ring any more. */
void ftc_notices_gone(struct ftc_notices *notices, int node);
/* The node is lost: take no more news of it. */
void ftc_notices_close(struct ftc_notices *notices, int origin);

/* How many news of `origin` this node has. */
uint32_t ftc_notices_count(const struct ftc_notices *notices, int origin);

/* Take the next output. False: there is none. */
bool ftc_notices_next(struct ftc_notices *notices, struct ftc_notices_output *output);

#endif
