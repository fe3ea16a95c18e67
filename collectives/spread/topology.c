/*
 * The shapes of a ballot: up-correction groups, the I(f)-tree and the broadcast trees.
 *
 * Everything is computed from a position when it is asked for, so a member keeps no table, however
 * large the job is. Positions and subtrees are int, and products of them int64_t: m, f and the
 * arities may be anything up to 2^30.
 */
#include "collectives/spread/topology.h"

#include <assert.h>
#include <stdint.h>

#include "collectives/mutation.h"
/* --- up-correction groups and I(f)-tree (agreement.md, "Shape of a ballot") --- */

struct ftc_group ftc_topology_group(int m, int f, int j)
{
    assert(f >= 0 && 0 <= j && j < m);
    int size = f + 1;
    int incomplete = (m - 1) % size; /* members of the last group, if it is incomplete */

    if (j == 0 && FTC_MUTATED(ROOT_OUTSIDE))
        return (struct ftc_group){0};
    if (j == 0)
        return (struct ftc_group){
            .first = incomplete > 0 ? m - incomplete : 0,
            .count = incomplete,
            .with_root = incomplete > 0,
        };
    int first = (j - 1) / size * size + 1;
    bool full = m - first >= size;
    return (struct ftc_group){
        .first = first,
        .count = full ? size : m - first,
        .with_root = !full && !FTC_MUTATED(ROOT_OUTSIDE),
    };
}

int ftc_topology_subtree(int f, int j)
{
    assert(f >= 0 && j >= 1);
    return (j - 1) % (f + 1);
}

int ftc_topology_reduce_parent(int f, int arity, int j)
{
    assert(f >= 0 && arity >= 1 && j >= 1);
    int size = f + 1;
    int t = (j - 1) / size; /* index in the heap */

    return t == 0 ? 0 : (t - 1) / arity * size + (j - 1) % size + 1;
}

int ftc_topology_reduce_child(int m, int f, int arity, int j, int c)
{
    assert(f >= 0 && arity >= 1 && 1 <= j && j < m && c >= 0);
    int64_t size = (int64_t)f + 1;
    int64_t t = (j - 1) / size;
    int64_t child = arity * t + 1 + c;
    int64_t position = child * size + (j - 1) % size + 1;
    return c < arity && position < m ? (int)position : -1;
}

int ftc_topology_head(int m, int f, int s)
{
    (void)f; /* f bounds s only */
    assert(m >= 1 && 0 <= s && s <= f);
    return s < m - 1 ? s + 1 : -1;
}

bool ftc_topology_subtree_has_root_value(int m, int f, int s)
{
    assert(m >= 1 && 0 <= s && s <= f);
    if (FTC_MUTATED(ROOT_ADDED_ALWAYS) || FTC_MUTATED(ROOT_ADDED_NEVER))
        return FTC_MUTATED(ROOT_ADDED_NEVER);
    return s < (m - 1) % (f + 1);
}

/* --- broadcast trees (algorithms-notes.md, 1) --- */

/* Each tree has a parent and a c-th child. Children in ascending order have the largest subtree
 * first. */
struct tree_ops {
    int (*parent)(int arity, int j);
    int64_t (*child)(int arity, int limit, int j, int c); /* >= limit: there is no such child */
};

/* The number of bits of j. A binomial broadcast reaches j in this step. */
static int bit_length(int j)
{
    return j == 0 ? 0 : 32 - __builtin_clz((unsigned)j);
}

static int binomial_parent(int arity, int j)
{
    (void)arity;
    return j - (1 << (bit_length(j) - 1));
}

static int64_t binomial_child(int arity, int limit, int j, int c)
{
    (void)arity;
    int bit = bit_length(j);
    return c > 31 - bit ? limit : j + ((int64_t)1 << (bit + c));
}

/* A level of the k-ary tree: `width` = k^depth positions, from `first` on. */
struct level {
    int64_t first, width;
};

static struct level kary_next(struct level level, int arity)
{
    return (struct level){level.first + level.width, level.width * arity};
}

