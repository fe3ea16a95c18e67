/* A reference-counted block of bytes, aligned for any element type. Not for sharing between threads
 * without a lock: counts are plain integers. */
#ifndef FTC_BASE_BUFFER_H
#define FTC_BASE_BUFFER_H

#include <stddef.h>

struct ftc_buffer_pool;

struct ftc_buffer {
    int references;
    int order; /* its size in the pool; -1: it comes from malloc() */
    struct ftc_buffer_pool
        *pool; /* where it goes when nobody refers to it; NULL: back to the system */
    size_t size;
    _Alignas(16) unsigned char data[];
};

/* One reference, `size` bytes, not zeroed; NULL when out of memory. */
struct ftc_buffer *ftc_buffer_new(size_t size);
struct ftc_buffer *ftc_buffer_ref(struct ftc_buffer *buffer); /* NULL is legal */
void ftc_buffer_unref(struct ftc_buffer *buffer);             /* NULL is legal */

/* Buffers of 16 KiB to 16 MiB that were used, for the next messages of such sizes: malloc() gives
 * their pages back to the system, which makes new ones, filled with zeros, each time. It keeps at
 * most so many bytes; NULL when out of memory. */
struct ftc_buffer_pool *ftc_buffer_pool_new(size_t most);
/* Buffers from it may outlive it. NULL is legal. */
void ftc_buffer_pool_close(struct ftc_buffer_pool *pool);
/* As ftc_buffer_new(), which it is for other sizes, and where there is no pool (NULL). */
struct ftc_buffer *ftc_buffer_pool_take(struct ftc_buffer_pool *pool, size_t size);

#endif
