/* Bounds-checked encoding and decoding. Numbers are put together byte by byte: independent of the byte order
 * of the machine and of alignment; compilers make one move of it. */
#include "base/wire.h"

#include <assert.h>
#include <string.h>

/* Marks a set sent as bits; the other 31 bits are the number of members either way. */
#define SET_AS_BITS 0x80000000u

/* Room for `size` bytes, NULL and failed for ever if there is not that much. */
static unsigned char *claim(struct ftc_writer *w, size_t size)
{
    if (w->failed || size > w->size - w->used) {
        w->failed = true;
        return NULL;
    }
    unsigned char *at = w->data + w->used;
    w->used += size;
    return at;
}

static void write_number(struct ftc_writer *w, uint64_t value, size_t size)
{
    unsigned char *at = claim(w, size);
    if (at == NULL)
        return;
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

void ftc_write_u8(struct ftc_writer *w, uint8_t value)
{
    write_number(w, value, 1);
}

void ftc_write_u16(struct ftc_writer *w, uint16_t value)
{
    write_number(w, value, 2);
}

void ftc_write_u32(struct ftc_writer *w, uint32_t value)
{
    write_number(w, value, 4);
}

void ftc_write_u64(struct ftc_writer *w, uint64_t value)
{
    write_number(w, value, 8);
}

void ftc_write_bytes(struct ftc_writer *w, const void *bytes, size_t size)
{
    unsigned char *at = claim(w, size);
    if (at != NULL && size > 0) /* memcpy() from NULL is undefined even for 0 bytes */
        memcpy(at, bytes, size);
}

/* Bytes from `used` to the next multiple of `alignment`. */
static size_t padding(size_t used, size_t alignment)
{
    assert(alignment > 0);
    return (alignment - used % alignment) % alignment;
}

void ftc_write_align(struct ftc_writer *w, size_t alignment)
{
    size_t size = padding(w->used, alignment);
    unsigned char *at = claim(w, size);
    if (at != NULL && size > 0)
        memset(at, 0, size);
}

const void *ftc_read_bytes(struct ftc_reader *r, size_t size)
{
    if (r->failed || size > r->size - r->used) {
        r->failed = true;
        return NULL;
    }
    const unsigned char *at = r->data + r->used;
    r->used += size;
    return at;
}

static uint64_t read_number(struct ftc_reader *r, size_t size)
{
    const unsigned char *at = ftc_read_bytes(r, size);
    uint64_t value = 0;
    if (at == NULL)
        return 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

uint8_t ftc_read_u8(struct ftc_reader *r)
{
    return (uint8_t)read_number(r, 1);
}

uint16_t ftc_read_u16(struct ftc_reader *r)
{
    return (uint16_t)read_number(r, 2);
}

uint32_t ftc_read_u32(struct ftc_reader *r)
{
    return (uint32_t)read_number(r, 4);
}

uint64_t ftc_read_u64(struct ftc_reader *r)
{
    return read_number(r, 8);
}

/* Padding that is not zero is an error: what is not looked at cannot be given a meaning later. */
void ftc_read_align(struct ftc_reader *r, size_t alignment)
{
    size_t size = padding(r->used, alignment);
    const unsigned char *at = ftc_read_bytes(r, size);
    for (size_t i = 0; at != NULL && i < size; i++)
        if (at[i] != 0)
            r->failed = true;
}

/* Canonical form: the list unless the bit set is strictly shorter. */
static bool as_bits(int size, uint32_t count)
{
    return (size_t)count * 4 > (size_t)ftc_set_words(size) * 8;
}

size_t ftc_wire_set_size(const struct ftc_set *set)
{
    uint32_t count = (uint32_t)ftc_set_count(set);
    return 4 + (as_bits(set->size, count) ? (size_t)ftc_set_words(set->size) * 8 : (size_t)count * 4);
}

void ftc_write_set(struct ftc_writer *w, const struct ftc_set *set)
{
    uint32_t count = (uint32_t)ftc_set_count(set);
    if (as_bits(set->size, count)) {
        ftc_write_u32(w, count | SET_AS_BITS);
        for (int i = 0, words = ftc_set_words(set->size); i < words; i++)
            ftc_write_u64(w, set->word[i]);
        return;
    }
    ftc_write_u32(w, count);
    for (int rank = ftc_set_next(set, 0); rank >= 0; rank = ftc_set_next(set, rank + 1))
        ftc_write_u32(w, (uint32_t)rank);
}

static void read_set_bits(struct ftc_reader *r, struct ftc_set *set, uint32_t count)
{
    int words = ftc_set_words(set->size), tail = set->size % 64;
    for (int i = 0; i < words; i++)
        set->word[i] = ftc_read_u64(r);
    if (tail != 0 && set->word[words - 1] >> tail != 0)
        r->failed = true;
    if ((uint32_t)ftc_set_count(set) != count)
        r->failed = true;
}

static void read_set_list(struct ftc_reader *r, struct ftc_set *set, uint32_t count)
{
    int64_t previous = -1;
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        uint32_t rank = ftc_read_u32(r);
        if (r->failed || rank >= (uint32_t)set->size || (int64_t)rank <= previous) {
            r->failed = true;
            return;
        }
        ftc_set_add(set, (int)rank);
        previous = rank;
    }
}

/* After a failure `set` is empty, so that nothing half-read can be used. */
void ftc_read_set(struct ftc_reader *r, struct ftc_set *set)
{
    uint32_t head = ftc_read_u32(r), count = head & ~SET_AS_BITS;
    bool bits = (head & SET_AS_BITS) != 0;
    ftc_set_clear(set);
    if (count > (uint32_t)set->size || bits != as_bits(set->size, count))
        r->failed = true;
    if (!r->failed && bits)
        read_set_bits(r, set, count);
    else if (!r->failed)
        read_set_list(r, set, count);
    if (r->failed)
        ftc_set_clear(set);
}
