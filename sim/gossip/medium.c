/* The messages of a simulated aggregation on their way. */
#include "sim/gossip/medium.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/gossip/inputs.h"

const char *ftc_gossip_cost_name(enum ftc_gossip_cost cost)
{
    static const char *const names[FTC_GOSSIP_COSTS] = {"constant", "random", "hops"};
    return (unsigned)cost < FTC_GOSSIP_COSTS ? names[cost] : "?";
}

int ftc_medium_init(struct ftc_medium *medium, enum ftc_gossip_cost cost, bool near, int ranks,
                    uint64_t seed)
{
    const struct ftc_distance_settings torus = {.kind = FTC_DISTANCE_TORUS};

    medium->cost = cost;
    ftc_queue_init(&medium->queue);
    return cost == FTC_GOSSIP_HOPS && !near
               ? ftc_distance_init(&medium->distance, &torus, ranks, seed)
               : 0;
}

void ftc_medium_fini(struct ftc_medium *medium)
{
    struct ftc_event event;

    while (ftc_queue_pop(&medium->queue, &event))
        free(event.item);
    ftc_queue_fini(&medium->queue);
    ftc_distance_fini(&medium->distance);
}

static uint64_t cost_of(struct ftc_medium *medium, int from, int to)
{
    if (medium->cost == FTC_GOSSIP_RANDOM)
        return (uint64_t)(ftc_gossip_random_exponential(medium->random) * FTC_GOSSIP_TICKS);
    if (medium->cost == FTC_GOSSIP_HOPS && medium->distance.node != NULL)
        return (uint64_t)ftc_distance_hops(&medium->distance, from, to) * FTC_GOSSIP_TICKS;
    return FTC_GOSSIP_TICKS;
}

bool ftc_medium_loses(struct ftc_medium *medium)
{
    return medium->loss > 0 && ftc_gossip_random_real(medium->random) < medium->loss;
}

int ftc_medium_send(struct ftc_medium *medium, int kind, int from, int to, const void *bytes,
                    size_t size, uint64_t *earliest)
{
    if (ftc_medium_loses(medium))
        return 0;
    struct ftc_packet *packet = malloc(sizeof(*packet) + size);
    if (packet == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a message");
    packet->size = size;
    memcpy(packet->bytes, bytes, size);
    uint64_t at = medium->now + cost_of(medium, from, to);
    if (earliest != NULL)
        at = *earliest = at > *earliest ? at : *earliest;
    int rc = ftc_queue_push(&medium->queue, &(struct ftc_event){.key = at,
                                                                .rank = (uint32_t)to,
                                                                .other = (uint32_t)from,
                                                                .kind = (uint32_t)kind & 15,
                                                                .item = packet});
    if (rc != 0)
        free(packet);
    return rc;
}

int ftc_medium_wait(struct ftc_medium *medium, int kind, int rank, uint64_t until)
{
    return ftc_queue_push(
        &medium->queue,
        &(struct ftc_event){.key = until, .rank = (uint32_t)rank, .kind = (uint32_t)kind & 15});
}

bool ftc_medium_next(struct ftc_medium *medium, struct ftc_event *event)
{
    bool any = ftc_queue_pop(&medium->queue, event);

    if (any)
        medium->now = event->key;
    return any;
}
