/*
 * The shapes of a ballot with m participants, in positions 0..m-1 (0 is the coordinator). Pure
 * functions. Sources: agreement.md, "Shape of a ballot"; Küttler, Härtig 2026, sections 4.2-4.3;
 * algorithms-notes.md, 1 (trees).
 */
#ifndef FTC_COLLECTIVES_SPREAD_TOPOLOGY_H
#define FTC_COLLECTIVES_SPREAD_TOPOLOGY_H

#include <stdbool.h>

#include "base/settings.h"

/* --- up-correction groups of F = f + 1 --- */

/* Members of j's group are first, first+1, ..., first+count-1, and position 0 too if with_root. A
 * position in no group (0, when the last group is complete) has count 0 and with_root false. j
 * itself is counted. */
struct ftc_group {
    int first, count;
    bool with_root;
};
struct ftc_group ftc_topology_group(int m, int f, int j);

/* --- I(f)-tree: subtree s holds positions j >= 1 with (j-1) mod F = s as a heap of the given arity
 * --- */

int ftc_topology_subtree(int f, int j);                  /* s of position j >= 1 */
int ftc_topology_reduce_parent(int f, int arity, int j); /* j >= 1; 0 for the head of a subtree */
/* c-th child of position j >= 1 (c from 0), -1 if there is none. */
int ftc_topology_reduce_child(int m, int f, int arity, int j, int c);
/* Head of subtree s (0..f), -1 if the subtree is empty: the children of position 0 in order. */
int ftc_topology_head(int m, int f, int s);
/* Does subtree s hold the last, incomplete group's value, so that the coordinator must not add its
 * own? */
bool ftc_topology_subtree_has_root_value(int m, int f, int s);

/* --- broadcast trees over positions, interleaved numbering, largest subtree first --- */

/* Largest order of a Lamé tree: computing a child keeps that many values on the stack. */
#define FTC_TOPOLOGY_LAME_MAX 64

int ftc_topology_broadcast_parent(const struct ftc_tree_shape *shape, int j); /* j >= 1 */
/* c-th child of position j in sending order, -1 if there is none. */
int ftc_topology_broadcast_child(const struct ftc_tree_shape *shape, int m, int j, int c);

/* --- numbers --- */

/* Messages of a failure-free collecting ballot: f(f+1)*floor((n-1)/(f+1)) + a(a-1) UP, a = ((n-1)
 * mod (f+1)) + 1, and n-1 TREE (Theorem 5). */
long ftc_topology_up_messages(int n, int f);

#endif
