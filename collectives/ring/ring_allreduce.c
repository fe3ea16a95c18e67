/* Ring allreduce, block by block. */
#include "collectives/ring/ring_allreduce.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct block {
    bool passed;             /* its first round has passed this rank, or it begins here */
    bool whole;              /* its result is here */
    struct ftc_value result; /* the result, kept here if the caller gave no memory for it */
};

struct ftc_ring_allreduce {
    struct ftc_ring_allreduce_settings set;
    uint32_t blocks, missing; /* missing: results that are not here yet */
    struct ftc_buffer *own;   /* a copy of the input's blocks that begin here */
    size_t own_offset;
    uint32_t starting, starting_end; /* those of them that were not sent yet */
    bool forwards;                   /* `forward` is to be put out */
    struct ftc_ring_allreduce_output forward;
    struct ftc_value current; /* of the output that was taken last */
    struct block block[];
};

/* --- the plan --- */

/* The number of elements before block b. */
static size_t first_element(const struct ftc_ring_allreduce *ring, uint32_t b)
{
    size_t elements = ring->set.size / ring->set.element;
    size_t whole = elements / ring->blocks, rest = elements % ring->blocks;

    return b * whole + (b < rest ? b : rest);
}

static size_t block_offset(const struct ftc_ring_allreduce *ring, uint32_t b)
{
    return first_element(ring, b) * ring->set.element;
}

static size_t block_size(const struct ftc_ring_allreduce *ring, uint32_t b)
{
    return block_offset(ring, b + 1) - block_offset(ring, b);
}

static int first_rank(const struct ftc_ring_allreduce *ring, uint32_t b)
{
    return (int)((uint64_t)b * (uint64_t)ring->set.ranks / ring->blocks);
}

/* How many ranks this rank is behind the one at which the block begins. */
static uint32_t distance(const struct ftc_ring_allreduce *ring, uint32_t b)
{
    int behind = ring->set.self - first_rank(ring, b);
    return (uint32_t)(behind < 0 ? behind + ring->set.ranks : behind);
}

/* There is one block for each rank. There are fewer if blocks would become too small, and more if
 * they would become too large. */
static uint64_t count_blocks(const struct ftc_ring_allreduce_settings *set)
{
    uint64_t ranks = (uint64_t)set->ranks, most = set->size / set->block_least;
    uint64_t least = (set->size + set->block_most - 1) / set->block_most;
    uint64_t blocks = most < ranks ? most : ranks;

    blocks = blocks < least ? least : blocks;
    blocks = blocks > set->size / set->element ? set->size / set->element : blocks;
    return blocks > 0 ? blocks : 1;
}

/* --- life --- */

static int check(const struct ftc_ring_allreduce_settings *set)
{
    if (set->self < 0 || set->self >= set->ranks)
        return ftc_error_set(FTC_ERR_ARG, "rank %d of %d: 0 to the number of ranks - 1 is needed",
                             set->self, set->ranks);
    if (set->element == 0 || set->size == 0 || set->size % set->element != 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "%zu bytes of elements of %zu: whole ones are needed, at least one",
                             set->size, set->element);
    if (set->block_least == 0 || set->block_most < set->block_least)
        return ftc_error_set(FTC_ERR_ARG, "blocks of %zu to %zu bytes: there are none",
                             set->block_least, set->block_most);
    if (count_blocks(set) > INT_MAX)
        return ftc_error_set(FTC_ERR_ARG, "%zu bytes in blocks of %zu are too many blocks",
                             set->size, set->block_most);
    return FTC_SUCCESS;
}

