/*
 * Ring allreduce: each block of the vector travels round the ring of ranks twice, but for a step,
 * and is combined on the first round and spread on the second. With N ranks, l bytes, alpha for a
 * message, beta for sending and gamma for combining a byte:
 *
 *   N blocks          2 (N-1) alpha + 2 (N-1)/N l beta + (N-1)/N l gamma   (Patarasuk, Yuan 2009)
 *
 * Every link carries each byte at most twice, whatever N: with the ranks of a node in a row, two
 * between each pair of neighbouring nodes. Block b of B begins at rank s = floor(b N / B). Its hop
 * h, 0 .. 2N-3, goes from rank s + h to rank s + h + 1 (modulo N); the receiver of a hop up to N-2
 * combines, from N-2 on it has the result. More blocks than ranks overlap sending with combining,
 * fewer spare messages. Each block is combined by one chain alone: the same bits at every rank.
 *
 * An object is one operation without tolerance of anything. Inputs: start, a message. Outputs:
 * messages, which must arrive whole and once; their order does not matter. It does no I/O; a value
 * is never copied on its way. What comes is untrusted. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_RING_RING_ALLREDUCE_H
#define FTC_COLLECTIVES_RING_RING_ALLREDUCE_H

#include <stdbool.h>

#include "base/value.h"
#include "collectives/call.h"

struct ftc_ring_allreduce_settings {
    int self, ranks;
    size_t size, element; /* bytes of the vector, of which elements are never cut */
    size_t block_least,
        block_most; /* bytes of a block, about; more than the least if there are blocks for all ranks */
    const void *input; /* size bytes; read until whole */
    void *
        result; /* size bytes apart from the input, written block by block; NULL: kept until copy() */
    ftc_combine_fn *combine;
    void *combine_arg;
    struct ftc_buffer_pool *pool; /* NULL: none */
};

struct ftc_ring_allreduce_output {
    int to;
    uint32_t block, hop;
    struct ftc_value value; /* the reference is the object's until the next call */
};

struct ftc_ring_allreduce;

/* FTC_ERR_ARG: no ranks, elements or blocks of such a size. FTC_ERR_NOMEM. */
int ftc_ring_allreduce_create(struct ftc_ring_allreduce **out,
                              const struct ftc_ring_allreduce_settings *settings);
void ftc_ring_allreduce_destroy(struct ftc_ring_allreduce *ring); /* NULL is legal */

/* Once, then take the outputs until there is none, and so after each message. FTC_ERR_NOMEM. */
int ftc_ring_allreduce_start(struct ftc_ring_allreduce *ring);
/* The bytes of `value` may be overwritten; it takes a reference. FTC_ERR_PROTO: nothing that this
 * rank waits for; it was ignored. */
int ftc_ring_allreduce_receive(struct ftc_ring_allreduce *ring, int from, uint32_t block,
                               uint32_t hop, const struct ftc_value *value);
bool ftc_ring_allreduce_next_output(struct ftc_ring_allreduce *ring,
                                    struct ftc_ring_allreduce_output *output);

/* All of the result is here. */
bool ftc_ring_allreduce_whole(const struct ftc_ring_allreduce *ring);
/* The result, `size` bytes, once it is whole; `to` may be the input. Where `result` was given it is
 * there already. */
void ftc_ring_allreduce_copy(const struct ftc_ring_allreduce *ring, void *to);

#endif
