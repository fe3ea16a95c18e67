/* A reference-counted block of bytes, aligned for any element type unless they are lent. Threads
 * that share one need a lock, because the counts are plain integers. */
#ifndef FTC_BASE_BUFFER_H
#define FTC_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct ftc_buffer_pool;

struct ftc_buffer {
    int references;
    int order; /* 2^order bytes are allocated in the pool; -1: the block belongs to no pool */
    /* The pool that takes the block back after the last reference; NULL: it is freed. */
    struct ftc_buffer_pool *pool;
    size_t size;
    size_t touched; /* in a pool: the greatest size it ever had, since these bytes have pages */
    unsigned char *data;
    struct ftc_buffer *copy; /* has the bytes of a buffer that was lent; NULL: there is none */
    _Alignas(16) unsigned char own[];
};

/* A block of `size` bytes with one reference. The bytes are not zeroed. NULL when out of memory. */
struct ftc_buffer *ftc_buffer_new(size_t size);
struct ftc_buffer *ftc_buffer_ref(struct ftc_buffer *buffer); /* NULL is legal */
void ftc_buffer_unref(struct ftc_buffer *buffer);             /* NULL is legal */

/* A buffer whose bytes are lent: they are the caller's, who neither changes nor frees them, and
 * keeps its reference, until it has called ftc_buffer_keep(). Nobody may write to them. NULL when
 * out of memory. */
struct ftc_buffer *ftc_buffer_lend(const void *bytes, size_t size);

/* A pool keeps released buffers of 16 KiB to 16 MiB for the next messages of such sizes, because
 * free() would give their pages back to the system, which then has to make and zero new ones each
 * time. The pool keeps at most `most` bytes: a buffer counts by its longest use. NULL when out of
 * memory. */
struct ftc_buffer_pool *ftc_buffer_pool_new(size_t most);
/* Buffers of the pool may outlive this call. NULL is legal. */
void ftc_buffer_pool_close(struct ftc_buffer_pool *pool);
/* A buffer as ftc_buffer_new() gives it, from the pool. Other sizes, and a NULL pool, get one of
 * ftc_buffer_new(). */
struct ftc_buffer *ftc_buffer_pool_take(struct ftc_buffer_pool *pool, size_t size);

/* Drops the caller's reference to a buffer that was lent. If there are others, the buffer gets a
 * copy of the bytes, from the pool. False: out of memory; nothing has changed. */
bool ftc_buffer_keep(struct ftc_buffer *buffer, struct ftc_buffer_pool *pool);

#endif
