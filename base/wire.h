/* Bounds-checked encoding and decoding, little-endian, unaligned. After the first overrun `failed`
 * stays set, writes do nothing, and reads give 0. So a caller checks `failed` once, at the end. */
#ifndef FTC_BASE_WIRE_H
#define FTC_BASE_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/set.h"

/* --- numbers at a place that has room for them --- */

static inline void ftc_store_u16(unsigned char *at, uint16_t value)
{
    value = htole16(value);
    memcpy(at, &value, sizeof(value));
}

static inline void ftc_store_u32(unsigned char *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof(value));
}

static inline void ftc_store_u64(unsigned char *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof(value));
}

static inline uint16_t ftc_load_u16(const unsigned char *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return le16toh(value);
}

static inline uint32_t ftc_load_u32(const unsigned char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

static inline uint64_t ftc_load_u64(const unsigned char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return le64toh(value);
}

/* --- messages --- */

struct ftc_writer {
    unsigned char *data;
    size_t size, used;
    bool failed;
};

struct ftc_reader {
    const unsigned char *data;
    size_t size, used;
    bool failed;
};

/* Room for `size` bytes, which the caller writes. NULL, and `failed` is set, if there is less. */
unsigned char *ftc_write_room(struct ftc_writer *w, size_t size);
void ftc_write_u8(struct ftc_writer *w, uint8_t value);
void ftc_write_u16(struct ftc_writer *w, uint16_t value);
void ftc_write_u32(struct ftc_writer *w, uint32_t value);
void ftc_write_u64(struct ftc_writer *w, uint64_t value);
void ftc_write_bytes(struct ftc_writer *w, const void *bytes, size_t size);
void ftc_write_align(struct ftc_writer *w, size_t alignment); /* zero padding up to a multiple */

uint8_t ftc_read_u8(struct ftc_reader *r);
uint16_t ftc_read_u16(struct ftc_reader *r);
uint32_t ftc_read_u32(struct ftc_reader *r);
uint64_t ftc_read_u64(struct ftc_reader *r);
/* A pointer into the data. NULL, and `failed` is set, if fewer than `size` bytes are left. */
const void *ftc_read_bytes(struct ftc_reader *r, size_t size);
void ftc_read_align(struct ftc_reader *r, size_t alignment);

/*
 * A set of ranks begins with a u32: the number of members and, in the two top bits, the form that
 * follows. The writer takes the shortest form, so that neither a set of few ranks nor one of nearly
 * all ranks takes space in proportion to the job:
 *
 *   0  the members, ascending, each a u32
 *   1  the ranks that are no members, ascending, each a u32
 *   2  the set as words (base/set.h), each a u64
 *
 * The reader requires ranks in range and strictly ascending, no bits past the size, and the form
 * that the writer would take. `set` must be initialised with the size that both sides agree on.
 */
size_t ftc_wire_set_size(const struct ftc_set *set);
void ftc_write_set(struct ftc_writer *w, const struct ftc_set *set);
void ftc_read_set(struct ftc_reader *r, struct ftc_set *set);

#endif
