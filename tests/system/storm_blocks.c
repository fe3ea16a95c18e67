/* Calls that gather, scatter, exchange and scan, in the storm program. A block of rank r for rank s
 * is words drawn from r, s and the seed, so that any other word in its place is found. */
#include "tests/system/storm_blocks.h"

#include <stdlib.h>
#include <string.h>

#define RANKS     64
#define UNTOUCHED 0xeeeeeeeeeeeeeeeeull
#define LARGE     16600 /* words: more than one block of the board */

struct blocks {
    ftc_comm *world;
    int rank, size, root;
    uint64_t seed;
    size_t count; /* words of a block */
    uint64_t *send, *recv;
    size_t counts[RANKS], displs[RANKS];
    uint64_t failed;
    struct storm_blocks result;
};

static uint64_t word_of(const struct blocks *b, int from, int to, size_t i)
{
    uint64_t state = b->seed ^ ((uint64_t)from << 40) ^ ((uint64_t)to << 48) ^ (uint64_t)i;

    return record_random(&state);
}

static void complain(struct blocks *b, const char *what)
{
    if (b->result.what == NULL)
        b->result.what = what;
}

static void fill(struct blocks *b, int to, uint64_t *at)
{
    for (size_t i = 0; i < b->count; i++)
        at[i] = word_of(b, b->rank, to, i);
}

static bool is_block(const struct blocks *b, int from, int to, const uint64_t *at)
{
    for (size_t i = 0; i < b->count; i++)
        if (at[i] != word_of(b, from, to, i))
            return false;
    return true;
}

static bool is_untouched(const struct blocks *b, const uint64_t *at)
{
    for (size_t i = 0; i < b->count; i++)
        if (at[i] != UNTOUCHED)
            return false;
    return true;
}

static void learn(struct blocks *b)
{
    ftc_report report = {.struct_size = sizeof(report)};

    if (ftc_last_report(b->world, &report) != FTC_SUCCESS)
        complain(b, "there is no report");
    for (int i = 0; i < report.failed_count; i++)
        b->failed |= 1ull << report.failed[i];
}

/* Whose blocks are in recv? A place is whole, or as it was. */
static void count_blocks(struct blocks *b, int to)
{
    b->result.counted = 0;
    for (int rank = 0; rank < b->size; rank++) {
        const uint64_t *at = b->recv + (size_t)rank * b->count;
        if (is_block(b, rank, to, at))
            b->result.counted |= 1ull << rank;
        else if (!is_untouched(b, at))
            complain(b, "a block is there in part");
    }
    if ((b->result.counted & b->failed) != 0)
        complain(b, "a block of a rank of the failed set is there");
    if (!(b->result.counted >> b->rank & 1))
        complain(b, "the own block is missing");
}

static uint64_t hash_words(const uint64_t *words, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * 0x100000001b3ull;
    return hash | 1;
}

static void gather(struct blocks *b, bool to_all, bool v)
{
    size_t all = (size_t)b->size * b->count;
    bool gets = to_all || b->rank == b->root;

    fill(b, 0, b->send);
    if (to_all)
        b->result.status = v ? ftc_allgatherv(b->send, b->count, b->recv, b->counts, b->displs,
                                              FTC_UINT64, b->world)
                             : ftc_allgather(b->send, b->recv, b->count, FTC_UINT64, b->world);
    else
        b->result.status =
            v ? ftc_gatherv(b->send, b->count, b->recv, b->counts, b->displs, FTC_UINT64, b->root,
                            b->world)
              : ftc_gather(b->send, b->recv, b->count, FTC_UINT64, b->root, b->world);
    learn(b);
    if (gets && b->result.status == FTC_SUCCESS)
        count_blocks(b, 0);
    if (gets)
        b->result.hash = hash_words(b->recv, all);
}

static void scatter(struct blocks *b, bool v)
{
    for (int rank = 0; rank < b->size; rank++)
        fill(b, rank, b->send + (size_t)rank * b->count);
    b->result.status = v ? ftc_scatterv(b->send, b->counts, b->displs, b->recv, b->count,
                                        FTC_UINT64, b->root, b->world)
                         : ftc_scatter(b->send, b->recv, b->count, FTC_UINT64, b->root, b->world);
    learn(b);
    bool good = b->result.status == FTC_SUCCESS ? is_block(b, b->root, b->rank, b->recv)
                                                : is_untouched(b, b->recv);
    if (!good)
        complain(b, "a scatter has damaged its block");
}

static void exchange(struct blocks *b, bool v)
{
    for (int rank = 0; rank < b->size; rank++)
        fill(b, rank, b->send + (size_t)rank * b->count);
    b->result.status = v ? ftc_alltoallv(b->send, b->counts, b->displs, b->recv, b->counts,
                                         b->displs, FTC_UINT64, b->world)
                         : ftc_alltoall(b->send, b->recv, b->count, FTC_UINT64, b->world);
    learn(b);
    count_blocks(b, b->rank);
}

/* --- sums: each rank counts one at its place in a vector of places --- */

static void mark(struct blocks *b, size_t places)
{
    for (size_t i = 0; i < places; i++)
        b->send[i] = i % (size_t)b->size == (size_t)b->rank;
}

