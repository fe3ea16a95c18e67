/*
 * Allreduce and reduce_scatter round a ring. The vector is cut into blocks, and each block travels
 * round the ring of places: on the first round it is combined. In an allreduce the result is spread
 * on a second round; in a reduce_scatter a block begins behind the place that gets it, and ends
 * there. N is the number of places and l the number of bytes; a message costs alpha, sending a byte
 * beta, and combining a byte gamma. With N blocks an allreduce takes (Patarasuk, Yuan 2009)
 *
 *   2 (N-1) alpha + 2 (N-1)/N l beta + (N-1)/N l gamma
 *
 * and a reduce_scatter half of the first two terms. Every link carries each byte at most twice, or
 * once, whatever N is. If the ranks of each node follow one another, two neighbouring nodes have
 * one such link.
 *
 * Block b of B of an allreduce begins at place s = floor(b N / B). Those of the part of place p of
 * a reduce_scatter begin at place p + 1. Nobody sends a part whose rank has no place. Hop h of a
 * block goes from place s + h to place s + h + 1 (modulo N). The receiver of a hop below N-1
 * combines; the receiver of hop N-2 or a later one has the result. The last hop is 2N-3, or N-2 in
 * a reduce_scatter. With more blocks than places, blocks are combined while others travel; with
 * fewer blocks there are fewer messages. Each block is combined along one chain only, so all ranks
 * get the same bits.
 *
 * A tag has the number of the block, and its hop. A value is not copied on its way.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/large/internal.h"

struct block {
    size_t offset, size;
    int first;               /* the place at which it begins */
    bool passed;             /* its first round has passed this rank, or it begins here */
    bool whole;              /* its result is here */
    struct ftc_value result; /* the result, kept here if the caller gave no memory for it */
};

struct ftc_ring_reduce {
    struct ftc_large_exchange base;
    bool spreads;      /* an allreduce */
    size_t own_offset; /* where the result of this rank begins in the vector */
    size_t own_size;
    uint32_t blocks;
    uint64_t missing; /* messages that have still to come */
    struct block *block;
};

static const struct ftc_ring_reduce *ring_of(const struct ftc_large_exchange *exchange)
{
    return (const struct ftc_ring_reduce *)exchange;
}

/* --- the plan --- */

static int last_place(const struct ftc_ring_reduce *ring)
{
    return ring->base.set.places - 1;
}

/* How many places this rank is behind the one at which the block begins. */
static uint32_t distance(const struct ftc_ring_reduce *ring, const struct block *block)
{
    int behind = ring->base.set.self - block->first;
    return (uint32_t)(behind < 0 ? behind + ring->base.set.places : behind);
}

/* How many messages with the block come to this rank. */
static uint64_t messages_of(const struct ftc_ring_reduce *ring, const struct block *block)
{
    uint32_t behind = distance(ring, block);
    return (uint64_t)(behind > 0) +
           (uint64_t)(ring->spreads && behind < (uint32_t)last_place(ring));
}

static int add_block(struct ftc_ring_reduce *ring, size_t offset, size_t size, int first)
{
    size_t room = ring->blocks == 0 ? 8 : 2 * (size_t)ring->blocks;

    if (ring->blocks == 0 || (ring->blocks >= 8 && (ring->blocks & (ring->blocks - 1)) == 0)) {
        struct block *grown = realloc(ring->block, room * sizeof(*grown));
        if (grown == NULL)
            return ftc_error_set(FTC_ERR_NOMEM, "no memory for a large value of %u blocks",
                                 ring->blocks);
        ring->block = grown;
    }
    struct block *block = &ring->block[ring->blocks++];
    *block = (struct block){.offset = offset, .size = size, .first = first};
    block->passed = first == ring->base.set.self;
    ring->missing += messages_of(ring, block);
    return FTC_SUCCESS;
}

/* There is one block for each place. There are fewer if blocks would become too small, and more if
 * they would become too large. */
static uint64_t count_blocks(const struct ftc_large_exchange_settings *set, size_t size)
{
    uint64_t places = (uint64_t)set->places, most = size / set->block_least;
    uint64_t least = (size + set->block_most - 1) / set->block_most;
    uint64_t blocks = most < places ? most : places;

    blocks = blocks < least ? least : blocks;
    blocks = blocks > size / set->element ? size / set->element : blocks;
    return blocks > 0 ? blocks : 1;
}

static int plan_allreduce(struct ftc_ring_reduce *ring)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    size_t elements = ring->own_size / set->element, at = 0;
    uint64_t blocks = count_blocks(set, ring->own_size);
    int rc = FTC_SUCCESS;

    for (uint64_t b = 0; b < blocks && rc == FTC_SUCCESS; b++) {
        size_t size = (elements / blocks + (b < elements % blocks)) * set->element;
        rc = add_block(ring, at, size, (int)(b * (uint64_t)set->places / blocks));
        at += size;
    }
    return rc;
}

static int plan_part(struct ftc_ring_reduce *ring, int place)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    size_t offset, size, most = ftc_large_block_size(set, set->block_most);
    int rc = FTC_SUCCESS;

    ftc_call_part(set->call, set->ranks, set->rank[place], &offset, &size);
    for (size_t at = 0; at < size && rc == FTC_SUCCESS; at += most)
        rc = add_block(ring, offset + at, size - at < most ? size - at : most,
                       place < last_place(ring) ? place + 1 : 0);
    return rc;
}

