/*
 * Where the contributions of the ranks go in the result (collectives/call.h, ftc_take_fn).
 * A call takes a piece of each contribution to a place of its own, or combines pieces in the order
 * of ranks.
 */
#ifndef FTC_RUNTIME_API_GATHERING_H
#define FTC_RUNTIME_API_GATHERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"
#include "collectives/values/types.h"

/* The parts of a buffer: one for each rank. */
struct ftc_parts {
    size_t element;        /* bytes */
    size_t count;          /* elements of each part, one part behind the other */
    const size_t *counts;  /* NULL: `count` holds; else the elements of each part, */
    const size_t *offsets; /* and where it begins, in elements */
    int ranks;
};

/* `count` elements for each rank; or, if counts is not NULL, counts[] elements at offsets[].
 * FTC_ERR_ARG: there is no such type, or the parts do not fit into memory. */
int ftc_parts_init(struct ftc_parts *parts, int ranks, ftc_type type, size_t count,
                   const size_t *counts, const size_t *offsets);
size_t ftc_part_size(const struct ftc_parts *parts, int rank);   /* bytes */
size_t ftc_part_offset(const struct ftc_parts *parts, int rank); /* bytes */
size_t ftc_parts_greatest(const struct ftc_parts *parts);        /* bytes of the greatest part */
size_t ftc_parts_end(const struct ftc_parts *parts);             /* where the last one ends */
size_t ftc_parts_total(const struct ftc_parts *parts);           /* bytes of all */

/* Contributions with a table at their beginning: rank r gets the bytes from begins[r] to
 * begins[r + 1], which count from the start of the contribution. */
size_t ftc_parts_packed(const struct ftc_parts *parts); /* bytes of such a contribution */
void ftc_parts_pack(const struct ftc_parts *parts, const void *from, void *contribution);
/* Where the part of one rank lies in the contribution of another, as its table says. */
struct ftc_bounds {
    uint64_t begin, end;
};

struct ftc_gathering {
    int rank, ranks;
    size_t from, size; /* this rank's piece of each contribution; `size` only if it is combined */

    /* --- pieces that go to places --- */
    struct ftc_parts places;
    bool in_place;             /* this rank's piece is at its place already */
    struct ftc_bounds *bounds; /* of each rank; NULL: the piece begins at `from` */
    int mismatched;            /* a rank whose piece has not the size of its place; -1: none */

    /* --- pieces that are combined --- */
    struct ftc_reduction *reduction;
    int highest; /* the ranks up to this one are combined */
    int base;    /* the highest rank that was combined; -1: none */
};

/* Both are ftc_take_fn, whose `arg` is a struct ftc_gathering. */
void ftc_gathering_take(void *arg, int rank, size_t offset, const void *data, size_t size,
                        bool first, void *result);
void ftc_gathering_combine(void *arg, int rank, size_t offset, const void *data, size_t size,
                           bool first, void *result);

/* An ftc_place_fn of the former; and of the latter for calls that may leave the result as it is. */
size_t ftc_gathering_place_of(void *arg, int rank, size_t *offset);
size_t ftc_gathering_result_of(void *arg, int rank, size_t *offset);

#endif
