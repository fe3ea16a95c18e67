/* An ordered set of members, for going between ranks and positions: participants of a ballot, or the view at an
 * operation. Immutable and reference-counted, since operations with the same G share one. */
#ifndef FTC_COLLECTIVES_VIEW_H
#define FTC_COLLECTIVES_VIEW_H

#include "base/set.h"

struct ftc_view {
    int references;
    struct ftc_set set;
    int size;   /* number of members */
    int *ranks; /* ascending */
    int *index; /* index[rank] in ranks[], -1: no member */
};

struct ftc_view *ftc_view_new(const struct ftc_set *members); /* NULL: out of memory */
struct ftc_view *ftc_view_ref(struct ftc_view *view);
void ftc_view_unref(struct ftc_view *view); /* NULL is legal */

/* Position of `rank`, counted cyclically from `zero` (a member) = 0; -1 if it is no member. */
int ftc_view_position(const struct ftc_view *view, int zero, int rank);
int ftc_view_rank(const struct ftc_view *view, int zero, int position);

#endif
