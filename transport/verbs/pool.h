/*
 * Registered memory of a transport, in slots of FTC_VERBS_SLOT_SIZE bytes. It grows by chunks as
 * links need it, up to its bound, and shrinks only at its end. Every request that is posted has a
 * slot, so the pool bounds them too.
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
    unsigned most, made; /* slots: the bound, registered */
    struct ftc_verbs_chunk *chunks;
    int chunk_count;
    uint32_t *free; /* slots */
    unsigned free_count;
};

/* Registers the first chunk. FTC_ERR_NOMEM; FTC_ERR_SYSTEM: so much cannot be locked. */
int ftc_verbs_pool_open(struct ftc_verbs_pool *pool, struct ibv_pd *domain, unsigned slots);
/* Nothing of it may be posted any more. Also one that is all zeros. */
void ftc_verbs_pool_close(struct ftc_verbs_pool *pool);

/* How many slots can still be taken, if the system lets them be registered. */
unsigned ftc_verbs_pool_room(const struct ftc_verbs_pool *pool);
/* False: not so many (ftc_last_error()); the bound is what could be registered from then on. */
bool ftc_verbs_pool_take(struct ftc_verbs_pool *pool, uint32_t *slots, unsigned count);
void ftc_verbs_pool_give(struct ftc_verbs_pool *pool, const uint32_t *slots, unsigned count);

unsigned char *ftc_verbs_pool_bytes(const struct ftc_verbs_pool *pool, uint32_t slot);
uint32_t ftc_verbs_pool_key(const struct ftc_verbs_pool *pool, uint32_t slot);

#endif
