/* An encoded DECIDE in pieces. */
#include "collectives/spread/fragments.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/value.h"

uint32_t ftc_fragments_count(size_t size, uint32_t fragment)
{
    return (uint32_t)((size + fragment - 1) / fragment);
}

void ftc_fragments_cut(size_t size, uint32_t fragment, uint32_t number, struct ftc_piece *piece,
                       size_t *offset, size_t *length)
{
    *piece = (struct ftc_piece){number, ftc_fragments_count(size, fragment), (uint32_t)size};
    *offset = (size_t)number * fragment;
    *length = size - *offset < fragment ? size - *offset : fragment;
}

/* The size of all pieces but the last, computed from this piece; 0: ftc_fragments_cut() never makes
 * such a piece. */
static size_t size_of_all(const struct ftc_piece *piece, const struct ftc_value *bytes)
{
    size_t size = bytes->size, whole = piece->whole;

    if (whole == 0 || whole > FTC_FRAGMENTS_WHOLE || piece->number >= piece->count || size == 0 ||
        size > whole)
        return 0;
    if (piece->number == piece->count - 1 && piece->count > 1)
        size = (whole - size) / (piece->count - 1);
    if (size == 0 || piece->count != (whole + size - 1) / size)
        return 0;
    size_t rest = whole - (size_t)piece->number * size;
    return bytes->size == (rest < size ? rest : size) ? size : 0;
}

static int begin(struct ftc_fragments *fragments, const struct ftc_piece *piece, size_t size)
{
    fragments->size = size;
    fragments->whole = ftc_buffer_new(piece->whole);
    fragments->come = calloc((size_t)piece->count / 8 + 1, 1);
    fragments->count = piece->count;
    fragments->there = 0;
    if (fragments->whole != NULL && fragments->come != NULL)
        return 0;
    ftc_fragments_drop(fragments);
    return FTC_ERR_NOMEM;
}

int ftc_fragments_add(struct ftc_fragments *fragments, const struct ftc_piece *piece,
                      const struct ftc_value *bytes)
{
    size_t size = size_of_all(piece, bytes);

    if (size == 0)
        return FTC_ERR_PROTO;
    if (fragments->whole == NULL && begin(fragments, piece, size) != 0)
        return FTC_ERR_NOMEM;
    if (fragments->whole->size != piece->whole || fragments->size != size)
        return FTC_ERR_PROTO;
    unsigned char bit = (unsigned char)(1u << piece->number % 8),
                  *byte = &fragments->come[piece->number / 8];
    if (*byte & bit)
        return 0;
    *byte |= bit;
    fragments->there++;
    memcpy(fragments->whole->data + (size_t)piece->number * size, ftc_value_bytes(bytes),
           bytes->size);
    return 1;
}

bool ftc_fragments_complete(const struct ftc_fragments *fragments)
{
    return fragments->whole != NULL && fragments->there == fragments->count;
}

void ftc_fragments_drop(struct ftc_fragments *fragments)
{
    ftc_buffer_unref(fragments->whole);
    free(fragments->come);
    *fragments = (struct ftc_fragments){0};
}
