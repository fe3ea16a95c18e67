/* Sorted runs of ranks. */
#include "base/runs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_room(struct ftc_runs *runs, int count)
{
    if (count <= runs->room)
        return;
    int room = count > 2 * runs->room ? count : 2 * runs->room;
    struct ftc_run *grown = realloc(runs->run, (size_t)room * sizeof(*grown));
    if (grown == NULL) {
        fprintf(stderr, "ftcoll: out of memory for a set of ranks\n");
        abort();
    }
    runs->run = grown;
    runs->room = room;
}

/* Replace the runs lo..hi-1 by `count` others. */
static void splice(struct ftc_runs *runs, int lo, int hi, const struct ftc_run *by, int count)
{
    int tail = runs->count - hi;

    make_room(runs, lo + count + tail);
    memmove(&runs->run[lo + count], &runs->run[hi], (size_t)tail * sizeof(*runs->run));
    for (int i = 0; i < count; i++)
        runs->run[lo + i] = by[i];
    runs->count = lo + count + tail;
}

int ftc_runs_find(const struct ftc_runs *runs, int rank)
{
    int lo = 0, hi = runs->count;

    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        if (runs->run[middle].end > rank)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

bool ftc_runs_has(const struct ftc_runs *runs, int rank)
{
    int at = ftc_runs_find(runs, rank);
    return at < runs->count && runs->run[at].first <= rank;
}

bool ftc_runs_add(struct ftc_runs *runs, struct ftc_run range)
{
    int lo =
        ftc_runs_find(runs, range.first - 1); /* a run that ends where the range begins joins it */
    int hi = lo;

    assert(range.first < range.end);
    if (lo < runs->count && runs->run[lo].first <= range.first && runs->run[lo].end >= range.end)
        return false;
    while (hi < runs->count && runs->run[hi].first <= range.end)
        hi++;
    if (lo < hi && runs->run[lo].first < range.first)
        range.first = runs->run[lo].first;
    if (lo < hi && runs->run[hi - 1].end > range.end)
        range.end = runs->run[hi - 1].end;
    splice(runs, lo, hi, &range, 1);
    return true;
}

bool ftc_runs_remove(struct ftc_runs *runs, struct ftc_run range)
{
    struct ftc_run left[2];
    int lo = ftc_runs_find(runs, range.first), hi = lo, count = 0;

    assert(range.first < range.end);
    while (hi < runs->count && runs->run[hi].first < range.end)
        hi++;
    if (lo == hi)
        return false;
    if (runs->run[lo].first < range.first)
        left[count++] = (struct ftc_run){runs->run[lo].first, range.first};
    if (runs->run[hi - 1].end > range.end)
        left[count++] = (struct ftc_run){range.end, runs->run[hi - 1].end};
    splice(runs, lo, hi, left, count);
    return true;
}

void ftc_runs_copy(struct ftc_runs *to, const struct ftc_runs *from)
{
    make_room(to, from->count);
    if (from->count > 0)
        memmove(to->run, from->run, (size_t)from->count * sizeof(*from->run));
    to->count = from->count;
}

bool ftc_runs_subset(const struct ftc_runs *part, const struct ftc_runs *whole)
{
    int at = 0;

    for (int i = 0; i < part->count; i++) {
        while (at < whole->count && whole->run[at].end < part->run[i].end)
            at++;
        if (at == whole->count || whole->run[at].first > part->run[i].first)
            return false;
    }
    return true;
}

bool ftc_runs_intersect(const struct ftc_runs *a, const struct ftc_runs *b)
{
    int i = 0, j = 0;

    while (i < a->count && j < b->count) {
        if (a->run[i].end <= b->run[j].first)
            i++;
        else if (b->run[j].end <= a->run[i].first)
            j++;
        else
            return true;
    }
    return false;
}
