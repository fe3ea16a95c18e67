/*
 * The plan of the rings of ring_reduce.c: which blocks there are, where each begins, and what of it
 * lies in the memory that the ranks of a node share. Private to collectives/large.
 */
#ifndef FTC_COLLECTIVES_LARGE_RING_PLAN_H
#define FTC_COLLECTIVES_LARGE_RING_PLAN_H

#include "collectives/large/grid.h"
#include "collectives/large/internal.h"

struct ftc_large_ring_block {
    size_t offset, size;
    int first;               /* the row at which it begins */
    bool passed;             /* its first round has passed this rank, or it begins here */
    bool whole;              /* its result is here */
    struct ftc_value result; /* the result, kept here if the caller gave no memory for it */
    /* It came before the inputs of this node were there. */
    struct ftc_value early;
    uint32_t early_hop;
};

/* What is known of a place in this row. */
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
    int root;              /* its place; -1: the call has none */
    int root_row;          /* -1: the call has no root */
    size_t own_offset;     /* where the result of this rank begins in the vector */
    size_t own_size;       /* 0: it gets none */
    uint32_t blocks;       /* of its column */
    struct ftc_large_ring_block *block;
    uint32_t left;         /* blocks of its column whose results have still to come to this rank */
    uint64_t missing;      /* messages of its ring that have still to come */
    int unposted, unready; /* how many of its row it waits for */
    struct ftc_large_ring_mate mate[];
};

/* What ftc_large_exchange_ops have. */
int ftc_large_ring_create(struct ftc_large_exchange **out,
                          const struct ftc_large_exchange_settings *settings);
void ftc_large_ring_destroy(struct ftc_large_exchange *exchange);

/* The number of the last row, which is how many rows are behind the one where a block begins. */
static inline uint32_t ftc_large_ring_last(const struct ftc_ring_reduce *ring)
{
    return (uint32_t)ring->grid.rows - 1;
}

static inline bool ftc_large_ring_has_column(const struct ftc_ring_reduce *ring)
{
    return ring->grid.column < ring->grid.columns;
}

/* How many rows this one is behind the one at which the block begins. */
uint32_t ftc_large_ring_distance(const struct ftc_ring_reduce *ring,
                                 const struct ftc_large_ring_block *block);
int ftc_large_ring_row_behind(const struct ftc_ring_reduce *ring, int row);
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
