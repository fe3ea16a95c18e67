/* Which exchange a call has. */
#include "collectives/large/exchange.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectives/large/internal.h"

/* --- kinds --- */

static const struct ftc_large_exchange_ops *const exchanges[FTC_CALL_KINDS] = {
    [FTC_CALL_ALLREDUCE] = &ftc_ring_reduce_ops,
    [FTC_CALL_REDUCE] = &ftc_ring_reduce_ops,
    [FTC_CALL_BCAST] = &ftc_ring_reduce_ops,
    [FTC_CALL_REDUCE_SCATTER] = &ftc_ring_reduce_ops,
    [FTC_CALL_ALLGATHER] = &ftc_ring_gather_ops,
    [FTC_CALL_GATHER] = &ftc_pairwise_ops,
    [FTC_CALL_SCATTER] = &ftc_pairwise_ops,
    [FTC_CALL_ALLTOALL] = &ftc_pairwise_ops,
    [FTC_CALL_SCAN] = &ftc_chain_ops,
    [FTC_CALL_EXSCAN] = &ftc_chain_ops};

/* The ring combines blocks in an order that begins anywhere. */
bool ftc_large_exchange_exists(const struct ftc_signature *signature)
{
    const struct ftc_large_exchange_ops *ops =
        signature->kind < FTC_CALL_KINDS ? exchanges[signature->kind] : NULL;

    return ops != NULL &&
           !(ops == &ftc_ring_reduce_ops && signature->operator_code == FTC_OPERATOR_ORDERED);
}

/* --- life --- */

static int check(const struct ftc_large_exchange_settings *set)
{
    size_t size = set->call->signature.size;

    if (set->self < 0 || set->self >= set->places)
        return ftc_error_set(FTC_ERR_ARG, "place %d of %d: 0 to the number of places - 1 is needed",
                             set->self, set->places);
    if (set->element == 0 || size == 0 || size % set->element != 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "%zu bytes of elements of %zu: whole ones are needed, at least one",
                             size, set->element);
    if (set->block_least == 0 || set->block_most < set->block_least || set->part_most == 0 ||
        set->window < 1)
        return ftc_error_set(FTC_ERR_ARG, "%d blocks of %zu to %zu bytes: there are none",
                             set->window, set->block_least, set->block_most);
    return FTC_SUCCESS;
}

int ftc_large_exchange_create(struct ftc_large_exchange **out,
                              const struct ftc_large_exchange_settings *settings)
{
    const struct ftc_large_exchange_ops *ops = exchanges[settings->call->signature.kind];
    struct ftc_large_exchange *exchange = NULL;
    int rc = check(settings);

    assert(ftc_large_exchange_exists(&settings->call->signature));
    if (rc == FTC_SUCCESS)
        rc = ops->create(&exchange, settings);
    if (exchange != NULL)
        exchange->ops = ops;
    if (rc != FTC_SUCCESS) {
        ftc_large_exchange_destroy(exchange);
        return rc;
    }
    *out = exchange;
    return FTC_SUCCESS;
}

void ftc_large_exchange_destroy(struct ftc_large_exchange *exchange)
{
    if (exchange == NULL)
        return;
    exchange->ops->destroy(exchange);
    for (size_t i = exchange->queue_first; i < exchange->queued; i++)
        ftc_value_drop(&exchange->queue[i].value);
    free(exchange->queue);
    ftc_value_drop(&exchange->current);
    while (exchange->lent_count > 0)
        ftc_buffer_unref(exchange->lent[--exchange->lent_count]);
    free(exchange->lent);
    free(exchange);
}

int ftc_large_exchange_start(struct ftc_large_exchange *exchange)
{
    return exchange->set.places > 1 ? exchange->ops->start(exchange) : FTC_SUCCESS;
}

int ftc_large_exchange_receive(struct ftc_large_exchange *exchange, int from,
                               const struct ftc_large_tag *tag, const struct ftc_value *value)
{
    if (from < 0 || from >= exchange->set.places || from == exchange->set.self)
        return ftc_large_unawaited(from, tag, value);
    return exchange->ops->receive(exchange, from, tag, value);
}

bool ftc_large_exchange_whole(const struct ftc_large_exchange *exchange)
{
    return exchange->set.places == 1 || exchange->ops->whole(exchange);
}

int ftc_large_exchange_awaited(const struct ftc_large_exchange *exchange)
{
    return exchange->ops->awaited(exchange);
}

void ftc_large_exchange_finish(const struct ftc_large_exchange *exchange,
                               const struct ftc_set *failed, void *to)
{
    exchange->ops->finish(exchange, failed, to);
}

bool ftc_large_exchange_next_output(struct ftc_large_exchange *exchange,
                                    struct ftc_large_block_output *output)
{
    ftc_value_drop(&exchange->current);
    if (exchange->queue_first == exchange->queued) {
        exchange->queue_first = exchange->queued = 0;
        return false;
    }
    *output = exchange->queue[exchange->queue_first++];
    exchange->current = output->value;
    return true;
}
