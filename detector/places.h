/*
 * The nodes that are left, as a ring and as a tree for each node that has something to tell
 * (docs/design/nodes.md, "Notices"). The functions are pure, but for those that change the set.
 *
 * The tree of node o is binomial, with interleaved numbering (collectives/spread/topology.h). Node
 * o has position 0. The others that are left have the positions 1, 2, ... as they follow o on the
 * ring. Position p sends to each p + 2^k with 2^k > p. So a subtree holds no two neighbours, no
 * position has more than log2(n) children, rounded up, and none is deeper than that.
 *
 * Memory grows with the nodes that are gone. When it is missing then, the process ends by abort().
 */
#ifndef FTC_DETECTOR_PLACES_H
#define FTC_DETECTOR_PLACES_H

#include <stdbool.h>

struct ftc_places {
    int nodes;
    int *gone; /* ascending */
    int gones, room;
};

void ftc_places_init(struct ftc_places *places, int nodes);
void ftc_places_fini(struct ftc_places *places);

/* False: the node was gone before. */
bool ftc_places_remove(struct ftc_places *places, int node);
/* Begin anew: no node is gone. */
void ftc_places_clear(struct ftc_places *places);
bool ftc_places_has(const struct ftc_places *places, int node);

/* The nearest node to the right (left) of `node` that is left; `node` itself if no other one is. */
int ftc_places_right(const struct ftc_places *places, int node);
int ftc_places_left(const struct ftc_places *places, int node);

/* The c-th child of `node` in the tree of `root`, c from 0, in the order of sending; -1: there is
 * none. `node` is left; `root` may be gone. */
int ftc_places_child(const struct ftc_places *places, int root, int node, int c);
/* Is `child`, which is left, a child of `node` in the tree of `root`? */
bool ftc_places_is_child(const struct ftc_places *places, int root, int node, int child);

/* The tree of `root`, which is left, with `arity` children for each node at most: position p
 * sends to p arity + 1 .. p arity + arity. The c-th child of `node`, and its parent; -1: none. */
int ftc_places_branch(const struct ftc_places *places, int root, int node, int arity, int c);
int ftc_places_parent(const struct ftc_places *places, int root, int node, int arity);

/* How deep `node` is in that tree, and the deepest node; the root is at depth 0. 0, too, for a node
 * that is gone. */
int ftc_places_depth(const struct ftc_places *places, int root, int node, int arity);
int ftc_places_height(const struct ftc_places *places, int arity);

#endif
