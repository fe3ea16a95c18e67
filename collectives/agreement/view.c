/* Ordered sets of members. Each keeps the ascending list of the ranks that are missing. */
#include "collectives/agreement/view.h"

#include <assert.h>
#include <stdlib.h>

#include "include/ftcoll.h"

/* The list of missing ranks; NULL if none is missing. *ok: there was enough memory. */
static int *list_missing(const struct ftc_set *members, int missing, bool *ok)
{
    int *list = missing > 0 ? calloc((size_t)missing, sizeof(*list)) : NULL;
    int count = 0;

    *ok = list != NULL || missing == 0;
    for (int rank = ftc_set_next_missing(members, 0); list != NULL && rank >= 0;
         rank = ftc_set_next_missing(members, rank + 1))
        list[count++] = rank;
    return list;
}

struct ftc_view *ftc_view_new(const struct ftc_set *members)
{
    struct ftc_view *view = calloc(1, sizeof(*view));
    bool ok;

    if (view == NULL)
        return NULL;
    if (ftc_set_init(&view->set, members->size) != FTC_SUCCESS)
        goto err_free;
    ftc_set_copy(&view->set, members);
    view->size = ftc_set_count(members);
    view->missing = list_missing(members, members->size - view->size, &ok);
    if (!ok)
        goto err_set;
    view->references = 1;
    return view;

err_set:
    ftc_set_fini(&view->set);
err_free:
    free(view);
    return NULL;
}

struct ftc_view *ftc_view_without(const struct ftc_set *missing)
{
    struct ftc_set members = {0};

    if (ftc_set_init(&members, missing->size) != 0)
        return NULL;
    ftc_set_fill(&members);
    ftc_set_subtract(&members, missing);
    struct ftc_view *view = ftc_view_new(&members);
    ftc_set_fini(&members);
    return view;
}

struct ftc_view *ftc_view_ref(struct ftc_view *view)
{
    assert(view->references > 0);
    view->references++;
    return view;
}

void ftc_view_unref(struct ftc_view *view)
{
    if (view == NULL)
        return;
    assert(view->references > 0);
    if (--view->references > 0)
        return;
    free(view->missing);
    ftc_set_fini(&view->set);
    free(view);
}

/* How many ranks are missing below the rank `limit`; or, by index, before the member with the index
 * `limit`. */
static int count_missing(const struct ftc_view *view, int limit, bool by_index)
{
    int lo = 0, hi = view->set.size - view->size;

    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        /* missing[j] has missing[j] - j members below it. */
        int key = by_index ? view->missing[middle] - middle : view->missing[middle] + 1;
        if (key <= limit)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

int ftc_view_index(const struct ftc_view *view, int rank)
{
    if (rank < 0 || rank >= view->set.size || !ftc_set_has(&view->set, rank))
        return -1;
    return rank - count_missing(view, rank, false);
}

int ftc_view_member(const struct ftc_view *view, int index)
{
    assert(index >= 0 && index < view->size);
    return index + count_missing(view, index, true);
}

int ftc_view_position(const struct ftc_view *view, int zero, int rank)
{
    int start = ftc_view_index(view, zero), index = ftc_view_index(view, rank);

    assert(start >= 0);
    if (index < 0)
        return -1;
    return index >= start ? index - start : index - start + view->size;
}

int ftc_view_rank(const struct ftc_view *view, int zero, int position)
{
    int start = ftc_view_index(view, zero);

    assert(start >= 0);
    assert(position >= 0 && position < view->size);
    int left = view->size - start; /* positions before the order wraps around */
    return ftc_view_member(view, position < left ? start + position : position - left);
}
