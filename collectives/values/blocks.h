/*
 * A list of blocks is the value of a call whose contributions stay apart
 * (ftc_signature_gathers(), docs/design/agreement.md, "Operations"). A block is the contribution of
 * one rank. Blocks stand from the highest rank to the lowest, which is the order in which a caller
 * takes them. A list has this form, in the byte order of the host, as all values have:
 *
 *   u32 count | count times: u32 rank, u32 size | count times: the bytes of a block
 *
 * The bytes of a block begin at a multiple of the largest power of two that divides its size, up to
 * FTC_VALUE_ALIGNMENT. So they are aligned for elements of any type, and blocks of one size have no
 * padding between them. Padding is zero. So equal blocks make equal lists, bit by bit.
 *
 * The functions are pure, and any thread may call them.
 */
#ifndef FTC_COLLECTIVES_VALUES_BLOCKS_H
#define FTC_COLLECTIVES_VALUES_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"
#include "base/value.h"
#include "collectives/call.h"

#define FTC_BLOCK_MOST UINT32_MAX /* bytes of the largest block */

struct ftc_block {
    int rank;
    size_t size;
    const unsigned char *bytes;
};

/* A walk over a list, which may be malformed: it ends where the list makes no sense. */
struct ftc_blocks {
    const unsigned char *bytes;
    size_t size, offset; /* the last block ended at `offset` */
    uint32_t count, at;
    int64_t last; /* rank of the last block */
    bool sound;   /* so far the list makes sense */
};
struct ftc_blocks ftc_blocks_begin(const struct ftc_value *list);
/* False: there is no further block, or !blocks->sound. */
bool ftc_blocks_next(struct ftc_blocks *blocks, struct ftc_block *block);

/* Makes a list of blocks, as a copy. They are given from the highest rank to the lowest, and each
 * has at most FTC_BLOCK_MOST bytes. FTC_ERR_NOMEM. */
int ftc_blocks_make(struct ftc_value *list, const struct ftc_block *block, int count);
/* Makes a list of the blocks of both lists. If both have a block of one rank, it is that of `a`.
 * FTC_ERR_NOMEM; FTC_ERR_PROTO: a list is malformed. */
int ftc_blocks_merge(struct ftc_value *list, const struct ftc_value *a, const struct ftc_value *b);

/* Is the value a well-formed list of at least one block? Each block is of one of these ranks and
 * has at most `most` bytes. */
bool ftc_blocks_sound(const struct ftc_value *list, const struct ftc_set *ranks, uint64_t most);
/* The size of the longest list of blocks of at most `size` bytes, which is at most
 * FTC_BLOCK_MOST. */
uint64_t ftc_blocks_most(int ranks, uint64_t size);
/* The number of blocks, as far as the list is well-formed. */
int ftc_blocks_count(const struct ftc_value *list);
/* Where the bytes of the first block begin; 0: the list is malformed. */
size_t ftc_blocks_head(const struct ftc_value *list);

/* Gives each block to call->take, from the highest rank to the lowest, but for those of ranks in
 * `failed`, the failed set of the operation (agreement.md, "Operations"). A list without a buffer
 * has no blocks. FTC_ERR_PROTO: the list is malformed, and `result` has got a part of it. */
int ftc_blocks_take(const struct ftc_value *list, const struct ftc_set *failed,
                    const struct ftc_call *call, void *result);
/* Copies the slice of the value that this rank gets. FTC_ERR_PROTO: the value is too short, and
 * `result` is as it was. */
int ftc_slice_take(const struct ftc_value *value, const struct ftc_call *call, void *result);

#endif
