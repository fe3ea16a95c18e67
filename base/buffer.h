/* A reference-counted block of bytes, aligned for any element type. Not for sharing between threads
 * without a lock: counts are plain integers. */
#ifndef FTC_BASE_BUFFER_H
#define FTC_BASE_BUFFER_H

#include <stddef.h>

struct ftc_buffer {
    int references;
    size_t size;
    _Alignas(16) unsigned char data[];
};

/* One reference, `size` bytes, not zeroed; NULL when out of memory. */
struct ftc_buffer *ftc_buffer_new(size_t size);
struct ftc_buffer *ftc_buffer_ref(struct ftc_buffer *buffer); /* NULL is legal */
void ftc_buffer_unref(struct ftc_buffer *buffer);             /* NULL is legal */

#endif
