/* Reference-counted blocks of bytes. */
#include "base/buffer.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

/* malloc() aligns for max_align_t, and data must keep that alignment. */
_Static_assert(_Alignof(max_align_t) >= 16, "malloc aligns too little");
_Static_assert(offsetof(struct ftc_buffer, data) % 16 == 0, "data is not aligned");

struct ftc_buffer *ftc_buffer_new(size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct ftc_buffer))
        return NULL;
    struct ftc_buffer *buffer = malloc(sizeof(*buffer) + size);
    if (buffer == NULL)
        return NULL;
    buffer->references = 1;
    buffer->size = size;
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

void ftc_buffer_unref(struct ftc_buffer *buffer)
{
    if (buffer == NULL)
        return;
    assert(buffer->references > 0);
    if (--buffer->references == 0)
        free(buffer);
}
