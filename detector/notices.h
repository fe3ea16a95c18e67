/*
 * The correction of notices between nodes (docs/design/nodes.md, "Notices"), without I/O. The agent
 * that saw a rank fail tells all others directly; each of them passes the notice on to the next
 * live node in the ring, so that nobody waits for a lease to run out when that agent dies, or is
 * cut off from some, in between: a broadcast by a flat tree, corrected along the ring, as that of
 * results can be (collectives/spread/correction.h).
 *
 * Use. learn() for each notice that was news and came from another node, gone() for each node to
 * which nothing goes any more; after each of them next() until there is none.
 *
 * What it promises: of a failure that one node knows by notice, all nodes know that live and can
 * talk with their neighbours in the ring, whoever dies meanwhile: a live node has told its
 * neighbour all that it knows, and when that goes the one behind it.
 *
 * Belongs to one thread. Allocates only in init(). Ranks and nodes are in range.
 */
#ifndef FTC_DETECTOR_NOTICES_H
#define FTC_DETECTOR_NOTICES_H

#include <stdbool.h>

#include "base/set.h"

struct ftc_notices {
    int self, nodes, right; /* the neighbour; self: nobody is left */
    struct ftc_set gone;    /* nodes */
    struct ftc_set known;   /* ranks of other nodes, by notice */
    struct ftc_set waiting; /* those of them that `right` is still to be told of */
};

/* FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_notices_init(struct ftc_notices *notices, int self, int nodes, int ranks);
void ftc_notices_fini(struct ftc_notices *notices);

/* `rank` of node `home` has failed, says node `from`. */
void ftc_notices_learn(struct ftc_notices *notices, int rank, int home, int from);
void ftc_notices_gone(struct ftc_notices *notices, int node);

/* Tell node `right` of this rank's failure, unless it is of that node; -1: nothing is left to
 * tell. */
int ftc_notices_next(struct ftc_notices *notices);

#endif
