/* The parts that exchanges have in common: outputs, blocks that come, and contributions that are
 * taken. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/large/internal.h"
#include "collectives/large/mutation.h"

void *ftc_large_exchange_new(size_t size, const struct ftc_large_exchange_settings *settings)
{
    struct ftc_large_exchange *exchange = calloc(1, size);

    if (exchange == NULL) {
        (void)ftc_error_set(FTC_ERR_NOMEM, "no memory for a large value among %d ranks",
                            settings->places);
        return NULL;
    }
    exchange->set = *settings;
    return exchange;
}

/* --- out --- */

/* Makes room for one more output. */
static bool has_room(struct ftc_large_exchange *exchange)
{
    size_t room = exchange->queue_room > 0 ? 2 * exchange->queue_room : 8;

    if (exchange->queued < exchange->queue_room)
        return true;
    struct ftc_large_block_output *queue =
        realloc(exchange->queue, room * sizeof(exchange->queue[0]));
    if (queue == NULL)
        return false;
    exchange->queue = queue;
    exchange->queue_room = room;
    return true;
}

int ftc_large_put(struct ftc_large_exchange *exchange, int to, struct ftc_large_tag tag,
                  const struct ftc_value *value)
{
    if (!has_room(exchange))
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a message to place %d", to);
    struct ftc_large_block_output *output = &exchange->queue[exchange->queued++];
    *output = (struct ftc_large_block_output){.to = to, .tag = tag};
    ftc_value_set(&output->value, value);
    return FTC_SUCCESS;
}

int ftc_large_copy(const struct ftc_large_exchange *exchange, const void *bytes, size_t size,
                   struct ftc_value *copy)
{
    *copy =
        (struct ftc_value){.buffer = ftc_buffer_pool_take(exchange->set.pool, size), .size = size};
    if (copy->buffer == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %zu bytes of a large value", size);
    if (size > 0)
        memcpy(copy->buffer->data, bytes, size);
    return FTC_SUCCESS;
}

int ftc_large_copy_input(const struct ftc_large_exchange *exchange, size_t offset, size_t size,
                         struct ftc_value *copy)
{
    const unsigned char *input = exchange->set.call->input;

