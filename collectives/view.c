/* Ordered sets of members: ranks to positions and back, each by one look into an array. */
#include "collectives/view.h"

#include <assert.h>
#include <stdlib.h>

#include "include/ftcoll.h"

/* An array that is never NULL when there is memory, also for no elements. */
static int *new_array(int count)
{
    return calloc(count > 0 ? (size_t)count : 1, sizeof(int));
}

static void fill(struct ftc_view *view)
{
    view->size = ftc_set_list(&view->set, view->ranks);
    for (int rank = 0; rank < view->set.size; rank++)
        view->index[rank] = -1;
    for (int i = 0; i < view->size; i++)
        view->index[view->ranks[i]] = i;
}

struct ftc_view *ftc_view_new(const struct ftc_set *members)
{
    struct ftc_view *view = calloc(1, sizeof(*view));
    if (view == NULL)
        return NULL;
    if (ftc_set_init(&view->set, members->size) != FTC_SUCCESS)
        goto err_free;
    view->ranks = new_array(ftc_set_count(members));
    if (view->ranks == NULL)
        goto err_set;
    view->index = new_array(members->size);
    if (view->index == NULL)
        goto err_ranks;
    ftc_set_copy(&view->set, members);
    fill(view);
    view->references = 1;
    return view;

err_ranks:
    free(view->ranks);
err_set:
    ftc_set_fini(&view->set);
err_free:
    free(view);
    return NULL;
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
    free(view->index);
    free(view->ranks);
    ftc_set_fini(&view->set);
    free(view);
}

/* Index of a rank, which may come from a message; -1: no member. */
static int index_of(const struct ftc_view *view, int rank)
{
    return rank >= 0 && rank < view->set.size ? view->index[rank] : -1;
}

int ftc_view_position(const struct ftc_view *view, int zero, int rank)
{
    int start = index_of(view, zero), index = index_of(view, rank);

    assert(start >= 0);
    if (index < 0)
        return -1;
    return index >= start ? index - start : index - start + view->size;
}

int ftc_view_rank(const struct ftc_view *view, int zero, int position)
{
    int start = index_of(view, zero);

    assert(start >= 0);
    assert(position >= 0 && position < view->size);
    int left = view->size - start; /* positions before the wrap-around */
    return view->ranks[position < left ? start + position : position - left];
}
