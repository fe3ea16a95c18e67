/*
 * An encoded DECIDE in pieces (docs/design/broadcast.md, "Fragments"). It is cut, and put together
 * from pieces that come in any order, twice, or never. All pieces but the last have the same size,
 * which the coordinator chooses.
 *
 * Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_SPREAD_FRAGMENTS_H
#define FTC_COLLECTIVES_SPREAD_FRAGMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "collectives/message.h"

#define FTC_FRAGMENTS_WHOLE (1u << 31) /* bytes; a larger DECIDE is not sent in pieces */

struct ftc_fragments {
    struct ftc_buffer *whole; /* NULL: nothing has come yet */
    unsigned char *come;      /* bit i: piece i has come */
    uint32_t count, there;
    size_t size; /* of each piece but the last, in bytes */
};

/* Piece number `number` of a whole of `size` bytes: fills in *piece, and where its bytes are within
 * the whole. */
void ftc_fragments_cut(size_t size, uint32_t fragment, uint32_t number, struct ftc_piece *piece,
                       size_t *offset, size_t *length);
uint32_t ftc_fragments_count(size_t size, uint32_t fragment);

/* Puts a piece in. Returns 1, or 0 if the piece was there before. FTC_ERR_PROTO: the piece does not
 * fit the others, or contradicts itself. FTC_ERR_NOMEM. */
int ftc_fragments_add(struct ftc_fragments *fragments, const struct ftc_piece *piece,
                      const struct ftc_value *bytes);
bool ftc_fragments_complete(const struct ftc_fragments *fragments);
/* Legal for a zeroed struct; afterwards the struct is zeroed. */
void ftc_fragments_drop(struct ftc_fragments *fragments);

#endif