    return ftc_large_copy(exchange, size > 0 ? input + offset : NULL, size, copy);
}

static bool make_room_to_lend(struct ftc_large_exchange *exchange)
{
    size_t room = exchange->lent_room > 0 ? 2 * exchange->lent_room : 8;

    if (exchange->lent_count < exchange->lent_room)
        return true;
    struct ftc_buffer **lent = realloc(exchange->lent, room * sizeof(exchange->lent[0]));
    if (lent == NULL)
        return false;
    exchange->lent = lent;
    exchange->lent_room = room;
    return true;
}

int ftc_large_lend(struct ftc_large_exchange *exchange, const void *bytes, size_t size,
                   struct ftc_value *value)
{
    if (size == 0 || size < exchange->set.lent_least)
        return ftc_large_copy(exchange, bytes, size, value);
    *value = (struct ftc_value){.size = size};
    if (!make_room_to_lend(exchange) || (value->buffer = ftc_buffer_lend(bytes, size)) == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a block of a large value");
    exchange->lent[exchange->lent_count++] = ftc_buffer_ref(value->buffer);
    return FTC_SUCCESS;
}

int ftc_large_exchange_settle(struct ftc_large_exchange *exchange)
{
    while (exchange->lent_count > 0 && !FTC_LARGE_MUTATED(UNSETTLED)) {
        if (!ftc_buffer_keep(exchange->lent[exchange->lent_count - 1], exchange->set.pool))
            return ftc_error_set(FTC_ERR_NOMEM, "no memory for blocks that wait to be sent");
        exchange->lent_count--;
    }
    return FTC_SUCCESS;
}

int ftc_large_place_of(const struct ftc_large_exchange_settings *set, int rank)
{
    for (int place = 0; place < set->places; place++)
        if (set->rank[place] == rank)
            return place;
    return -1;
}

size_t ftc_large_block_size(const struct ftc_large_exchange_settings *set, size_t wanted)
{
    return wanted < set->element ? set->element : wanted - wanted % set->element;
}

/* --- areas --- */

unsigned char *ftc_large_area(const struct ftc_large_exchange_settings *set, int place)
{
    const struct ftc_large_nodes *nodes = set->nodes;
    return nodes->areas + (size_t)(set->rank[place] - nodes->lowest) * nodes->stride;
}

/* Where a half begins in an area. */
static size_t half_offset(const struct ftc_large_nodes *nodes, bool other)
{
    return nodes->room + (other && !FTC_LARGE_MUTATED(ONE_HALF) ? nodes->apart : 0);
}

unsigned char *ftc_large_half(const struct ftc_large_exchange_settings *set, int place)
{
    return ftc_large_area(set, place) + half_offset(set->nodes, set->half);
}

int ftc_large_reserve_halves(const struct ftc_large_nodes *nodes, size_t size)
{
    int rc = nodes->reserve(nodes->arg, half_offset(nodes, false), size);

    return rc == FTC_SUCCESS ? nodes->reserve(nodes->arg, half_offset(nodes, true), size) : rc;
}

/* --- in --- */

int ftc_large_unawaited(int from, const struct ftc_large_tag *tag, const struct ftc_value *value)
{
    return ftc_error_set(FTC_ERR_PROTO,
                         "place %d sent block %u, hop %u (%zu bytes), which is not awaited", from,
                         tag->block, tag->hop, value->size);
}

uint32_t ftc_large_blocks_count(size_t size, size_t block)
{
    return size == 0 ? 1 : (uint32_t)((size - 1) / block + 1);
}

int ftc_large_blocks_open(struct ftc_large_blocks *blocks, size_t size, size_t block)
{
    uint32_t count = ftc_large_blocks_count(size, block);

    blocks->here = calloc(count, sizeof(blocks->here[0]));
    if (blocks->memory == NULL)
        blocks->value = calloc(count, sizeof(blocks->value[0]));
    if (blocks->here == NULL || (blocks->memory == NULL && blocks->value == NULL))
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a large value of %u blocks", count);
    blocks->size = size;
    blocks->block = block;
    blocks->count = blocks->missing = count;
    return FTC_SUCCESS;
}

void ftc_large_blocks_close(struct ftc_large_blocks *blocks)
{
    for (uint32_t b = 0; b < blocks->count && blocks->value != NULL; b++)
        ftc_value_drop(&blocks->value[b]);
    free(blocks->value);
    free(blocks->here);
}

size_t ftc_large_blocks_size(const struct ftc_large_blocks *blocks, uint32_t b)
{
    size_t before = (size_t)b * blocks->block, rest = blocks->size - before;

    return rest < blocks->block ? rest : blocks->block;
}

bool ftc_large_blocks_add(struct ftc_large_blocks *blocks, uint32_t b,
                          const struct ftc_value *value)
{
    if (b >= blocks->count || blocks->here == NULL || blocks->here[b] || value->buffer == NULL ||
        value->size != ftc_large_blocks_size(blocks, b))
        return false;
    if (blocks->memory == NULL)
        ftc_value_set(&blocks->value[b], value);
    else if (value->size > 0)
        memcpy(blocks->memory + (size_t)b * blocks->block, ftc_value_bytes(value), value->size);
    blocks->here[b] = true;
    blocks->missing--;
    return true;
}

/* --- the result --- */

static void take(const struct ftc_call *call, int rank, const struct ftc_large_blocks *blocks,
                 bool first, void *to)
{
    if (blocks->memory != NULL && blocks->size > 0)
        call->take(call->take_arg, rank, blocks->begin, blocks->memory, blocks->size, first, to);
    for (uint32_t b = 0; b < blocks->count && blocks->value != NULL; b++)
        if (blocks->value[b].size > 0)
            call->take(call->take_arg, rank, blocks->begin + (size_t)b * blocks->block,
                       ftc_value_bytes(&blocks->value[b]), blocks->value[b].size, first, to);
}

/* Takes this rank's offsets of a contribution that begins with offsets. Only what is behind them
 * has come. */
static void take_bounds(const struct ftc_large_exchange *exchange, int place, size_t begin,
                        size_t size, bool first, void *to)
{
    const struct ftc_call *call = exchange->set.call;
    int self = exchange->set.rank[exchange->set.self];
    uint64_t bounds[2] = {begin, begin + size};

    if (call->signature.kind == FTC_CALL_ALLTOALL && call->parts != NULL)
        call->take(call->take_arg, exchange->set.rank[place], (size_t)self * sizeof(uint64_t),
                   bounds, sizeof(bounds), first, to);
}

/* Returns how many bytes this rank's own part has. */
static size_t take_own(const struct ftc_large_exchange *exchange, bool first, void *to)
{
    const struct ftc_large_exchange_settings *set = &exchange->set;
    const struct ftc_call *call = set->call;
    size_t begin = 0, size = call->input_size;
    int rank = set->rank[set->self];

    if (call->signature.kind == FTC_CALL_ALLTOALL)
        ftc_call_part(call, set->ranks, rank, &begin, &size);
    take_bounds(exchange, set->self, begin, size, first, to);
    if (size > 0)
        call->take(call->take_arg, rank, begin, (const unsigned char *)call->input + begin, size,
                   first, to);
    return size;
}

void ftc_large_take_all(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                        const struct ftc_large_blocks *from, void *to)
{
    const struct ftc_large_exchange_settings *set = &exchange->set;
    bool first = true;

    for (int place = set->places - 1; place >= 0; place--) {
        int rank = set->rank[place];
        if (ftc_set_has(failed, rank) && !FTC_LARGE_MUTATED(TAKE_NAMED))
            continue;
        size_t size = from[place].size;
        if (place == set->self) {
            size = take_own(exchange, first, to);
        } else {
            take_bounds(exchange, place, from[place].begin, from[place].size, first, to);
            take(set->call, rank, &from[place], first, to);
        }
        first = first && size == 0;
    }
}

void ftc_large_blocks_copy(const struct ftc_large_blocks *blocks, void *to)
{
    if (blocks->memory != NULL && blocks->size > 0)
        memcpy(to, blocks->memory, blocks->size);
    for (uint32_t b = 0; b < blocks->count && blocks->value != NULL; b++)
        if (blocks->value[b].size > 0)
            memcpy((unsigned char *)to + (size_t)b * blocks->block,
                   ftc_value_bytes(&blocks->value[b]), blocks->value[b].size);
}
