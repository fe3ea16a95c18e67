/* Bytes inside a reference-counted buffer: what a message carries after its head. */
#ifndef FTC_BASE_VALUE_H
#define FTC_BASE_VALUE_H

#include <stddef.h>

#include "base/buffer.h"

/* A message in one buffer is its head, padding up to this, and the value: operators want aligned elements. The
 * padding is in memory only; it does not travel. */
#define FTC_VALUE_ALIGNMENT 16

struct ftc_value {
    struct ftc_buffer *buffer; /* NULL: none */
    size_t offset, size;
};

unsigned char *ftc_value_bytes(const struct ftc_value *value);          /* NULL if there is none */
void ftc_value_set(struct ftc_value *to, const struct ftc_value *from); /* takes a reference */
void ftc_value_drop(struct ftc_value *value);

/* Where the value begins in a buffer that starts with a head of this size. */
static inline size_t ftc_value_offset(size_t head)
{
    return (head + FTC_VALUE_ALIGNMENT - 1) & ~(size_t)(FTC_VALUE_ALIGNMENT - 1);
}

/* A buffer for a head and a value of these sizes (value 0: none), its padding zeroed; NULL: out of memory. */
struct ftc_buffer *ftc_value_new_message(size_t head, size_t value);

#endif
