/*
 * An *exchange*: in one attempt of a large value (large.h) the ranks send one another, by messages,
 * all that each of them needs for its result. An exchange tolerates no failure. These are there
 * (docs/design/nodes.md, "Large values", has their bytes and sources):
 *
 *   ring_reduce.c   allreduce, reduce, reduce_scatter, broadcast: blocks travel round rings
 *   ring_gather.c   allgather: contributions travel round rings
 *   pairwise.c      gather, scatter, alltoall: each part goes straight to its receiver
 *   chain.c         scan, exscan: prefixes travel from the lowest rank to the highest
 *
 * Ranks have *places* in an exchange: 0 to places - 1, in the order of their numbers. A rank is
 * *whole* when it has all of its result and has sent all that others need of it.
 *
 * Inputs: start, a message. Outputs: messages, which must arrive whole and once; their order does
 * not matter. Ranks that share memory write there what they combine or share, and then tell of it
 * by a message. The result is written by finish(), so that the memory of the caller stays as it was
 * until the attempt is committed. Until then blocks are kept as references to their messages. An
 * object does no I/O, and trusts nothing that it receives. Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_LARGE_EXCHANGE_H
#define FTC_COLLECTIVES_LARGE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/set.h"
#include "base/value.h"
#include "collectives/call.h"

/* The nodes of the ranks, and the memory that the ranks of this node share: an area for each. An
 * area keeps what its rank wrote, when the rank has died, too. */
struct ftc_large_nodes {
    const int *first_ranks; /* the lowest rank of each node, and then the number of ranks */
    int lowest;             /* the rank of this node whose area is the first one */
    unsigned char *areas;   /* aligned for any type */
    /* Bytes from one area to the next. An area has `room` bytes for what is combined, and then two
     * halves of `apart` bytes for contributions that stay apart. */
    size_t stride, room, apart;
    /* Makes `size` bytes of this rank's own area usable, from `offset` on, where the room or a half
     * begins. Error: FTC_ERR_SYSTEM. */
    int (*reserve)(void *arg, size_t offset, size_t size);
    void *arg;
};

struct ftc_large_exchange_settings {
    const struct ftc_call *call; /* lives until the end, and so does its input */
    int ranks;                   /* of the communicator */
    int self, places;            /* this rank's place, and the number of places */
    const int *rank;             /* the rank at each place, ascending; lives until the end */
    /* NULL: the ranks share no memory. Alike at all ranks but for where the areas lie. */
    const struct ftc_large_nodes *nodes;
    /* Which half of the areas this attempt uses. The attempt before used the other one. Alike at
     * all ranks. */
    bool half;
    size_t element; /* bytes; where elements are combined, none is cut */
    /* The size of a block in bytes. A contribution is cut into blocks of block_most. Where it goes
     * from rank to rank and is combined there, blocks are smaller, so that all ranks combine at the
     * same time, but not smaller than block_least. */
    size_t block_least, block_most;
    size_t part_most; /* of a part that goes straight to its receiver: nobody passes it on */
    int window; /* most blocks of part_most that a receiver has asked for and not got; pairwise.c */
    /* Fewer bytes are copied into a message; more are lent to it until settle(). 0: all are. */
    size_t lent_least;
    /* Where blocks of an allreduce or reduce_scatter may be written as they come. It must not
     * overlap the input. NULL: nowhere. */
    void *result;
    struct ftc_buffer_pool *pool; /* NULL: there is none */
};

/* What the head of a message says of its bytes. Each exchange says which of these it uses. */
struct ftc_large_tag {
    uint32_t block;
    uint32_t hop;
    uint64_t begin, size;
};

struct ftc_large_block_output {
    int to; /* place */
    struct ftc_large_tag tag;
    struct ftc_value value; /* the exchange holds the reference, until the next call */
};

struct ftc_large_exchange;

/* Is there an exchange for such a call? */
bool ftc_large_exchange_exists(const struct ftc_signature *signature);

/* FTC_ERR_ARG: a size or number is not possible. FTC_ERR_NOMEM. */
int ftc_large_exchange_create(struct ftc_large_exchange **out,
                              const struct ftc_large_exchange_settings *settings);
void ftc_large_exchange_destroy(struct ftc_large_exchange *exchange); /* NULL is legal */

/* To be called once. After it, and after each message, take the outputs until there is none. Error:
 * FTC_ERR_NOMEM. */
int ftc_large_exchange_start(struct ftc_large_exchange *exchange);
/* Takes in a message of the rank at place `from`, and a reference to its value, whose bytes may be
 * overwritten from now on. FTC_ERR_PROTO: this rank does not wait for such a message; it was
 * ignored. FTC_ERR_NOMEM. */
int ftc_large_exchange_receive(struct ftc_large_exchange *exchange, int from,
                               const struct ftc_large_tag *tag, const struct ftc_value *value);
bool ftc_large_exchange_next_output(struct ftc_large_exchange *exchange,
                                    struct ftc_large_block_output *output);

bool ftc_large_exchange_whole(const struct ftc_large_exchange *exchange);
/* The place whose messages it waits for. Only if it is not whole. */
int ftc_large_exchange_awaited(const struct ftc_large_exchange *exchange);
/* To be called before finish(), and before the input changes or goes away: messages that have not
 * left yet get bytes of their own. It takes no message after that. FTC_ERR_NOMEM. */
int ftc_large_exchange_settle(struct ftc_large_exchange *exchange);
/* Writes the result of this rank when it is whole: by the take function of the call, if it has
 * places for contributions, but for those of `failed`; otherwise as bytes. `to` may be the input,
 * if contributions are combined. */
void ftc_large_exchange_finish(const struct ftc_large_exchange *exchange,
                               const struct ftc_set *failed, void *to);

#endif
