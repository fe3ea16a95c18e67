/* Slots of registered memory. */
#include "transport/verbs/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/error.h"

#define CHUNK 256 /* slots */

static int cannot_lock(size_t size)
{
    struct rlimit limit = {0};
    int failure = errno;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    errno = failure;
    return ftc_error_set(
        FTC_ERR_SYSTEM,
        "cannot register %zu KiB of memory for RDMA: %m: raise memlock (`ulimit -l`), %llu KiB "
        "now, or use tcp",
        size / 1024, (unsigned long long)limit.rlim_cur / 1024);
}

static int grow(struct ftc_verbs_pool *pool)
{
    unsigned slots = pool->most - pool->made < CHUNK ? pool->most - pool->made : CHUNK;
    struct ftc_verbs_chunk chunk = {.size = (size_t)slots * FTC_VERBS_SLOT_SIZE};
    chunk.memory =
        mmap(NULL, chunk.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk.memory == MAP_FAILED)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    /* Only this rank's own device may write there. */
    chunk.region = ibv_reg_mr(pool->domain, chunk.memory, chunk.size, IBV_ACCESS_LOCAL_WRITE);
    if (chunk.region == NULL) {
        int rc = cannot_lock(chunk.size);
        munmap(chunk.memory, chunk.size);
        return rc;
    }
    pool->chunks[pool->chunk_count++] = chunk;
    while (slots-- > 0)
        pool->free[pool->free_count++] = pool->made++;
    return FTC_SUCCESS;
}

int ftc_verbs_pool_open(struct ftc_verbs_pool *pool, struct ibv_pd *domain, unsigned slots)
{
    *pool = (struct ftc_verbs_pool){.domain = domain, .most = slots};
    pool->chunks = calloc(slots / CHUNK + 1, sizeof(*pool->chunks));
    pool->free = calloc(slots, sizeof(*pool->free));
    if (pool->chunks == NULL || pool->free == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    return grow(pool);
}

void ftc_verbs_pool_close(struct ftc_verbs_pool *pool)
{
    for (int i = 0; i < pool->chunk_count; i++) {
        ibv_dereg_mr(pool->chunks[i].region);
        munmap(pool->chunks[i].memory, pool->chunks[i].size);
    }
    free(pool->chunks);
    free(pool->free);
    *pool = (struct ftc_verbs_pool){0};
}

unsigned ftc_verbs_pool_room(const struct ftc_verbs_pool *pool)
{
    return pool->free_count + pool->most - pool->made;
}

bool ftc_verbs_pool_take(struct ftc_verbs_pool *pool, uint32_t *slots, unsigned count)
{
    if (ftc_verbs_pool_room(pool) < count) {
        ftc_error_set(FTC_ERR_SYSTEM,
                      "the %zu KiB that may be registered are in use: raise transport.verbs_memory",
                      (size_t)pool->most * FTC_VERBS_SLOT_SIZE / 1024);
        return false;
    }
    while (pool->free_count < count)
        if (grow(pool) != 0) {
            pool->most = pool->made;
            return false;
        }
    for (unsigned i = 0; i < count; i++)
        slots[i] = pool->free[--pool->free_count];
    return true;
}

void ftc_verbs_pool_give(struct ftc_verbs_pool *pool, const uint32_t *slots, unsigned count)
{
    assert(pool->free_count + count <= pool->made);
    memcpy(pool->free + pool->free_count, slots, count * sizeof(*slots));
    pool->free_count += count;
}

unsigned char *ftc_verbs_pool_bytes(const struct ftc_verbs_pool *pool, uint32_t slot)
{
    return pool->chunks[slot / CHUNK].memory + (size_t)(slot % CHUNK) * FTC_VERBS_SLOT_SIZE;
}

uint32_t ftc_verbs_pool_key(const struct ftc_verbs_pool *pool, uint32_t slot)
{
    return pool->chunks[slot / CHUNK].region->lkey;
}
