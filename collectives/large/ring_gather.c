/*
 * Allgather round a ring: each contribution, cut into blocks, travels from its rank to the right,
 * past all others. Each link carries all contributions but one. With contributions of l bytes it
 * takes (N-1) alpha + (N-1) l beta (Thakur, Rabenseifner, Gropp 2005, "ring algorithm"), and
 * somewhat more if they differ in size.
 *
 * A tag has the number of the block, in `hop` the place of the contribution, and in `size` the
 * bytes of all the contribution, since only its rank knows them.
 */
#include <stdlib.h>

#include "collectives/large/internal.h"
#include "include/ftcoll.h"

struct ftc_ring_gather {
    struct ftc_large_exchange base;
    int missing;                    /* contributions that are not all here */
    struct ftc_large_blocks from[]; /* the contribution of each place but this one */
};

static int create(struct ftc_large_exchange **out,
                  const struct ftc_large_exchange_settings *settings)
{
    struct ftc_ring_gather *ring = ftc_large_exchange_new(
        sizeof(*ring) + (size_t)settings->places * sizeof(ring->from[0]), settings);

    if (ring == NULL)
        return FTC_ERR_NOMEM;
    ring->missing = settings->places - 1;
    *out = &ring->base;
    return FTC_SUCCESS;
}

static void destroy(struct ftc_large_exchange *exchange)
{
    struct ftc_ring_gather *ring = (struct ftc_ring_gather *)exchange;

    for (int place = 0; place < exchange->set.places; place++)
        ftc_large_blocks_close(&ring->from[place]);
}

static int left_of(const struct ftc_large_exchange *exchange)
{
    return exchange->set.self > 0 ? exchange->set.self - 1 : exchange->set.places - 1;
}

static int right_of(const struct ftc_large_exchange *exchange)
{
    return exchange->set.self + 1 < exchange->set.places ? exchange->set.self + 1 : 0;
}

static int start(struct ftc_large_exchange *exchange)
{
    size_t size = exchange->set.call->input_size, most = exchange->set.block_most;
    uint32_t blocks = ftc_large_blocks_count(size, most);
    struct ftc_value own = {0};
    int rc = ftc_large_copy_input(exchange, 0, size, &own);

    for (uint32_t b = 0; b < blocks && rc == FTC_SUCCESS; b++) {
        size_t offset = (size_t)b * most;
        struct ftc_value block = {.buffer = own.buffer,
                                  .offset = offset,
                                  .size = size - offset < most ? size - offset : most};
        rc = ftc_large_put(
            exchange, right_of(exchange),
            (struct ftc_large_tag){.block = b, .hop = (uint32_t)exchange->set.self, .size = size},
            &block);
    }
    ftc_value_drop(&own);
    return rc;
}

/* Can the contribution be of this size? That is so if its size is known already, too. */
static int open(struct ftc_ring_gather *ring, int from, const struct ftc_large_tag *tag,
                const struct ftc_value *value)
{
    const struct ftc_large_exchange_settings *set = &ring->base.set;
    bool known = tag->hop < (uint32_t)set->places && tag->hop != (uint32_t)set->self;

    if (!known || tag->size > set->call->signature.size)
        return ftc_large_unawaited(from, tag, value);
    struct ftc_large_blocks *blocks = &ring->from[tag->hop];
    if (blocks->count == 0)
        return ftc_large_blocks_open(blocks, (size_t)tag->size, set->block_most);
    return blocks->size == tag->size ? 0 : ftc_large_unawaited(from, tag, value);
}

static int receive(struct ftc_large_exchange *exchange, int from, const struct ftc_large_tag *tag,
                   const struct ftc_value *value)
{
    struct ftc_ring_gather *ring = (struct ftc_ring_gather *)exchange;

    if (from != left_of(exchange))
        return ftc_large_unawaited(from, tag, value);
    int rc = open(ring, from, tag, value);
    if (rc != 0)
        return rc;
    struct ftc_large_blocks *blocks = &ring->from[tag->hop];
    if (!ftc_large_blocks_add(blocks, tag->block, value))
        return ftc_large_unawaited(from, tag, value);
    ring->missing -= ftc_large_blocks_complete(blocks);
    return (int)tag->hop == right_of(exchange)
               ? 0
               : ftc_large_put(exchange, right_of(exchange), *tag, value);
}

static bool whole(const struct ftc_large_exchange *exchange)
{
    return ((const struct ftc_ring_gather *)exchange)->missing == 0;
}

static void finish(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                   void *to)
{
    const struct ftc_ring_gather *ring = (const struct ftc_ring_gather *)exchange;

    ftc_large_take_all(exchange, failed, ring->from, to);
}

const struct ftc_large_exchange_ops ftc_ring_gather_ops = {.create = create,
                                                           .destroy = destroy,
                                                           .start = start,
                                                           .receive = receive,
                                                           .whole = whole,
                                                           .awaited = left_of,
                                                           .finish = finish};