static int create(struct ftc_large_exchange **out,
                  const struct ftc_large_exchange_settings *settings)
{
    struct ftc_ring_reduce *ring = ftc_large_exchange_new(sizeof(*ring), settings);
    int rc = FTC_SUCCESS;

    if (ring == NULL)
        return FTC_ERR_NOMEM;
    *out = &ring->base;
    ring->spreads = settings->call->signature.kind == FTC_CALL_ALLREDUCE;
    ring->own_size = settings->call->signature.size;
    if (ring->spreads)
        return plan_allreduce(ring);
    ftc_call_part(settings->call, settings->ranks, settings->rank[settings->self],
                  &ring->own_offset, &ring->own_size);
    for (int place = 0; place < settings->places && rc == FTC_SUCCESS; place++)
        rc = plan_part(ring, place);
    return rc;
}

static void destroy(struct ftc_large_exchange *exchange)
{
    struct ftc_ring_reduce *ring = (struct ftc_ring_reduce *)exchange;

    for (uint32_t b = 0; b < ring->blocks; b++)
        ftc_value_drop(&ring->block[b].result);
    free(ring->block);
}

/* --- out --- */

static int send_on(struct ftc_ring_reduce *ring, uint32_t b, uint32_t hop,
                   const struct ftc_value *value)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;

    return ftc_large_put(&ring->base, set->self < last_place(ring) ? set->self + 1 : 0,
                         (struct ftc_large_tag){.block = b, .hop = hop}, value);
}

static int start(struct ftc_large_exchange *exchange)
{
    struct ftc_ring_reduce *ring = (struct ftc_ring_reduce *)exchange;
    int rc = FTC_SUCCESS;

    for (uint32_t b = 0; b < ring->blocks && rc == FTC_SUCCESS; b++) {
        const struct block *block = &ring->block[b];
        struct ftc_value copy = {0};
        if (block->first != exchange->set.self)
            continue;
        rc = ftc_large_copy_input(exchange, block->offset, block->size, &copy);
        if (rc == FTC_SUCCESS)
            rc = send_on(ring, b, 0, &copy);
        ftc_value_drop(&copy);
    }
    return rc;
}

/* --- in --- */

/* Is this hop of the block, to this rank, still to come? */
static bool awaits(const struct ftc_ring_reduce *ring, const struct block *block, uint32_t hop)
{
    uint32_t behind = distance(ring, block), last = (uint32_t)last_place(ring);

    if (!block->passed)
        return behind > 0 && hop == behind - 1;
    return ring->spreads && behind < last && hop == last + behind && !block->whole;
}

/* Writes the result to the caller's memory while its bytes are in the cache. */
static void keep(struct ftc_ring_reduce *ring, struct block *block, const struct ftc_value *value)
{
    block->whole = true;
    if (ring->base.set.result != NULL)
        memcpy((unsigned char *)ring->base.set.result + (block->offset - ring->own_offset),
               ftc_value_bytes(value), value->size);
    else
        ftc_value_set(&block->result, value);
}

static int take(struct ftc_ring_reduce *ring, uint32_t b, uint32_t hop,
                const struct ftc_value *value)
{
    const struct ftc_call *call = ring->base.set.call;
    uint32_t last = (uint32_t)last_place(ring); /* the distance of the last place that combines */
    struct block *block = &ring->block[b];

    block->passed = true;
    ring->missing--;
    if (hop < last)
        call->combine(call->combine_arg, (const unsigned char *)call->input + block->offset,
                      ftc_value_bytes(value), value->size);
    if (hop + 1 >= last)
        keep(ring, block, value);
    if (hop + 1 == (ring->spreads ? 2 * last : last))
        return FTC_SUCCESS;
    return send_on(ring, b, hop + 1, value);
}

static int left_of(const struct ftc_large_exchange *exchange)
{
    return exchange->set.self > 0 ? exchange->set.self - 1 : exchange->set.places - 1;
}

static int receive(struct ftc_large_exchange *exchange, int from, const struct ftc_large_tag *tag,
                   const struct ftc_value *value)
{
    struct ftc_ring_reduce *ring = (struct ftc_ring_reduce *)exchange;

    if (from != left_of(exchange) || tag->block >= ring->blocks || value->buffer == NULL ||
        value->size != ring->block[tag->block].size ||
        !awaits(ring, &ring->block[tag->block], tag->hop))
        return ftc_large_unawaited(from, tag, value);
    return take(ring, tag->block, tag->hop, value);
}

static bool whole(const struct ftc_large_exchange *exchange)
{
    return ring_of(exchange)->missing == 0;
}

/* --- the result --- */

/* In an allreduce and a reduce_scatter the input of a failed rank is in all results, or in none. */
static void finish(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                   void *to)
{
    const struct ftc_ring_reduce *ring = ring_of(exchange);
    const struct ftc_large_exchange_settings *set = &exchange->set;

    (void)failed;
    if (ring->own_size == 0)
        return;
    if (set->places == 1) {
        memmove(to, (const unsigned char *)set->call->input + ring->own_offset, ring->own_size);
        return;
    }
    if (set->result != NULL) {
        if (to != set->result)
            memcpy(to, set->result, ring->own_size);
        return;
    }
    for (uint32_t b = 0; b < ring->blocks; b++) {
        const struct block *block = &ring->block[b];
        if (block->result.buffer != NULL)
            memcpy((unsigned char *)to + (block->offset - ring->own_offset),
                   ftc_value_bytes(&block->result), block->size);
    }
}

const struct ftc_large_exchange_ops ftc_ring_reduce_ops = {.create = create,
                                                           .destroy = destroy,
                                                           .start = start,
                                                           .receive = receive,
                                                           .whole = whole,
                                                           .awaited = left_of,
                                                           .finish = finish};
