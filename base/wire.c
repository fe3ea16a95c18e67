/* Bounds-checked encoding and decoding. */
#include "base/wire.h"

#include <assert.h>
#include <string.h>

/* The first u32 of a set has the form in its two top bits, and the number of members below. */
#define SET_FORM_SHIFT 30
#define SET_COUNT_MASK ((1u << SET_FORM_SHIFT) - 1)

unsigned char *ftc_write_room(struct ftc_writer *w, size_t size)
{
    if (w->failed || size > w->size - w->used) {
        w->failed = true;
        return NULL;
    }
    unsigned char *at = w->data + w->used;
    w->used += size;
    return at;
}

void ftc_write_u8(struct ftc_writer *w, uint8_t value)
{
    unsigned char *at = ftc_write_room(w, 1);
    if (at != NULL)
        *at = value;
}

void ftc_write_u16(struct ftc_writer *w, uint16_t value)
{
    unsigned char *at = ftc_write_room(w, 2);
    if (at != NULL)
        ftc_store_u16(at, value);
}

void ftc_write_u32(struct ftc_writer *w, uint32_t value)
{
    unsigned char *at = ftc_write_room(w, 4);
    if (at != NULL)
        ftc_store_u32(at, value);
}

void ftc_write_u64(struct ftc_writer *w, uint64_t value)
{
    unsigned char *at = ftc_write_room(w, 8);
    if (at != NULL)
        ftc_store_u64(at, value);
}

void ftc_write_bytes(struct ftc_writer *w, const void *bytes, size_t size)
{
    unsigned char *at = ftc_write_room(w, size);
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
    unsigned char *at = ftc_write_room(w, size);
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

uint8_t ftc_read_u8(struct ftc_reader *r)
{
    const unsigned char *at = ftc_read_bytes(r, 1);
    return at != NULL ? *at : 0;
}

uint16_t ftc_read_u16(struct ftc_reader *r)
{
    const unsigned char *at = ftc_read_bytes(r, 2);
    return at != NULL ? ftc_load_u16(at) : 0;
}

uint32_t ftc_read_u32(struct ftc_reader *r)
{
    const unsigned char *at = ftc_read_bytes(r, 4);
    return at != NULL ? ftc_load_u32(at) : 0;
}

uint64_t ftc_read_u64(struct ftc_reader *r)
{
    const unsigned char *at = ftc_read_bytes(r, 8);
    return at != NULL ? ftc_load_u64(at) : 0;
}

/* Padding that is not zero is an error. If readers ignored it, a later version could not give it a
 * meaning. */
void ftc_read_align(struct ftc_reader *r, size_t alignment)
{
    size_t size = padding(r->used, alignment);
    const unsigned char *at = ftc_read_bytes(r, size);
    for (size_t i = 0; at != NULL && i < size; i++)
        if (at[i] != 0)
            r->failed = true;
}

/* The forms of a set (wire.h). The canonical form is the shortest; of equally short forms it is the
 * first one. */
enum set_form { SET_LIST, SET_MISSING, SET_BITS };

static enum set_form set_form(int size, uint32_t count)
{
    size_t list = (size_t)count * 4, missing = ((size_t)size - count) * 4;
    size_t bits = (size_t)ftc_set_words(size) * 8;

    if (list <= missing && list <= bits)
        return SET_LIST;
    return missing <= bits ? SET_MISSING : SET_BITS;
}

size_t ftc_wire_set_size(const struct ftc_set *set)
{
    uint32_t count = (uint32_t)ftc_set_count(set);

    switch (set_form(set->size, count)) {
    case SET_LIST:
        return 4 + (size_t)count * 4;
    case SET_MISSING:
        return 4 + ((size_t)set->size - count) * 4;
    case SET_BITS:
        break;
    }
    return 4 + (size_t)ftc_set_words(set->size) * 8;
}

void ftc_write_set(struct ftc_writer *w, const struct ftc_set *set)
{
    uint32_t count = (uint32_t)ftc_set_count(set);
    enum set_form form = set_form(set->size, count);

    ftc_write_u32(w, count | (uint32_t)form << SET_FORM_SHIFT);
    switch (form) {
    case SET_LIST:
        for (int rank = ftc_set_next(set, 0); rank >= 0; rank = ftc_set_next(set, rank + 1))
            ftc_write_u32(w, (uint32_t)rank);
        break;
    case SET_MISSING:
        for (int rank = ftc_set_next_missing(set, 0); rank >= 0;
             rank = ftc_set_next_missing(set, rank + 1))
            ftc_write_u32(w, (uint32_t)rank);
        break;
    case SET_BITS:
        for (int i = 0, words = ftc_set_words(set->size); i < words; i++)
            ftc_write_u64(w, ftc_set_word(set, i));
        break;
    }
}

static void read_set_bits(struct ftc_reader *r, struct ftc_set *set)
{
    int words = ftc_set_words(set->size), tail = set->size % 64;

    for (int i = 0; i < words && !r->failed; i++) {
        uint64_t word = ftc_read_u64(r);
        if (i == words - 1 && tail != 0 && word >> tail != 0)
            r->failed = true;
        ftc_set_add_word(set, i, word);
    }
}

/* Read `count` strictly ascending ranks, and add or remove each by `change`. */
static void read_set_ranks(struct ftc_reader *r, struct ftc_set *set, uint32_t count,
                           void (*change)(struct ftc_set *set, int rank))
{
    int64_t previous = -1;

    for (uint32_t i = 0; i < count && !r->failed; i++) {
        uint32_t rank = ftc_read_u32(r);
        if (r->failed || rank >= (uint32_t)set->size || (int64_t)rank <= previous) {
            r->failed = true;
            return;
        }
        change(set, (int)rank);
        previous = rank;
    }
}

static void read_set_form(struct ftc_reader *r, struct ftc_set *set, enum set_form form,
                          uint32_t count)
{
    switch (form) {
    case SET_LIST:
        read_set_ranks(r, set, count, ftc_set_add);
        break;
    case SET_MISSING:
        ftc_set_fill(set);
        read_set_ranks(r, set, (uint32_t)set->size - count, ftc_set_remove);
        break;
    case SET_BITS:
        read_set_bits(r, set);
        break;
    }
}

/* After a failure `set` is empty, so that no caller uses a set that was read in part. */
void ftc_read_set(struct ftc_reader *r, struct ftc_set *set)
{
    uint32_t head = ftc_read_u32(r), count = head & SET_COUNT_MASK, form = head >> SET_FORM_SHIFT;

    ftc_set_clear(set);
    if (r->failed || count > (uint32_t)set->size || form != (uint32_t)set_form(set->size, count))
        r->failed = true;
    else
        read_set_form(r, set, (enum set_form)form, count);
    if (r->failed || (uint32_t)ftc_set_count(set) != count) {
        r->failed = true;
        ftc_set_clear(set);
    }
}
