/*
 * An encoded DECIDE in pieces (docs/design/broadcast.md, "Fragments"): cutting it, and putting it
 * together from pieces that come in any order, twice, or never. All pieces but the last have the
 * same size, which is the coordinator's to choose.
 *
 * Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_SPREAD_FRAGMENTS_H
#define FTC_COLLECTIVES_SPREAD_FRAGMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "collectives/message.h"

#define FTC_FRAGMENTS_WHOLE (1u << 31) /* bytes; more does not go in pieces */

struct ftc_fragments {
    struct ftc_buffer *whole; /* NULL: nothing has come yet */
    unsigned char *come;      /* bit i: piece i is there */
    uint32_t count, there;
    size_t size; /* of each piece but the last */
};

/* Piece number `number` of a whole of `size` bytes: *piece, and its bytes within the whole. */
void ftc_fragments_cut(size_t size, uint32_t fragment, uint32_t number, struct ftc_piece *piece,
                       size_t *offset, size_t *length);
uint32_t ftc_fragments_count(size_t size, uint32_t fragment);

/* Put a piece in: 1; 0: it was there; FTC_ERR_PROTO: it does not fit the others, or itself;
 * FTC_ERR_NOMEM. */
int ftc_fragments_add(struct ftc_fragments *fragments, const struct ftc_piece *piece,
                      const struct ftc_value *bytes);
bool ftc_fragments_complete(const struct ftc_fragments *fragments);
void ftc_fragments_drop(
    struct ftc_fragments *fragments); /* a zeroed struct is legal, and so it is after */

#endif
