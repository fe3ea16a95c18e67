/* Bounds-checked encoding and decoding, little-endian, unaligned. After the first overrun `failed`
 * stays set, writes do nothing, and reads give 0. So a caller checks `failed` once, at the end. */
#ifndef FTC_BASE_WIRE_H
#define FTC_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

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
