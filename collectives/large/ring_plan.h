/*
 * The plan of the rings of ring_reduce.c: which blocks there are, the way of each, and what of it
 * lies in the memory that the ranks of a node share. Private to collectives/large.
 */
#ifndef FTC_COLLECTIVES_LARGE_RING_PLAN_H
#define FTC_COLLECTIVES_LARGE_RING_PLAN_H

#include "collectives/large/grid.h"
#include "collectives/large/internal.h"

struct ftc_large_ring_block {
    size_t offset, size;
    int home;                /* the row that has its result first */
    int gathered;            /* messages of its first round that were combined */
    bool whole;              /* its result is here */
    struct ftc_value sum;    /* of these messages and the inputs of this row */
    struct ftc_value result; /* the result, kept here if the caller gave no memory for it */
};

/* A message with a block, to or from a row. row -1: there is none. */
struct ftc_large_hop {
    int row;
    uint32_t hop;
};

/* A place in this row. */
struct ftc_large_ring_mate {
    bool posted; /* its input is in its area */
    bool ready;  /* what it shares was copied */
    /* That copy, if the caller gave no memory for it; and where it belongs. */
    struct ftc_value copy;
    size_t offset;
};

struct ftc_ring_reduce {
    struct ftc_large_exchange base;
    struct ftc_large_grid grid;
    bool reduces, spreads; /* blocks have a first round; a second one */
    int steps;             /* of a tree: there are 2^steps rows; 0: blocks go round a ring */
    int root;              /* its place; -1: the call has none */
    int root_row;          /* -1: the call has no root */
    size_t own_offset;     /* where the result of this rank begins in the vector */
    size_t own_size;       /* 0: it gets none */
    uint32_t blocks;       /* of its column */
    struct ftc_large_ring_block *block;
    struct ftc_value *early; /* messages of first rounds that came too early: by block, by step */
    uint32_t left;         /* blocks of its column whose results have still to come to this rank */
    uint64_t missing;      /* messages of its ring that have still to come */
    int unposted, unready; /* how many of its row it waits for */
    struct ftc_large_ring_mate mate[];
};

/* The functions of this name in ftc_large_exchange_ops. */
int ftc_large_ring_create(struct ftc_large_exchange **out,
                          const struct ftc_large_exchange_settings *settings);
void ftc_large_ring_destroy(struct ftc_large_exchange *exchange);

static inline bool ftc_large_ring_has_column(const struct ftc_ring_reduce *ring)
{
    return ring->grid.column < ring->grid.columns;
}

/* The way of a block. On the first round this row gets so many messages with it, and combines them
 * in this order; then it passes the sum on, unless it is home. On the second round the result comes
 * to it, unless it is home, and goes on to so many rows. */
int ftc_large_ring_gathers(const struct ftc_ring_reduce *ring,
                           const struct ftc_large_ring_block *block);
struct ftc_large_hop ftc_large_ring_gather(const struct ftc_ring_reduce *ring,
                                           const struct ftc_large_ring_block *block, int i);
struct ftc_large_hop ftc_large_ring_pass(const struct ftc_ring_reduce *ring,
                                         const struct ftc_large_ring_block *block);
struct ftc_large_hop ftc_large_ring_result(const struct ftc_ring_reduce *ring,
                                           const struct ftc_large_ring_block *block);
int ftc_large_ring_spreads(const struct ftc_ring_reduce *ring,
                           const struct ftc_large_ring_block *block);
struct ftc_large_hop ftc_large_ring_spread(const struct ftc_ring_reduce *ring,
                                           const struct ftc_large_ring_block *block, int i);
/* How many places a block has in `early`. */
static inline int ftc_large_ring_steps(const struct ftc_ring_reduce *ring)
{
    return ring->steps > 0 ? ring->steps : 1;
}
/* The part of the vector that a column has, if the call is no reduce_scatter. */
void ftc_large_ring_part(const struct ftc_ring_reduce *ring, int column, size_t *offset,
                         size_t *size);

/* The area of a member of this row. The input of its rank is at the beginning, and the result of
 * its part at ftc_large_ring_result_offset(). */
unsigned char *ftc_large_ring_area(const struct ftc_ring_reduce *ring, int member);
size_t ftc_large_ring_result_offset(const struct ftc_ring_reduce *ring);
const unsigned char *ftc_large_ring_input(const struct ftc_ring_reduce *ring, int member);
/* Does this rank share the result of its part with others of its row? */
bool ftc_large_ring_shares_result(const struct ftc_ring_reduce *ring);

#endif
