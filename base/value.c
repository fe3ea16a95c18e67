/* Values: references to bytes, and the layout of a message in memory. */
#include "base/value.h"

#include <stdint.h>
#include <string.h>

unsigned char *ftc_value_bytes(const struct ftc_value *value)
{
    return value->buffer == NULL ? NULL : value->buffer->data + value->offset;
}

void ftc_value_set(struct ftc_value *to, const struct ftc_value *from)
{
    struct ftc_buffer *old = to->buffer;

    *to = *from;
    ftc_buffer_ref(to->buffer);
    ftc_buffer_unref(old);
}

void ftc_value_drop(struct ftc_value *value)
{
    ftc_buffer_unref(value->buffer);
    *value = (struct ftc_value){0};
}

struct ftc_buffer *ftc_value_new_message(size_t head, size_t value)
{
    size_t offset = value > 0 ? ftc_value_offset(head) : head;

    if (value > SIZE_MAX / 2 || offset < head)
        return NULL;
    struct ftc_buffer *buffer = ftc_buffer_new(offset + value);
    if (buffer != NULL)
        memset(buffer->data + head, 0, offset - head);
    return buffer;
}
