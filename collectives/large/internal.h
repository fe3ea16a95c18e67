/* The parts that exchanges have in common. Private to collectives/large. */
#ifndef FTC_COLLECTIVES_LARGE_INTERNAL_H
#define FTC_COLLECTIVES_LARGE_INTERNAL_H

#include "collectives/large/exchange.h"

/* Every function gets what the function of the same name in exchange.h gets. */
struct ftc_large_exchange_ops {
    int (*create)(struct ftc_large_exchange **out,
                  const struct ftc_large_exchange_settings *settings);
    void (*destroy)(struct ftc_large_exchange *exchange);
    int (*start)(struct ftc_large_exchange *exchange); /* only if there are several places */
    int (*receive)(struct ftc_large_exchange *exchange, int from, const struct ftc_large_tag *tag,
                   const struct ftc_value *value);
    bool (*whole)(const struct ftc_large_exchange *exchange);
    int (*awaited)(const struct ftc_large_exchange *exchange);
    void (*finish)(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                   void *to);
};
extern const struct ftc_large_exchange_ops ftc_ring_reduce_ops, ftc_ring_gather_ops,
    ftc_pairwise_ops, ftc_chain_ops;

/* The first member of each exchange. */
struct ftc_large_exchange {
    const struct ftc_large_exchange_ops *ops; /* exchange.c sets it */
    struct ftc_large_exchange_settings set;
    struct ftc_large_block_output *queue; /* outputs that were not taken yet */
    size_t queue_first, queued, queue_room;
    struct ftc_buffer **lent; /* what was lent to messages, until settle() */
    size_t lent_count, lent_room;
    struct ftc_value current; /* of the output that was taken last */
};

/* `size` bytes, zeroed but for the settings. NULL: out of memory, and the error is set. */
void *ftc_large_exchange_new(size_t size, const struct ftc_large_exchange_settings *settings);

/* --- out --- */

/* Puts an output in the queue, with a reference to its value. FTC_ERR_NOMEM. */
int ftc_large_put(struct ftc_large_exchange *exchange, int to, struct ftc_large_tag tag,
                  const struct ftc_value *value);
/* A copy of bytes of the input, since the input must outlive the call only, and messages may leave
 * later. FTC_ERR_NOMEM. */
int ftc_large_copy_input(const struct ftc_large_exchange *exchange, size_t offset, size_t size,
                         struct ftc_value *copy);
/* A value of bytes that stay as they are until settle(): the input, or those of an area. Fewer
 * than lent_least are copied. FTC_ERR_NOMEM. */
int ftc_large_lend(struct ftc_large_exchange *exchange, const void *bytes, size_t size,
                   struct ftc_value *value);
/* A copy of any bytes. FTC_ERR_NOMEM. */
int ftc_large_copy(const struct ftc_large_exchange *exchange, const void *bytes, size_t size,
                   struct ftc_value *copy);

/* The place of a rank; -1: it has none. */
int ftc_large_place_of(const struct ftc_large_exchange_settings *set, int rank);
/* About as many bytes as are wanted, in whole elements. */
size_t ftc_large_block_size(const struct ftc_large_exchange_settings *set, size_t wanted);

/* --- in --- */

/* The area of the rank at a place of this node, and the half of it that this attempt uses. */
unsigned char *ftc_large_area(const struct ftc_large_exchange_settings *set, int place);
unsigned char *ftc_large_half(const struct ftc_large_exchange_settings *set, int place);
/* Makes `size` bytes of both halves usable: FTC_ERR_SYSTEM. */
int ftc_large_reserve_halves(const struct ftc_large_nodes *nodes, size_t size);

/* Sets the error for a message that is not awaited. Returns FTC_ERR_PROTO. */
int ftc_large_unawaited(int from, const struct ftc_large_tag *tag, const struct ftc_value *value);

/* Bytes that come block by block: all blocks but the last one are of the same size. Zeroed: its
 * size is not known. */
struct ftc_large_blocks {
    size_t begin; /* where they begin in the contribution of their rank */
    size_t size, block;
    uint32_t count, missing; /* count 0: the size is not known */
    /* Where the blocks are copied to, one behind the other. NULL: they are kept as references. */
    unsigned char *memory;
    bool *here;              /* NULL: all came at once, into the memory */
    struct ftc_value *value; /* the references */
};

/* Even no bytes are one block. `memory` stays as it is. FTC_ERR_NOMEM. */
int ftc_large_blocks_open(struct ftc_large_blocks *blocks, size_t size, size_t block);
void ftc_large_blocks_close(struct ftc_large_blocks *blocks);
uint32_t ftc_large_blocks_count(size_t size, size_t block);
size_t ftc_large_blocks_size(const struct ftc_large_blocks *blocks, uint32_t b); /* of block b */
/* False: there is no such block, or it is here already, or its size is another one. */
bool ftc_large_blocks_add(struct ftc_large_blocks *blocks, uint32_t b,
                          const struct ftc_value *value);
static inline bool ftc_large_blocks_complete(const struct ftc_large_blocks *blocks)
{
    return blocks->count > 0 && blocks->missing == 0;
}

/* Takes all contributions, from the highest rank to the lowest, but for those of `failed`. `from`
 * has those of the other places. This rank's own is its input, or its part of it. */
void ftc_large_take_all(const struct ftc_large_exchange *exchange, const struct ftc_set *failed,
                        const struct ftc_large_blocks *from, void *to);
/* Copies all blocks to `to`. */
void ftc_large_blocks_copy(const struct ftc_large_blocks *blocks, void *to);

#endif
