/*
 * News of nodes, above all notices of failed ranks: how they spread to all nodes
 * (docs/design/nodes.md, "Notices", N1 to N7). One object is the part of one node. It does no I/O.
 *
 * The news of a node are numbered 1, 2, 3, ... by the node itself, its origin. Each node takes the
 * news of an origin in this order. It passes on what is new to it, once: to its children in the
 * origin's tree (detector/places.h), and to both neighbours in the ring. A new neighbour gets a
 * vector, which says how many news of each origin this node has, and answers with those that it
 * lacks.
 *
 * Promise. News that one node has taken are taken by all nodes that live and can talk with their
 * neighbours in the ring, whichever nodes die meanwhile. Nodes may die, or be cut off, and not
 * be known to be gone. If these nodes follow one another in the ring, nobody waits until they are.
 * Costs. For each news a node sends at most log2(n) + 2 messages, log2(n) rounded up. If nobody
 * dies, the longest way has log2(n) messages.
 *
 * Use. After each input, call ftc_notices_next() until it gives false. Links between two nodes must
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

enum ftc_notices_kind {
    FTC_NOTICES_NEWS,  /* send news `number` of `origin`, with its item */
    FTC_NOTICES_VECTOR /* send how many news of each origin this node has */
};

struct ftc_notices_output {
    enum ftc_notices_kind kind;
    int to, origin;
    uint32_t number;
    void *item;
    bool asks; /* VECTOR: it opens an exchange. Otherwise it answers one. */
};

struct ftc_notices_log {
    int origin;
    bool closed; /* no more news of this origin are taken */
    uint32_t count, room;
    void **item; /* item[i] is that of news i + 1 */
};

struct ftc_notices {
    int self, left, right; /* neighbours; self: no other node is left */
    struct ftc_places places;
    struct ftc_notices_log *log; /* of origins that had news, in ascending order */
    int logs, log_room;
    struct ftc_notices_output *output;
    size_t outputs, taken, output_room;
};

void ftc_notices_init(struct ftc_notices *notices, int self, int nodes);
void ftc_notices_fini(struct ftc_notices *notices); /* a zeroed struct is legal */

/* This node has news. Returns their number. */
uint32_t ftc_notices_tell(struct ftc_notices *notices, void *item);
/* Node `from` has sent news. True: they were new, and were taken. False: they were not kept. */
bool ftc_notices_take(struct ftc_notices *notices, int from, int origin, uint32_t number,
                      void *item);
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
