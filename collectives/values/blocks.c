/* Lists of blocks: making, merging, checking and taking them. */
#include "collectives/values/blocks.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "collectives/mutation.h"
#include "include/ftcoll.h"

#define COUNT_SIZE sizeof(uint32_t)
#define ENTRY_SIZE (2 * sizeof(uint32_t)) /* rank and size of a block */

static uint32_t read_word(const unsigned char *at)
{
    uint32_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

static void write_word(unsigned char *at, size_t word)
{
    uint32_t bits = (uint32_t)word;

    memcpy(at, &bits, sizeof(bits));
}

static size_t table_size(uint32_t count)
{
    return COUNT_SIZE + (size_t)count * ENTRY_SIZE;
}

/* Where a block of this size begins if the bytes before it end at `offset`. */
static size_t place(size_t offset, size_t size)
{
    size_t power = size & (~size + 1);
    size_t alignment = power == 0 ? 1 : power > FTC_VALUE_ALIGNMENT ? FTC_VALUE_ALIGNMENT : power;

    return (offset + alignment - 1) & ~(alignment - 1);
}

/* --- walking --- */

struct ftc_blocks ftc_blocks_begin(const struct ftc_value *list)
{
    struct ftc_blocks b = {.bytes = ftc_value_bytes(list), .size = list->size, .last = INT64_MAX};

    if (b.bytes == NULL || b.size < COUNT_SIZE)
        return b;
    b.count = read_word(b.bytes);
    b.sound = b.count <= (b.size - COUNT_SIZE) / ENTRY_SIZE;
    b.offset = b.sound ? table_size(b.count) : 0;
    return b;
}

bool ftc_blocks_next(struct ftc_blocks *b, struct ftc_block *block)
{
    if (!b->sound || b->at == b->count)
        return false;
    const unsigned char *entry = b->bytes + table_size(b->at);
    uint32_t rank = read_word(entry);
    size_t size = read_word(entry + sizeof(rank)), start = place(b->offset, size);

    b->sound = rank <= INT_MAX && rank < b->last && start <= b->size && size <= b->size - start;
    if (!b->sound)
        return false;
    *block = (struct ftc_block){.rank = (int)rank, .size = size, .bytes = b->bytes + start};
    b->last = rank;
    b->offset = start + size;
    b->at++;
    return true;
}

int ftc_blocks_count(const struct ftc_value *list)
{
    struct ftc_blocks walk = ftc_blocks_begin(list);
    struct ftc_block block;
    int count = 0;

    while (ftc_blocks_next(&walk, &block))
        count++;
    return count;
}

size_t ftc_blocks_head(const struct ftc_value *list)
{
    struct ftc_blocks walk = ftc_blocks_begin(list);
    struct ftc_block first;

    return ftc_blocks_next(&walk, &first) ? (size_t)(first.bytes - walk.bytes) : 0;
}

/* --- checking --- */

static bool all_zero(const unsigned char *bytes, const unsigned char *end)
{
    while (bytes < end && *bytes == 0)
        bytes++;
    return bytes >= end;
}

bool ftc_blocks_sound(const struct ftc_value *list, const struct ftc_set *ranks, uint64_t most)
{
    struct ftc_blocks walk = ftc_blocks_begin(list);
    const unsigned char *end = walk.bytes + walk.offset;
    struct ftc_block block;

    if (FTC_MUTATED(BLOCKS_UNCHECKED))
        return true;
    while (ftc_blocks_next(&walk, &block)) {
        if (block.rank >= ranks->size || !ftc_set_has(ranks, block.rank) || block.size > most ||
            !all_zero(end, block.bytes))
            return false;
        end = block.bytes + block.size;
    }
    return walk.sound && walk.count > 0 && walk.offset == walk.size;
}

uint64_t ftc_blocks_most(int ranks, uint64_t size)
{
    uint64_t each = ENTRY_SIZE + FTC_VALUE_ALIGNMENT; /* padding is shorter than an alignment */

    assert(size <= FTC_BLOCK_MOST);
    return COUNT_SIZE + (uint64_t)ranks * (each + size);
}

/* --- making --- */

/* Puts a block, as number `at`, behind the bytes that end at `offset`. Returns where it ends.
 * `bytes`: NULL: it is only measured. */
static size_t put(unsigned char *bytes, uint32_t at, size_t offset, const struct ftc_block *block)
{
    size_t start = place(offset, block->size);

    if (bytes != NULL) {
        write_word(bytes + table_size(at), (size_t)block->rank);
        write_word(bytes + table_size(at) + sizeof(uint32_t), block->size);
        memset(bytes + offset, 0, start - offset);
        if (block->size > 0)
            memcpy(bytes + start, block->bytes, block->size);
    }
    return start + block->size;
}

static size_t put_all(const struct ftc_block *block, int count, unsigned char *bytes)
{
    size_t offset = table_size((uint32_t)count);

    for (int at = 0; at < count; at++)
        offset = put(bytes, (uint32_t)at, offset, &block[at]);
    return offset;
}

int ftc_blocks_make(struct ftc_value *list, const struct ftc_block *block, int count)
{
    size_t size = put_all(block, count, NULL);
    struct ftc_buffer *buffer = ftc_buffer_new(size);

    if (buffer == NULL)
        return FTC_ERR_NOMEM;
    write_word(buffer->data, (size_t)count);
    put_all(block, count, buffer->data);
    *list = (struct ftc_value){.buffer = buffer, .size = size};
    return FTC_SUCCESS;
}

/* --- merging --- */

/* Two lists that are walked side by side. */
struct pair {
    struct ftc_blocks walk[2];
    struct ftc_block block[2]; /* the next of each list */
    bool has[2];
};

static void step(struct pair *p, int which)
{
    do
        p->has[which] = ftc_blocks_next(&p->walk[which], &p->block[which]);
    while (FTC_MUTATED(BLOCKS_EMPTY_LEFT_OUT) && p->has[which] && p->block[which].size == 0);
}

static struct pair pair_begin(const struct ftc_value *a, const struct ftc_value *b)
{
    struct pair p = {.walk = {ftc_blocks_begin(a), ftc_blocks_begin(b)}};

    step(&p, 0);
    step(&p, 1);
    return p;
}

/* Gives the block of the highest rank that is left. */
static bool pick(struct pair *p, struct ftc_block *block)
{
    bool both = p->has[0] && p->has[1];
    int which = !p->has[0] || (both && p->block[1].rank > p->block[0].rank);

    if (FTC_MUTATED(BLOCKS_UNORDERED))
        which = !p->has[0];
    if (!p->has[which] || (FTC_MUTATED(BLOCKS_LOST) && !both))
        return false;
    *block = p->block[which];
    if (both && p->block[0].rank == p->block[1].rank)
        step(p, 1);
    step(p, which);
    return true;
}

/* The same for the blocks of both lists. */
static size_t put_pair(struct pair p, uint32_t count, unsigned char *bytes)
{
    size_t offset = table_size(count);
    struct ftc_block block;

    for (uint32_t at = 0; pick(&p, &block); at++)
        offset = put(bytes, at, offset, &block);
    return offset;
}

int ftc_blocks_merge(struct ftc_value *list, const struct ftc_value *a, const struct ftc_value *b)
{
    struct pair begin = pair_begin(a, b), p = begin;
    struct ftc_block block;
    uint32_t count = 0;

    while (pick(&p, &block))
        count++;
    if (!p.walk[0].sound || !p.walk[1].sound)
        return FTC_ERR_PROTO;
    size_t size = put_pair(begin, count, NULL);
    struct ftc_buffer *buffer = ftc_buffer_new(size);
    if (buffer == NULL)
        return FTC_ERR_NOMEM;
    write_word(buffer->data, count);
    put_pair(begin, count, buffer->data);
    *list = (struct ftc_value){.buffer = buffer, .size = size};
    return FTC_SUCCESS;
}

/* --- taking --- */

int ftc_blocks_take(const struct ftc_value *list, const struct ftc_set *failed,
                    const struct ftc_call *call, void *result)
{
    struct ftc_blocks walk = ftc_blocks_begin(list);
    struct ftc_block block;
    bool first = true;

    if (list->buffer == NULL)
        return FTC_SUCCESS;
    while (ftc_blocks_next(&walk, &block)) {
        bool dropped = block.rank < failed->size && ftc_set_has(failed, block.rank);
        if (dropped && !FTC_MUTATED(BLOCKS_OF_FAILED))
            continue;
        call->take(call->take_arg, block.rank, 0, block.bytes, block.size, first, result);
        first = false;
    }
    return walk.sound ? FTC_SUCCESS : FTC_ERR_PROTO;
}

int ftc_slice_take(const struct ftc_value *value, const struct ftc_call *call, void *result)
{
    if (call->slice_offset > value->size || call->slice_size > value->size - call->slice_offset)
        return FTC_ERR_PROTO;
    if (call->slice_size > 0)
        memcpy(result, ftc_value_bytes(value) + call->slice_offset, call->slice_size);
    return FTC_SUCCESS;
}
