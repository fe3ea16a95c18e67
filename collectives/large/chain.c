/*
 * Scan and exscan along the chain of places. Place 0 sends its input to place 1. Each other place
 * receives block by block the combination of all inputs before its own, the prefix, combines its
 * own with it, and sends the combination on. So the operator need not commute. With B blocks of l/B
 * bytes the last place has its result after B + N - 2 steps (Sanders, Traeff 2006, call it a linear
 * pipeline). Each link carries the value once.
 *
 * A tag has the number of the block.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/large/internal.h"
#include "include/ftcoll.h"

struct ftc_chain {
    struct ftc_large_exchange base;
    size_t block;
    struct ftc_large_blocks result; /* of a scan: with this rank's input; of an exscan: without */
};

static const struct ftc_chain *chain_of(const struct ftc_large_exchange *exchange)
{
    return (const struct ftc_chain *)exchange;
}

static int create(struct ftc_large_exchange **out,
                  const struct ftc_large_exchange_settings *settings)
{
    struct ftc_chain *chain = ftc_large_exchange_new(sizeof(*chain), settings);
    size_t size = settings->call->signature.size, block = size / (size_t)settings->places;

    if (chain == NULL)
        return FTC_ERR_NOMEM;
    *out = &chain->base;
    block = block < settings->block_least ? settings->block_least : block;
    block = block > settings->block_most ? settings->block_most : block;
    chain->block = ftc_large_block_size(settings, block);
    return ftc_large_blocks_open(&chain->result, size, chain->block);
}

static void destroy(struct ftc_large_exchange *exchange)
{
    ftc_large_blocks_close(&((struct ftc_chain *)exchange)->result);
}

static int send_on(struct ftc_chain *chain, uint32_t b, const struct ftc_value *value)
{
    return ftc_large_put(&chain->base, chain->base.set.self + 1, (struct ftc_large_tag){.block = b},
                         value);
}

static int copy_own(struct ftc_chain *chain, uint32_t b, struct ftc_value *own)
{
    return ftc_large_copy_input(&chain->base, (size_t)b * chain->block,
                                ftc_large_blocks_size(&chain->result, b), own);
}

static int start(struct ftc_large_exchange *exchange)
{
    struct ftc_chain *chain = (struct ftc_chain *)exchange;
    int rc = FTC_SUCCESS;

    for (uint32_t b = 0; b < chain->result.count && exchange->set.self == 0 && rc == FTC_SUCCESS;
         b++) {
        struct ftc_value own = {0};
        rc = copy_own(chain, b, &own);
        if (rc == FTC_SUCCESS)
            rc = send_on(chain, b, &own);
        ftc_value_drop(&own);
    }
    return rc;
}

/* Sets *sum to "prefix op own block". */
static int combine(struct ftc_chain *chain, uint32_t b, const struct ftc_value *prefix,
                   struct ftc_value *sum)
{
    const struct ftc_call *call = chain->base.set.call;
    int rc = copy_own(chain, b, sum);

    if (rc == FTC_SUCCESS)
        call->combine(call->combine_arg, ftc_value_bytes(prefix), ftc_value_bytes(sum), sum->size);
    return rc;
}

static int receive(struct ftc_large_exchange *exchange, int from, const struct ftc_large_tag *tag,
                   const struct ftc_value *value)
{
    struct ftc_chain *chain = (struct ftc_chain *)exchange;
    bool scans = exchange->set.call->signature.kind == FTC_CALL_SCAN;
    bool last = exchange->set.self == exchange->set.places - 1;
    struct ftc_value sum = {0};

    if (from != exchange->set.self - 1 || tag->hop != 0 ||
        !ftc_large_blocks_add(&chain->result, tag->block, value))
        return ftc_large_unawaited(from, tag, value);
    int rc = scans || !last ? combine(chain, tag->block, value, &sum) : FTC_SUCCESS;
    if (rc == FTC_SUCCESS && scans)
        ftc_value_set(&chain->result.value[tag->block], &sum);
    if (rc == FTC_SUCCESS && !last)
        rc = send_on(chain, tag->block, &sum);
    ftc_value_drop(&sum);
    return rc;
}

static bool whole(const struct ftc_large_exchange *exchange)
{
    return exchange->set.self == 0 || ftc_large_blocks_complete(&chain_of(exchange)->result);
}

static int awaited(const struct ftc_large_exchange *exchange)
{
    return exchange->set.self - 1;
}

/* The first place of an exscan gets nothing. No rank of the chain is in `failed` (large.c). */
static void finish(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                   void *to)
{
    const struct ftc_call *call = exchange->set.call;

    (void)failed;
    if (exchange->set.self > 0)
        ftc_large_blocks_copy(&chain_of(exchange)->result, to);
    else if (call->signature.kind == FTC_CALL_SCAN)
        memmove(to, call->input, call->signature.size);
}

const struct ftc_large_exchange_ops ftc_chain_ops = {.create = create,
                                                     .destroy = destroy,
                                                     .start = start,
                                                     .receive = receive,
                                                     .whole = whole,
                                                     .awaited = awaited,
                                                     .finish = finish};
