/*
 * Ring allreduce. The vector is cut into blocks. Each block travels round the ring of ranks almost
 * twice: on the first round it is combined, and on the second the result is spread. N is the number
 * of ranks and l the number of bytes; a message costs alpha, sending a byte beta, and combining a
 * byte gamma. With N blocks the time is (Patarasuk, Yuan 2009):
 *
 *   2 (N-1) alpha + 2 (N-1)/N l beta + (N-1)/N l gamma
 *
 * Every link carries each byte at most twice, whatever N is. If the ranks of each node follow one
 * another, two neighbouring nodes have one such link.
 *
 * Block b of B begins at rank s = floor(b N / B). Its hops are numbered from 0 to 2N-3. Hop h goes
 * from rank s + h to rank s + h + 1 (modulo N). The receiver of a hop below N-1 combines; the
 * receiver of hop N-2 or a later one has the result. With more blocks than ranks, blocks are
 * combined while others travel; with fewer blocks there are fewer messages. Each block is combined
 * along one chain only, so all ranks get the same bits.
 *
 * An object is one operation, and tolerates no failure. Inputs: start, a message. Outputs:
 * messages, which must arrive whole and once; their order does not matter. The object does no I/O.
 * A value is not copied on its way. It trusts nothing that it receives. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_RING_RING_ALLREDUCE_H
#define FTC_COLLECTIVES_RING_RING_ALLREDUCE_H

#include <stdbool.h>

#include "base/value.h"
#include "collectives/call.h"

struct ftc_ring_allreduce_settings {
    int self, ranks;
    size_t size, element; /* of the vector and of an element, in bytes; no element is cut */
    /* The size of a block in bytes, about. There is one block for each rank. There are fewer if
     * blocks would become smaller than block_least, and more if they would become larger than
     * block_most. */
    size_t block_least, block_most;
    const void *input; /* size bytes; read until the result is whole */
    /* size bytes, which must not overlap the input; each block is written when its result comes.
     * NULL: the object keeps the results until copy(). */
    void *result;
    ftc_combine_fn *combine;
    void *combine_arg;
    struct ftc_buffer_pool *pool; /* NULL: there is none */
};

struct ftc_ring_allreduce_output {
    int to;
    uint32_t block, hop;
    struct ftc_value value; /* the object holds the reference, until the next call */
};

struct ftc_ring_allreduce;

/* FTC_ERR_ARG: the number of ranks, or a size, is not possible. FTC_ERR_NOMEM. */
int ftc_ring_allreduce_create(struct ftc_ring_allreduce **out,
                              const struct ftc_ring_allreduce_settings *settings);
void ftc_ring_allreduce_destroy(struct ftc_ring_allreduce *ring); /* NULL is legal */

/* To be called once. After it, and after each message, take the outputs until there is none. Error:
 * FTC_ERR_NOMEM. */
int ftc_ring_allreduce_start(struct ftc_ring_allreduce *ring);
/* Takes a message in, and a reference to its value, whose bytes may be overwritten from now on.
 * FTC_ERR_PROTO: this rank does not wait for such a message; it was ignored. */
int ftc_ring_allreduce_receive(struct ftc_ring_allreduce *ring, int from, uint32_t block,
                               uint32_t hop, const struct ftc_value *value);
bool ftc_ring_allreduce_next_output(struct ftc_ring_allreduce *ring,
                                    struct ftc_ring_allreduce_output *output);

/* Is all of the result here? */
bool ftc_ring_allreduce_whole(const struct ftc_ring_allreduce *ring);
/* Copies the result, `size` bytes, when it is whole. `to` may be the input. If `result` was given,
 * the result is there already. */
void ftc_ring_allreduce_copy(const struct ftc_ring_allreduce *ring, void *to);

#endif