static int kary_parent(int arity, int j)
{
    struct level above = {0, 1};
    for (struct level at = kary_next(above, arity); j >= at.first + at.width;
         at = kary_next(at, arity))
        above = at;
    return (int)(above.first + (j - above.first) % above.width);
}

static int64_t kary_child(int arity, int limit, int j, int c)
{
    struct level level = {0, 1};
    while (j >= level.first + level.width)
        level = kary_next(level, arity);
    return c >= arity ? limit : j + (c + 1) * level.width;
}

/*
 * Lamé tree of order k: R(t) positions have the message at time t. R(t) = 1 for t < k, and R(t) =
 * R(t-1) + R(t-k) from then on, since a message needs k steps until its receiver can send. Position
 * j has it at s(j) = min {t : R(t) > j}. The children of j are j + R(t) for t >= s(j) + k - 1. Its
 * parent is j - R(s(j) - 1).
 */
struct lame {
    int order, t;
    int64_t past[FTC_TOPOLOGY_LAME_MAX]; /* R(t-k+1) .. R(t); R(u) is at index u mod k */
};

static void lame_start(struct lame *lame, int order)
{
    assert(1 <= order && order <= FTC_TOPOLOGY_LAME_MAX);
    lame->order = order;
    lame->t = order - 1; /* R is 1 up to this t */
    for (int i = 0; i < order; i++)
        lame->past[i] = 1;
}

static int64_t lame_value(const struct lame *lame)
{
    return lame->past[lame->t % lame->order];
}

static void lame_step(struct lame *lame)
{
    int64_t value = lame_value(lame);
    lame->t++;
    lame->past[lame->t % lame->order] += value; /* the entry was R(t-k) */
}

static int lame_parent(int arity, int j)
{
    struct lame lame;
    int64_t before = 1; /* R(s(j) - 1) */

    for (lame_start(&lame, arity); lame_value(&lame) <= j; lame_step(&lame))
        before = lame_value(&lame);
    return (int)(j - before);
}

static int64_t lame_child(int arity, int limit, int j, int c)
{
    struct lame lame;

    lame_start(&lame, arity);
    while (lame_value(&lame) <= j)
        lame_step(&lame);
    int64_t reached = j == 0 ? 0 : lame.t; /* s(j); for j = 0, R(0) = 1 > 0 already */
    int64_t when = reached + arity - 1 + c;
    while (lame.t < when && j + lame_value(&lame) < limit)
        lame_step(&lame);
    return j + lame_value(&lame);
}

static const struct tree_ops trees[] = {
    [FTC_TREE_BINOMIAL] = {binomial_parent, binomial_child},
    [FTC_TREE_KARY] = {kary_parent, kary_child},
    [FTC_TREE_LAME] = {lame_parent, lame_child},
};

static const struct tree_ops *tree_ops(const struct ftc_tree_shape *shape)
{
    assert(shape->tree <= FTC_TREE_LAME);
    /* A chain would have no logarithmic depth. */
    assert(shape->tree != FTC_TREE_KARY || shape->arity >= 2);
    return &trees[shape->tree];
}

int ftc_topology_broadcast_parent(const struct ftc_tree_shape *shape, int j)
{
    assert(j >= 1);
    return tree_ops(shape)->parent(shape->arity, j);
}

int ftc_topology_broadcast_child(const struct ftc_tree_shape *shape, int m, int j, int c)
{
    assert(0 <= j && j < m && c >= 0);
    int64_t child = tree_ops(shape)->child(shape->arity, m, j, c);
    return child < m ? (int)child : -1;
}

/* --- numbers --- */

long ftc_topology_up_messages(int n, int f)
{
    assert(n >= 1 && f >= 0);
    long size = (long)f + 1;
    /* Size of the incomplete group, with the root in it; 1: the root alone, which then is in no
     * group. */
    long last = (n - 1) % size + 1;

    return f * size * ((n - 1) / size) + last * (last - 1);
}