int ftc_ring_allreduce_create(struct ftc_ring_allreduce **out,
                              const struct ftc_ring_allreduce_settings *settings)
{
    int rc = check(settings);

    if (rc != FTC_SUCCESS)
        return rc;
    uint32_t blocks = (uint32_t)count_blocks(settings);
    struct ftc_ring_allreduce *ring = calloc(1, sizeof(*ring) + blocks * sizeof(ring->block[0]));
    if (ring == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an allreduce of %u blocks", blocks);
    ring->set = *settings;
    ring->blocks = blocks;
    ring->missing = settings->ranks > 1 ? blocks : 0;
    *out = ring;
    return FTC_SUCCESS;
}

void ftc_ring_allreduce_destroy(struct ftc_ring_allreduce *ring)
{
    if (ring == NULL)
        return;
    for (uint32_t b = 0; b < ring->blocks; b++)
        ftc_value_drop(&ring->block[b].result);
    ftc_buffer_unref(ring->own);
    ftc_value_drop(&ring->forward.value);
    ftc_value_drop(&ring->current);
    free(ring);
}

bool ftc_ring_allreduce_whole(const struct ftc_ring_allreduce *ring)
{
    return ring->missing == 0;
}

void ftc_ring_allreduce_copy(const struct ftc_ring_allreduce *ring, void *to)
{
    unsigned char *bytes = to;

    if (ring->set.ranks == 1) {
        memmove(bytes, ring->set.input, ring->set.size);
        return;
    }
    if (ring->set.result != NULL && to != ring->set.result) {
        memcpy(to, ring->set.result, ring->set.size);
        return;
    }
    for (uint32_t b = 0; b < ring->blocks; b++) {
        const struct ftc_value *result = &ring->block[b].result;
        if (result->buffer != NULL)
            memcpy(bytes + block_offset(ring, b), ftc_value_bytes(result), result->size);
    }
}

/* --- out --- */

/* The blocks that begin here are adjacent, so one copy holds them all. They are copied since the
 * input must outlive the call only, and messages may leave later. */
int ftc_ring_allreduce_start(struct ftc_ring_allreduce *ring)
{
    uint32_t first = 0, end;

    while (first < ring->blocks && first_rank(ring, first) != ring->set.self)
        first++;
    for (end = first; end < ring->blocks && first_rank(ring, end) == ring->set.self; end++)
        ring->block[end].passed = true;
    if (ring->set.ranks == 1 || first == end)
        return FTC_SUCCESS;
    size_t from = block_offset(ring, first), size = block_offset(ring, end) - from;
    ring->own = ftc_buffer_pool_take(ring->set.pool, size);
    if (ring->own == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %zu bytes of an allreduce", size);
    memcpy(ring->own->data, (const unsigned char *)ring->set.input + from, size);
    ring->own_offset = from;
    ring->starting = first;
    ring->starting_end = end;
    return FTC_SUCCESS;
}

static int right_of(const struct ftc_ring_allreduce *ring)
{
    return ring->set.self + 1 < ring->set.ranks ? ring->set.self + 1 : 0;
}

static struct ftc_ring_allreduce_output start_block(const struct ftc_ring_allreduce *ring,
                                                    uint32_t b)
{
    struct ftc_value value = {.buffer = ftc_buffer_ref(ring->own),
                              .offset = block_offset(ring, b) - ring->own_offset,
                              .size = block_size(ring, b)};
    return (struct ftc_ring_allreduce_output){
        .to = right_of(ring), .block = b, .hop = 0, .value = value};
}

bool ftc_ring_allreduce_next_output(struct ftc_ring_allreduce *ring,
                                    struct ftc_ring_allreduce_output *output)
{
    ftc_value_drop(&ring->current);
    if (ring->forwards) {
        *output = ring->forward;
        ring->forwards = false;
        ring->forward.value = (struct ftc_value){0};
    } else if (ring->starting < ring->starting_end) {
        *output = start_block(ring, ring->starting++);
    } else {
        return false;
    }
    ring->current = output->value;
    return true;
}

/* --- in --- */

/* Is this hop of the block, to this rank, still to come? */
static bool awaits(const struct ftc_ring_allreduce *ring, uint32_t b, uint32_t hop)
{
    uint32_t behind = distance(ring, b), last = (uint32_t)ring->set.ranks - 1;
    const struct block *block = &ring->block[b];

    if (!block->passed)
        return behind > 0 && hop == behind - 1;
    return behind < last && hop == last + behind && !block->whole;
}

/* Writes the result to the caller's memory while its bytes are in the cache. */
static void finish(struct ftc_ring_allreduce *ring, uint32_t b, const struct ftc_value *value)
{
    struct block *block = &ring->block[b];

    block->whole = true;
    ring->missing--;
    if (ring->set.result != NULL)
        memcpy((unsigned char *)ring->set.result + block_offset(ring, b), ftc_value_bytes(value),
               value->size);
    else
        ftc_value_set(&block->result, value);
}

static void take(struct ftc_ring_allreduce *ring, uint32_t b, uint32_t hop,
                 const struct ftc_value *value)
{
    /* The distance of the last rank that combines. */
    uint32_t last = (uint32_t)ring->set.ranks - 1;
    struct block *block = &ring->block[b];

    block->passed = true;
    if (hop < last)
        ring->set.combine(ring->set.combine_arg,
                          (const unsigned char *)ring->set.input + block_offset(ring, b),
                          ftc_value_bytes(value), value->size);
    if (hop + 1 >= last)
        finish(ring, b, value);
    if (hop + 1 == 2 * last)
        return;
    assert(!ring->forwards);
    ring->forward.to = right_of(ring);
    ring->forward.block = b;
    ring->forward.hop = hop + 1;
    ftc_value_set(&ring->forward.value, value);
    ring->forwards = true;
}

int ftc_ring_allreduce_receive(struct ftc_ring_allreduce *ring, int from, uint32_t block,
                               uint32_t hop, const struct ftc_value *value)
{
    int left = ring->set.self > 0 ? ring->set.self - 1 : ring->set.ranks - 1;

    if (ring->set.ranks == 1 || from != left || block >= ring->blocks || value->buffer == NULL ||
        value->size != block_size(ring, block) || !awaits(ring, block, hop))
        return ftc_error_set(
            FTC_ERR_PROTO,
            "rank %d of the ring sent hop %u of block %u (%zu bytes), which is not awaited", from,
            hop, block, value->size);
    take(ring, block, hop, value);
    return FTC_SUCCESS;
}
