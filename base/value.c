/* Values, and the layout of a message in memory. */
#include "base/value.h"

#include <stdint.h>
#include <string.h>
#include <xxhash.h>

#include "include/ftcoll.h"

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

int ftc_value_own(struct ftc_value *value)
{
    if (value->buffer->references == 1)
        return FTC_SUCCESS;
    struct ftc_buffer *copy = ftc_buffer_new(value->size);
    if (copy == NULL)
        return FTC_ERR_NOMEM;
    memcpy(copy->data, ftc_value_bytes(value), value->size);
    ftc_buffer_unref(value->buffer);
    value->buffer = copy;
    value->offset = 0;
    return FTC_SUCCESS;
}

/* Never 0, because 0 means that there is no checksum. */
static uint64_t checksum_of(const struct ftc_value *value)
{
    uint64_t hash = XXH3_64bits(ftc_value_bytes(value), value->size);
    return hash != 0 ? hash : 1;
}

void ftc_value_seal(struct ftc_value *value)
{
    value->checksum = checksum_of(value);
}

bool ftc_value_sound(const struct ftc_value *value)
{
    return value->checksum == 0 || value->checksum == checksum_of(value);
}

uint64_t ftc_value_checksum_with_head(const struct ftc_value *value, const void *head, size_t size)
{
    return XXH3_64bits_withSeed(head, size, value->checksum);
}

struct ftc_buffer *ftc_value_new_message(size_t head, size_t value)
{
    return ftc_value_take_message(NULL, head, value);
}

struct ftc_buffer *ftc_value_take_message(struct ftc_buffer_pool *pool, size_t head, size_t value)
{
    size_t offset = value > 0 ? ftc_value_offset(head) : head;

    if (value > SIZE_MAX / 2 || offset < head)
        return NULL;
    struct ftc_buffer *buffer = ftc_buffer_pool_take(pool, offset + value);
    if (buffer != NULL)
        memset(buffer->data + head, 0, offset - head);
    return buffer;
}
