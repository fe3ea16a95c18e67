/* A value is a range of bytes in a reference-counted buffer. A message carries it after its
 * head. */
#ifndef FTC_BASE_VALUE_H
#define FTC_BASE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* A message in one buffer is its head, padding up to this alignment, and the value, because
 * operators need aligned elements. The padding is not sent. */
#define FTC_VALUE_ALIGNMENT 16

struct ftc_value {
    struct ftc_buffer *buffer; /* NULL: none */
    size_t offset, size;
    uint64_t checksum; /* XXH3 of the bytes, if the job keeps checksums; 0: none */
};

unsigned char *ftc_value_bytes(const struct ftc_value *value);          /* NULL if there is none */
void ftc_value_set(struct ftc_value *to, const struct ftc_value *from); /* takes a reference */
void ftc_value_drop(struct ftc_value *value);
/* Make the bytes writable: if there is another reference to the buffer, the value gets a copy. The
 * checksum stays. FTC_ERR_NOMEM. */
int ftc_value_own(struct ftc_value *value);

/* Store the checksum of the bytes in the value. */
void ftc_value_seal(struct ftc_value *value);
/* Does the stored checksum fit the bytes? True also if there is none. */
bool ftc_value_sound(const struct ftc_value *value);
/* One checksum for a whole message: over its head and the stored checksum of its value. */
uint64_t ftc_value_checksum_with_head(const struct ftc_value *value, const void *head, size_t size);

/* Where the value begins in a buffer that starts with a head of this size. */
static inline size_t ftc_value_offset(size_t head)
{
    return (head + FTC_VALUE_ALIGNMENT - 1) & ~(size_t)(FTC_VALUE_ALIGNMENT - 1);
}

/* A buffer for a head and a value of these sizes, with the padding zeroed. value 0: there is no
 * value. NULL when out of memory. */
struct ftc_buffer *ftc_value_new_message(size_t head, size_t value);
/* The same, with the buffer from a pool. */
struct ftc_buffer *ftc_value_take_message(struct ftc_buffer_pool *pool, size_t head, size_t value);

#endif
