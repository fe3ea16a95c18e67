#include "bench/floor/ways.h"

#include <stdio.h>
#include <string.h>

#define PIECE (BOARD_PIECE / sizeof(double)) /* doubles that go down, or up, a tree together */

static const struct way ways[] = {
    {"allreduce/doubling", ALLREDUCE, LEVELS_FLAT, SHAPE_DOUBLING},
    {"allreduce/ring", ALLREDUCE, LEVELS_FLAT, SHAPE_RING},
    {"allreduce/star", ALLREDUCE, LEVELS_FLAT, SHAPE_STAR},
    {"allreduce/tree", ALLREDUCE, LEVELS_FLAT, SHAPE_TREE},
    {"allreduce/one-doubling", ALLREDUCE, LEVELS_ONE, SHAPE_DOUBLING},
    {"allreduce/one-ring", ALLREDUCE, LEVELS_ONE, SHAPE_RING},
    {"allreduce/one-star", ALLREDUCE, LEVELS_ONE, SHAPE_STAR},
    {"allreduce/all-doubling", ALLREDUCE, LEVELS_ALL, SHAPE_DOUBLING},
    {"allreduce/all-ring", ALLREDUCE, LEVELS_ALL, SHAPE_RING},
    {"reduce/star", REDUCE, LEVELS_FLAT, SHAPE_STAR},
    {"reduce/tree", REDUCE, LEVELS_FLAT, SHAPE_TREE},
    {"reduce/chain", REDUCE, LEVELS_FLAT, SHAPE_CHAIN},
    {"reduce/one-star", REDUCE, LEVELS_ONE, SHAPE_STAR},
    {"reduce/one-tree", REDUCE, LEVELS_ONE, SHAPE_TREE},
    {"reduce/one-chain", REDUCE, LEVELS_ONE, SHAPE_CHAIN},
    {"bcast/star", BCAST, LEVELS_FLAT, SHAPE_STAR},
    {"bcast/tree", BCAST, LEVELS_FLAT, SHAPE_TREE},
    {"bcast/chain", BCAST, LEVELS_FLAT, SHAPE_CHAIN},
    {"bcast/one-star", BCAST, LEVELS_ONE, SHAPE_STAR},
    {"bcast/one-tree", BCAST, LEVELS_ONE, SHAPE_TREE},
    {"bcast/one-chain", BCAST, LEVELS_ONE, SHAPE_CHAIN},
    {"barrier/doubling", BARRIER, LEVELS_FLAT, SHAPE_DOUBLING},
    {"barrier/one-doubling", BARRIER, LEVELS_ONE, SHAPE_DOUBLING},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* The ranks first, first + stride, ... that exchange messages. `index` is the place of this one. */
struct group {
    struct wires *wires;
    int size, index, first, stride;
};

/* Where a rank is in a tree: places in the group. */
struct place {
    int parent; /* -1: none */
    int children[BOARD_RANKS * 16];
    int count;
};

const struct way *way_find(const char *name)
{
    for (size_t i = 0; i < WAYS; i++)
        if (strcmp(ways[i].name, name) == 0)
            return &ways[i];
    return NULL;
}

void way_print_all(void)
{
    for (size_t i = 0; i < WAYS; i++)
        fprintf(stderr, " %s", ways[i].name);
}

bool way_fits(const struct way *way, const struct site *site, size_t count)
{
    int size = way->levels == LEVELS_FLAT ? site->wires.size : site->hosts;
    bool power = (size & (size - 1)) == 0;
    if (way->levels == LEVELS_ALL && count % (size_t)site->per_host != 0)
        return false;
    return (way->levels == LEVELS_FLAT || site->per_host > 1) &&
           (power || way->shape != SHAPE_DOUBLING || way->operation == BARRIER);
}

static struct group group_of(const struct way *way, struct site *site)
{
    struct group group = {.wires = &site->wires};
    int rank = site->wires.rank;
    if (way->levels == LEVELS_FLAT) {
        group.size = site->wires.size;
        group.index = rank;
        group.stride = 1;
    } else {
        group.size = site->hosts;
        group.index = rank / site->per_host;
        group.first = rank % site->per_host;
        group.stride = site->per_host;
    }
    return group;
}

static int rank_at(const struct group *group, int index)
{
    int place = (index % group->size + group->size) % group->size;
    return group->first + place * group->stride;
}

/* --- exchanges without a root --- */

static void run_doubling(const struct group *group, const double *send, double *recv, size_t count)
{
    size_t bytes = count * sizeof(double);
    const double *own = send;
    for (int distance = 1; distance < group->size; distance *= 2, own = recv) {
        int partner = rank_at(group, group->index ^ distance);
        wires_exchange(
            group->wires, &(struct outgoing){.to = partner, .data = own, .bytes = bytes},
            &(struct incoming){.from = partner, .into = recv, .own = own, .bytes = bytes});
    }
}

static size_t block_begin(const struct group *group, size_t count, int index)
{
    size_t block = (size_t)((index % group->size + group->size) % group->size);
    return count * block / (size_t)group->size;
}

static size_t block_bytes(const struct group *group, size_t count, int index)
{
    size_t block = (size_t)((index % group->size + group->size) % group->size);
    size_t end = count * (block + 1) / (size_t)group->size;
    return (end - block_begin(group, count, index)) * sizeof(double);
}

/* One step round the ring: the block `index` goes to the next rank, the one before it comes. */
static void turn(const struct group *group, const double *from, const double *own, double *recv,
                 size_t count, int index)
{
    size_t into = block_begin(group, count, index - 1);
    struct outgoing out = {.to = rank_at(group, group->index + 1),
                           .data = from + block_begin(group, count, index),
                           .bytes = block_bytes(group, count, index)};
    struct incoming in = {.from = rank_at(group, group->index - 1),
                          .into = recv + into,
                          .own = own == NULL ? NULL : own + into,
                          .bytes = block_bytes(group, count, index - 1)};
    wires_exchange(group->wires, &out, &in);
}

static void run_ring(const struct group *group, const double *send, double *recv, size_t count)
{
    for (int step = 0; step < group->size - 1; step++)
        turn(group, step == 0 ? send : recv, send, recv, count, group->index - step);
    for (int step = 0; step < group->size - 1; step++)
        turn(group, recv, NULL, recv, count, group->index + 1 - step);
}

static void run_dissemination(const struct group *group)
{
    double word = 0, other;
    for (int distance = 1; distance < group->size; distance *= 2) {
        wires_send(group->wires, rank_at(group, group->index + distance), &word, sizeof(word));
        wires_receive(group->wires, rank_at(group, group->index - distance), &other, NULL,
                      sizeof(other));
    }
}

static void run_rootless(const struct way *way, const struct group *group, const double *send,
                         double *recv, size_t count)
{
    if (way->shape == SHAPE_DOUBLING)
        run_doubling(group, send, recv, count);
    else
        run_ring(group, send, recv, count);
}

/* --- on a host --- */

static void sum(double *into, const double *own, const double *other, size_t count)
{
    for (size_t i = 0; i < count; i++)
        into[i] = own[i] + other[i];
}

static void post(struct board *board, int last, const double *value, size_t count)
{
    memcpy(board_slot(board, 0, last), value, count * sizeof(double));
    board_post(board);
}

/* The first rank of the host adds a piece of the others to its own. */
static void combine(struct board *board, const double *own, double *into, size_t count)
{
    if (board->self != 0) {
        post(board, 0, own, count);
        return;
    }
    for (int from = 1; from < board->ranks; from++, own = into) {
        sum(into, own, (const double *)(const void *)board_next(board, from), count);
        board_took(board, from);
    }
}

/* The first rank of the host gives a piece to the others. */
static void share(struct board *board, double *value, size_t count)
{
    if (board->self == 0) {
        post(board, board->ranks - 1, value, count);
        return;
    }
    memcpy(value, board_next(board, 0), count * sizeof(double));
    board_took(board, 0);
}

/* Adds the parts of all ranks of the host: rank i has the sum of part i then. Each post has a piece
 * of every part. */
static void combine_parts(struct board *board, const double *send, double *recv, size_t part)
{
    size_t most = PIECE / (size_t)board->ranks, mine = (size_t)board->self * part;
    for (size_t first = 0, count; first < part; first += count) {
        const double *own = send + mine + first;
        double *slot = (double *)(void *)board_slot(board, 0, board->ranks - 1);
        count = part - first < most ? part - first : most;
        for (int i = 0; i < board->ranks; i++)
            memcpy(slot + (size_t)i * count, send + (size_t)i * part + first,
                   count * sizeof(double));
        board_post(board);
        for (int from = 0; from < board->ranks; from++) {
            if (from == board->self)
                continue;
            slot = (double *)(void *)board_next(board, from);
            sum(recv + mine + first, own, slot + (size_t)board->self * count, count);
            board_took(board, from);
            own = recv + mine + first;
        }
    }
}

static void share_parts(struct board *board, double *recv, size_t part)
{
    for (size_t first = 0, count; first < part; first += count) {
        count = part - first < PIECE ? part - first : PIECE;
        post(board, board->ranks - 1, recv + (size_t)board->self * part + first, count);
        for (int from = 0; from < board->ranks; from++) {
            if (from == board->self)
                continue;
            memcpy(recv + (size_t)from * part + first, board_next(board, from),
                   count * sizeof(double));
            board_took(board, from);
        }
    }
}

/* --- trees --- */

static void place_in_tree(struct place *place, enum shape shape, const struct group *group)
{
    int index = group->index, size = group->size;
    place->count = 0;
    place->parent = index == 0             ? -1
                    : shape == SHAPE_STAR  ? 0
                    : shape == SHAPE_CHAIN ? index - 1
                                           : index & (index - 1);
    if (shape == SHAPE_CHAIN && index + 1 < size)
        place->children[place->count++] = index + 1;
    if (shape == SHAPE_STAR && index == 0)
        while (place->count < size - 1) {
            place->children[place->count] = place->count + 1;
            place->count++;
        }
    for (int bit = 1; shape == SHAPE_TREE && index + bit < size && !(index & bit); bit *= 2)
        place->children[place->count++] = index + bit;
}

static void reduce_piece(const struct group *group, const struct place *place, const double *own,
                         double *into, size_t count)
{
    size_t bytes = count * sizeof(double);
    for (int i = 0; i < place->count; i++, own = into)
        wires_receive(group->wires, rank_at(group, place->children[i]), into, own, bytes);
    if (place->parent >= 0)
        wires_send(group->wires, rank_at(group, place->parent), own, bytes);
}

static void bcast_piece(const struct group *group, const struct place *place, double *value,
                        size_t count)
{
    size_t bytes = count * sizeof(double);
    if (place->parent >= 0)
        wires_receive(group->wires, rank_at(group, place->parent), value, NULL, bytes);
    for (int i = place->count - 1; i >= 0; i--)
        wires_send(group->wires, rank_at(group, place->children[i]), value, bytes);
}

static void run_reduce(const struct way *way, struct site *site, const double *send, double *recv,
                       size_t count)
{
    struct group group = group_of(way, site);
    struct place place;
    place_in_tree(&place, way->shape, &group);
    for (size_t first = 0; first < count; first += PIECE) {
        size_t piece = count - first < PIECE ? count - first : PIECE;
        const double *own = send + first;
        if (way->levels == LEVELS_ONE) {
            combine(&site->board, own, recv + first, piece);
            own = recv + first;
        }
        if (way->levels == LEVELS_FLAT || site->board.self == 0)
            reduce_piece(&group, &place, own, recv + first, piece);
    }
}

static void run_bcast(const struct way *way, struct site *site, double *value, size_t count)
{
    struct group group = group_of(way, site);
    struct place place;
    place_in_tree(&place, way->shape, &group);
    for (size_t first = 0; first < count; first += PIECE) {
        size_t piece = count - first < PIECE ? count - first : PIECE;
        if (way->levels == LEVELS_FLAT || site->board.self == 0)
            bcast_piece(&group, &place, value + first, piece);
        if (way->levels == LEVELS_ONE)
            share(&site->board, value + first, piece);
    }
}

/* --- operations --- */

static void allreduce_by_one(const struct way *way, struct site *site, const double *send,
                             double *recv, size_t count)
{
    struct group group = group_of(way, site);
    for (size_t first = 0; first < count; first += PIECE)
        combine(&site->board, send + first, recv + first,
                count - first < PIECE ? count - first : PIECE);
    if (site->board.self == 0)
        run_rootless(way, &group, recv, recv, count);
    for (size_t first = 0; first < count; first += PIECE)
        share(&site->board, recv + first, count - first < PIECE ? count - first : PIECE);
}

static void allreduce_by_all(const struct way *way, struct site *site, const double *send,
                             double *recv, size_t count)
{
    struct group group = group_of(way, site);
    size_t part = count / (size_t)site->per_host;
    double *mine = recv + (size_t)site->board.self * part;
    combine_parts(&site->board, send, recv, part);
    run_rootless(way, &group, mine, mine, part);
    share_parts(&site->board, recv, part);
}

static void run_allreduce(const struct way *way, struct site *site, const double *send,
                          double *recv, size_t count)
{
    struct group group = group_of(way, site);
    if (way->shape == SHAPE_STAR || way->shape == SHAPE_TREE) {
        run_reduce(way, site, send, recv, count);
        run_bcast(way, site, recv, count);
    } else if (way->levels == LEVELS_ONE) {
        allreduce_by_one(way, site, send, recv, count);
    } else if (way->levels == LEVELS_ALL) {
        allreduce_by_all(way, site, send, recv, count);
    } else {
        run_rootless(way, &group, send, recv, count);
    }
}

static void run_barrier(const struct way *way, struct site *site)
{
    struct group group = group_of(way, site);
    double nothing = 0;
    if (way->levels == LEVELS_ONE)
        combine(&site->board, &nothing, &nothing, 0);
    if (way->levels == LEVELS_FLAT || site->board.self == 0)
        run_dissemination(&group);
    if (way->levels == LEVELS_ONE)
        share(&site->board, &nothing, 0);
}

void way_run(const struct way *way, struct site *site, const double *send, double *recv,
             size_t count)
{
    switch (way->operation) {
    case ALLREDUCE:
        run_allreduce(way, site, send, recv, count);
        break;
    case REDUCE:
        run_reduce(way, site, send, recv, count);
        break;
    case BCAST:
        run_bcast(way, site, recv, count);
        break;
    case BARRIER:
        run_barrier(way, site);
        break;
    }
}
