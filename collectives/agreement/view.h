/*
 * An ordered set of members, which translates between ranks and positions. It holds the
 * participants of a ballot, or the view at an operation. It never changes after it was made. It is
 * reference-counted, since operations with the same G share one view.
 *
 * Nearly every rank is a member. So the view keeps the ranks that are missing: it takes space
 * O(missing), and a look-up takes time O(log missing).
 */
#ifndef FTC_COLLECTIVES_AGREEMENT_VIEW_H
#define FTC_COLLECTIVES_AGREEMENT_VIEW_H

#include "base/set.h"

struct ftc_view {
    int references;
    int size; /* number of members */
    struct ftc_set set;
    int *missing; /* the ranks that are not members, ascending: set.size - size of them */
};

struct ftc_view *ftc_view_new(const struct ftc_set *members); /* NULL: out of memory */
/* All ranks but these. NULL: out of memory. */
struct ftc_view *ftc_view_without(const struct ftc_set *missing);
struct ftc_view *ftc_view_ref(struct ftc_view *view);
void ftc_view_unref(struct ftc_view *view); /* NULL is legal */

/* The index of a rank among the members in ascending order; -1 if it is not a member. */
int ftc_view_index(const struct ftc_view *view, int rank);
/* The member with this index, 0 <= index < size. */
int ftc_view_member(const struct ftc_view *view, int index);

/* The position of `rank`, counted cyclically from the member `zero`, which has position 0; -1 if
 * `rank` is not a member. */
int ftc_view_position(const struct ftc_view *view, int zero, int rank);
int ftc_view_rank(const struct ftc_view *view, int zero, int position);

#endif