/* The sums of one vector of places. Only ranks up to `highest` may be in it. */
static void count_marks(struct blocks *b, int highest)
{
    b->result.counted = 0;
    for (int rank = 0; rank < b->size; rank++) {
        if (b->recv[rank] > (rank <= highest))
            complain(b, "a rank is counted twice, or is above the own one");
        else if (b->recv[rank] == 1)
            b->result.counted |= 1ull << rank;
    }
}

/* As after an allreduce, a rank of the failed set may be counted. */
static void reduce_scatter(struct blocks *b, bool block)
{
    size_t places = (size_t)b->size;

    for (int rank = 0; rank < b->size; rank++)
        b->counts[rank] = places;
    mark(b, places * places);
    b->result.status =
        block ? ftc_reduce_scatter_block(b->send, b->recv, places, FTC_UINT64, FTC_SUM, b->world)
              : ftc_reduce_scatter(b->send, b->recv, b->counts, FTC_UINT64, FTC_SUM, b->world);
    learn(b);
    count_marks(b, b->size - 1);
}

static void scan(struct blocks *b, bool inclusive)
{
    size_t places = (size_t)b->size;

    mark(b, places);
    memset(b->recv, 0, places * sizeof(*b->recv));
    b->result.status = inclusive
                           ? ftc_scan(b->send, b->recv, places, FTC_UINT64, FTC_SUM, b->world)
                           : ftc_exscan(b->send, b->recv, places, FTC_UINT64, FTC_SUM, b->world);
    learn(b);
    count_marks(b, inclusive ? b->rank : b->rank - 1);
    if ((b->result.counted & b->failed) != 0)
        complain(b, "a rank of the failed set is counted");
    b->result.counted = ~0ull; /* each rank has others */
}

/* --- an operator that does not commute: lists of ranks --- */

struct list {
    unsigned char length, ranks[RANKS];
};

static void append(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    const struct list *left = in;
    struct list *right = inout;

    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++) {
        struct list both = left[i];
        memcpy(both.ranks + both.length, right[i].ranks, right[i].length);
        both.length = (unsigned char)(both.length + right[i].length);
        right[i] = both;
    }
}

static void in_order(struct blocks *b)
{
    struct list mine = {.length = 1, .ranks = {(unsigned char)b->rank}}, all = {.length = 0};
    ftc_type type;
    ftc_op op;

    if (ftc_type_create(sizeof(mine), &type) != FTC_SUCCESS ||
        ftc_op_create_ordered(append, NULL, &op) != FTC_SUCCESS)
        complain(b, "no operator");
    b->result.status = ftc_allreduce(&mine, &all, 1, type, op, b->world);
    ftc_op_free(&op);
    learn(b);
    b->result.counted = 0;
    for (int i = 0; i < all.length; i++) {
        if (i > 0 && all.ranks[i] <= all.ranks[i - 1])
            complain(b, "the ranks are out of order");
        b->result.counted |= 1ull << all.ranks[i];
    }
    b->result.hash = b->result.counted | 1;
}

/* --- any of them --- */

static void run(struct blocks *b, enum record_kind kind, uint64_t dice)
{
    bool v = kind == RECORD_SIZED || kind == RECORD_SIZED_GATHER;

    if (kind == RECORD_GATHER || kind == RECORD_SIZED_GATHER) {
        gather(b, false, v);
    } else if (kind == RECORD_SIZED) {
        if (dice % 2 == 0)
            scatter(b, true);
        else
            exchange(b, true);
    } else if (dice % 8 < 2) {
        gather(b, true, dice % 2 == 1);
    } else if (dice % 8 == 2) {
        scatter(b, false);
    } else if (dice % 8 == 3) {
        exchange(b, false);
    } else if (dice % 8 == 4) {
        reduce_scatter(b, dice / 8 % 2 == 0);
    } else if (dice % 8 < 7) {
        scan(b, dice % 8 == 5);
    } else {
        in_order(b);
    }
}

struct storm_blocks storm_blocks(ftc_comm *world, uint64_t seed, uint32_t op, enum record_kind kind,
                                 int root)
{
    uint64_t state = seed + op * 137u, dice = record_random(&state);
    struct blocks b = {.world = world,
                       .rank = ftc_rank(world),
                       .size = ftc_size(world),
                       .root = root,
                       .seed = record_random(&state),
                       .result = {.counted = ~0ull}};
    size_t places = (size_t)b.size;

    b.count = record_random(&state) % 4 == 0 && b.size <= 8 ? LARGE : 1 + dice / 64 % 40;
    size_t room = (b.count > places ? b.count : places) * places;
    b.send = malloc(room * sizeof(*b.send));
    b.recv = malloc(room * sizeof(*b.recv));
    if (b.send == NULL || b.recv == NULL)
        return (struct storm_blocks){.what = "out of memory"};
    memset(b.recv, 0xee, room * sizeof(*b.recv));
    for (int rank = 0; rank < b.size; rank++) {
        b.counts[rank] = b.count;
        b.displs[rank] = (size_t)rank * b.count;
    }
    run(&b, kind, dice);
    free(b.send);
    free(b.recv);
    return b.result;
}
