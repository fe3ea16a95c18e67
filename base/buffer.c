/* Reference-counted blocks of bytes. */
#include "base/buffer.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* malloc() aligns for max_align_t, and data must keep that alignment. */
_Static_assert(_Alignof(max_align_t) >= 16, "malloc aligns too little");
_Static_assert(offsetof(struct ftc_buffer, own) % 16 == 0, "data is not aligned");

struct ftc_buffer *ftc_buffer_new(size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct ftc_buffer))
        return NULL;
    struct ftc_buffer *buffer = malloc(sizeof(*buffer) + size);
    if (buffer == NULL)
        return NULL;
    *buffer = (struct ftc_buffer){.references = 1, .order = -1, .size = size, .data = buffer->own};
    return buffer;
}

struct ftc_buffer *ftc_buffer_lend(const void *bytes, size_t size)
{
    struct ftc_buffer *buffer = ftc_buffer_new(0);

    if (buffer == NULL)
        return NULL;
    buffer->size = size;
    buffer->data = (unsigned char *)bytes;
    return buffer;
}

struct ftc_buffer *ftc_buffer_ref(struct ftc_buffer *buffer)
{
    if (buffer != NULL) {
        assert(buffer->references > 0 && buffer->references < INT_MAX);
        buffer->references++;
    }
    return buffer;
}

/* --- a pool --- */

#define ORDER_LEAST 14 /* binary logarithms of sizes */
#define ORDER_MOST  24

struct ftc_buffer_pool {
    /* Bytes. `kept` counts what was ever asked for of each buffer: only that has pages. */
    size_t most, kept;
    long out; /* buffers that are in use */
    bool closed;
    struct ftc_buffer *first[ORDER_MOST - ORDER_LEAST + 1]; /* linked by their first bytes */
};

struct ftc_buffer_pool *ftc_buffer_pool_new(size_t most)
{
    struct ftc_buffer_pool *pool = calloc(1, sizeof(*pool));

    if (pool != NULL)
        pool->most = most;
    return pool;
}

static struct ftc_buffer *next_of(const struct ftc_buffer *buffer)
{
    struct ftc_buffer *next;

    memcpy(&next, buffer->data, sizeof(next));
    return next;
}

static struct ftc_buffer *take_first(struct ftc_buffer_pool *pool, int order)
{
    struct ftc_buffer *buffer = pool->first[order - ORDER_LEAST];

    if (buffer == NULL)
        return NULL;
    pool->first[order - ORDER_LEAST] = next_of(buffer);
    pool->kept -= buffer->touched;
    return buffer;
}

/* The last buffer that comes back to a closed pool frees the pool. */
static void take_back(struct ftc_buffer_pool *pool, struct ftc_buffer *buffer)
{
    struct ftc_buffer **first = &pool->first[buffer->order - ORDER_LEAST];

    pool->out--;
    if (!pool->closed && pool->kept + buffer->touched <= pool->most) {
        memcpy(buffer->data, first, sizeof(*first));
        *first = buffer;
        pool->kept += buffer->touched;
        return;
    }
    free(buffer);
    if (pool->closed && pool->out == 0)
        free(pool);
}

void ftc_buffer_pool_close(struct ftc_buffer_pool *pool)
{
    if (pool == NULL)
        return;
    for (int order = ORDER_LEAST; order <= ORDER_MOST; order++)
        for (struct ftc_buffer *buffer; (buffer = take_first(pool, order)) != NULL;)
            free(buffer);
    pool->closed = true;
    if (pool->out == 0)
        free(pool);
}

static int order_of(size_t size)
{
    int order = ORDER_LEAST;

    while (order < ORDER_MOST && ((size_t)1 << order) < size)
        order++;
    return order;
}

/* The size is rounded up to a power of two. Nobody touches the bytes past `size`, so the system
 * gives them no pages, and they cost nothing. */
struct ftc_buffer *ftc_buffer_pool_take(struct ftc_buffer_pool *pool, size_t size)
{
    if (pool == NULL || size < (size_t)1 << ORDER_LEAST || size > (size_t)1 << ORDER_MOST)
        return ftc_buffer_new(size);
    int order = order_of(size);
    struct ftc_buffer *buffer = take_first(pool, order);
    if (buffer == NULL)
        buffer = ftc_buffer_new((size_t)1 << order);
    if (buffer == NULL)
        return NULL;
    buffer->references = 1;
    buffer->order = order;
    buffer->pool = pool;
    buffer->size = size;
    if (buffer->touched < size)
        buffer->touched = size;
    pool->out++;
    return buffer;
}

void ftc_buffer_unref(struct ftc_buffer *buffer)
{
    if (buffer == NULL)
        return;
    assert(buffer->references > 0);
    if (--buffer->references > 0)
        return;
    ftc_buffer_unref(buffer->copy);
    if (buffer->pool != NULL)
        take_back(buffer->pool, buffer);
    else
        free(buffer);
}

bool ftc_buffer_keep(struct ftc_buffer *buffer, struct ftc_buffer_pool *pool)
{
    assert(buffer->data != buffer->own && buffer->copy == NULL);
    if (buffer->references > 1) {
        buffer->copy = ftc_buffer_pool_take(pool, buffer->size);
        if (buffer->copy == NULL)
            return false;
        memcpy(buffer->copy->data, buffer->data, buffer->size);
        buffer->data = buffer->copy->data;
    }
    ftc_buffer_unref(buffer);
    return true;
}
