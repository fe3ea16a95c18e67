/* Positions of nodes that are left: the list of those that are gone is short, and is searched. */
#include "detector/places.h"

#include <stdlib.h>

void ftc_places_init(struct ftc_places *places, int nodes)
{
    *places = (struct ftc_places){.nodes = nodes};
}

void ftc_places_fini(struct ftc_places *places)
{
    free(places->gone);
    *places = (struct ftc_places){0};
}

void ftc_places_clear(struct ftc_places *places)
{
    places->gones = 0;
}

/* The number of nodes below `node` that are gone. */
static int gone_below(const struct ftc_places *places, int node)
{
    int low = 0, high = places->gones;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if (places->gone[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool ftc_places_has(const struct ftc_places *places, int node)
{
    int at = gone_below(places, node);
    return at == places->gones || places->gone[at] != node;
}

bool ftc_places_remove(struct ftc_places *places, int node)
{
    int at = gone_below(places, node);

    if (!ftc_places_has(places, node))
        return false;
    if (places->gones == places->room) {
        int room = places->room == 0 ? 8 : 2 * places->room;
        int *gone = realloc(places->gone, (size_t)room * sizeof(*gone));
        if (gone == NULL)
            abort();
        places->gone = gone;
        places->room = room;
    }
    for (int i = places->gones++; i > at; i--)
        places->gone[i] = places->gone[i - 1];
    places->gone[at] = node;
    return true;
}

/* --- indices: the nodes that are left, counted from 0 --- */

static int left_over(const struct ftc_places *places)
{
    return places->nodes - places->gones;
}

static int index_of(const struct ftc_places *places, int node)
{
    return node - gone_below(places, node);
}

/* Below gone[i] there are gone[i] - i nodes that are left, which never decreases with i. */
static int node_at(const struct ftc_places *places, int index)
{
    int low = 0, high = places->gones;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if (places->gone[middle] - middle <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return index + low;
}

int ftc_places_right(const struct ftc_places *places, int node)
{
    return node_at(places, (index_of(places, node) + 1) % left_over(places));
}

int ftc_places_left(const struct ftc_places *places, int node)
{
    int count = left_over(places);
    return node_at(places, (index_of(places, node) + count - 1) % count);
}

/* --- the tree of a root, which has position 0 also when it is gone --- */

static int position_of(const struct ftc_places *places, int root, int node)
{
    int count = left_over(places), behind = ftc_places_has(places, root) ? 0 : 1;

    if (node == root)
        return 0;
    return (index_of(places, node) - index_of(places, root) + count) % count + behind;
}

int ftc_places_child(const struct ftc_places *places, int root, int node, int c)
{
    bool has_root = ftc_places_has(places, root);
    int count = left_over(places), behind = has_root ? 0 : 1;
    long position = position_of(places, root, node), step = 1;

    while (step <= position)
        step *= 2;
    long child = position + (step << c);
    if (c > 30 || child >= count + behind)
        return -1;
    return node_at(places, (int)((index_of(places, root) + child - behind) % count));
}

bool ftc_places_is_child(const struct ftc_places *places, int root, int node, int child)
{
    int position = position_of(places, root, child), step = 1;

    while (2 * step <= position)
        step *= 2;
    return position > 0 && position - step == position_of(places, root, node);
}

static int at_position(const struct ftc_places *places, int root, long position)
{
    return node_at(places, (int)((index_of(places, root) + position) % left_over(places)));
}

int ftc_places_branch(const struct ftc_places *places, int root, int node, int arity, int c)
{
    long child = (long)position_of(places, root, node) * arity + 1 + c;

    if (!ftc_places_has(places, node) || c >= arity || child >= left_over(places))
        return -1;
    return at_position(places, root, child);
}

int ftc_places_parent(const struct ftc_places *places, int root, int node, int arity)
{
    if (node == root || !ftc_places_has(places, node))
        return -1;
    return at_position(places, root, (position_of(places, root, node) - 1) / arity);
}

static int depth_of(long position, int arity)
{
    int depth = 0;

    for (; position > 0; position = (position - 1) / arity)
        depth++;
    return depth;
}

int ftc_places_depth(const struct ftc_places *places, int root, int node, int arity)
{
    return ftc_places_has(places, node) ? depth_of(position_of(places, root, node), arity) : 0;
}

int ftc_places_height(const struct ftc_places *places, int arity)
{
    return depth_of(left_over(places) - 1, arity);
}
