/*
 * Registered memory of a transport, in slots of FTC_VERBS_SLOT_SIZE bytes. It grows by chunks when
 * links need it, up to its bound. It is given back only when the pool is closed. Every posted
 * request but those of no bytes has a slot, so the pool bounds the requests, too.
 */
#ifndef FTC_TRANSPORT_VERBS_POOL_H
#define FTC_TRANSPORT_VERBS_POOL_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

#include "transport/verbs/card.h"

struct ftc_verbs_chunk {
    unsigned char *memory;
    struct ibv_mr *region;
    size_t size;
};

struct ftc_verbs_pool {
    struct ibv_pd *domain;
    unsigned most, made; /* slots: the bound, and how many are registered */
    struct ftc_verbs_chunk *chunks;
    int chunk_count;
    uint32_t *free; /* the slots that are not in use */
    unsigned free_count;
};

/* Registers the first chunk. FTC_ERR_NOMEM; FTC_ERR_SYSTEM: this much memory cannot be locked. */
int ftc_verbs_pool_open(struct ftc_verbs_pool *pool, struct ibv_pd *domain, unsigned slots);
/* No slot of it may be posted any more. A pool that is all zeros is legal. */
void ftc_verbs_pool_close(struct ftc_verbs_pool *pool);

/* How many slots can still be taken, if the system lets this rank register them. */
unsigned ftc_verbs_pool_room(const struct ftc_verbs_pool *pool);
/* False: there are not that many (ftc_last_error()). If memory could not be registered, the bound
 * is lowered to what is registered. */
bool ftc_verbs_pool_take(struct ftc_verbs_pool *pool, uint32_t *slots, unsigned count);
void ftc_verbs_pool_give(struct ftc_verbs_pool *pool, const uint32_t *slots, unsigned count);

unsigned char *ftc_verbs_pool_bytes(const struct ftc_verbs_pool *pool, uint32_t slot);
uint32_t ftc_verbs_pool_key(const struct ftc_verbs_pool *pool, uint32_t slot);

#endif
