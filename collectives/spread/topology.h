/*
 * The shapes of a ballot with m participants: groups and trees over the positions 0..m-1. Position
 * 0 is the coordinator. The functions are pure. Sources: agreement.md, "Shape of a ballot";
 * Küttler, Härtig 2026, sections 4.2-4.3; algorithms-notes.md, 1 (trees).
 */
#ifndef FTC_COLLECTIVES_SPREAD_TOPOLOGY_H
#define FTC_COLLECTIVES_SPREAD_TOPOLOGY_H

#include <stdbool.h>

#include "base/settings.h"

/* --- up-correction groups; F = f + 1 is their size --- */

/* The up-correction group of a position j, with j itself: the positions first, first+1, ...,
 * first+count-1, and position 0 if with_root. If the last group is complete, position 0 is in no
 * group: then its count is 0, and with_root is false. */
struct ftc_group {
    int first, count;
    bool with_root;
};
struct ftc_group ftc_topology_group(int m, int f, int j);

/* --- I(f)-tree: subtree s holds the positions j >= 1 with (j-1) mod F = s, as a heap of the given
 * arity --- */

int ftc_topology_subtree(int f, int j);                  /* the subtree of a position j >= 1 */
int ftc_topology_reduce_parent(int f, int arity, int j); /* j >= 1; of a head: 0 */
/* The c-th child of a position j >= 1, c from 0; -1: there is none. */
int ftc_topology_reduce_child(int m, int f, int arity, int j, int c);
/* The head of subtree s (0..f); -1: the subtree is empty. The heads are the children of position 0,
 * in order. */
int ftc_topology_head(int m, int f, int s);
/* Does subtree s hold the value of the last, incomplete group? Then the coordinator must not add
 * its own value. */
bool ftc_topology_subtree_has_root_value(int m, int f, int s);

/* --- broadcast trees over positions: interleaved numbering, largest subtree first --- */

/* The largest order of a Lamé tree. Computing a child keeps that many values on the stack. */
#define FTC_TOPOLOGY_LAME_MAX 64

int ftc_topology_broadcast_parent(const struct ftc_tree_shape *shape, int j); /* j >= 1 */
/* The c-th child of position j in the order of sending; -1: there is none. */
int ftc_topology_broadcast_child(const struct ftc_tree_shape *shape, int m, int j, int c);

/* --- numbers --- */

/* The number of UPs in a collecting ballot without failures: f(f+1)*floor((n-1)/(f+1)) + a(a-1),
 * with a = ((n-1) mod (f+1)) + 1 (Theorem 5). Such a ballot also has n-1 TREEs. */
long ftc_topology_up_messages(int n, int f);

#endif
