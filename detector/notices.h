/*
 * The correction of notices between nodes (docs/design/nodes.md, "Notices"). It does no I/O. The
 * agent that saw a rank fail tells all other agents directly. Each of them passes the notice on to
 * the next live node in the ring. So nobody waits for a lease to run out when the first agent dies,
 * or is cut off from some nodes, before it has told all. This is a broadcast by a flat tree with a
 * correction along the ring, as broadcasts of results can have (collectives/spread/correction.h).
 *
 * Use. Call learn() for each notice that was news and came from another node. Call gone() for each
 * node to which nothing is sent any more. After each of these calls, call next() until it gives -1.
 *
 * Promise. If a node knows of a failure by notice, then all nodes learn of it that live and can
 * talk with their neighbours in the ring, whichever nodes die meanwhile. A live node tells its
 * neighbour all that it knows; when the neighbour goes, it tells the next one.
 *
 * An object belongs to one thread. Only init() allocates. Ranks and nodes must be in range.
 */
#ifndef FTC_DETECTOR_NOTICES_H
#define FTC_DETECTOR_NOTICES_H

#include <stdbool.h>

#include "base/set.h"

struct ftc_notices {
    int self, nodes, right; /* `right` is the neighbour; self: no other node is left */
    struct ftc_set gone;    /* nodes to which nothing is sent any more */
    struct ftc_set known;   /* failed ranks that other nodes sent notices of */
    struct ftc_set waiting; /* those of `known` that `right` must still be told of */
};

/* FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_notices_init(struct ftc_notices *notices, int self, int nodes, int ranks);
void ftc_notices_fini(struct ftc_notices *notices);

/* Node `from` has sent a notice: `rank`, which is of node `home`, has failed. */
void ftc_notices_learn(struct ftc_notices *notices, int rank, int home, int from);
void ftc_notices_gone(struct ftc_notices *notices, int node);

/* The next rank whose failure node `right` must be told of, unless the rank is of that node. -1:
 * there is none. */
int ftc_notices_next(struct ftc_notices *notices);

#endif
