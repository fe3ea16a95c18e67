/*
 * An ordered set of members, for going between ranks and positions: participants of a ballot, or
 * the view at an operation. Immutable and reference-counted, since operations with the same G share
 * one.
 *
 * Nearly every rank is a member, so what is kept is who is missing: space O(missing), a look-up
 * O(log missing).
 */
#ifndef FTC_COLLECTIVES_AGREEMENT_VIEW_H
#define FTC_COLLECTIVES_AGREEMENT_VIEW_H

#include "base/set.h"

struct ftc_view {
    int references;
    int size; /* number of members */
    struct ftc_set set;
    int *missing; /* ranks that are no members, ascending; set.size - size of them */
};

struct ftc_view *ftc_view_new(const struct ftc_set *members); /* NULL: out of memory */
struct ftc_view *ftc_view_ref(struct ftc_view *view);
void ftc_view_unref(struct ftc_view *view); /* NULL is legal */

/* Place of a rank among the members in ascending order, -1 if it is no member; and back, 0 <= index
 * < size. */
int ftc_view_index(const struct ftc_view *view, int rank);
int ftc_view_member(const struct ftc_view *view, int index);

/* Position of `rank`, counted cyclically from `zero` (a member) = 0; -1 if it is no member. */
int ftc_view_position(const struct ftc_view *view, int zero, int rank);
int ftc_view_rank(const struct ftc_view *view, int zero, int position);

#endif
