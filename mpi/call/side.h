/*
 * One side of a collective call: what a rank gives, or what it gets, as blocks for other ranks. On
 * the wire a block is its packed bytes. Blocks that lie in memory as they go over the wire are
 * given to ftcoll where they are; others are packed into memory of the side.
 */
#ifndef FTC_MPI_SIDE_H
#define FTC_MPI_SIDE_H

#include "mpi/type/type.h"

enum ftc_mpi_shape {
    FTC_MPI_NO_SIDE,
    FTC_MPI_EQUAL,  /* blocks of `count` elements, one after another */
    FTC_MPI_VECTOR, /* a count for each block, and a displacement in extents */
    FTC_MPI_TYPED,  /* a count and a datatype for each block, and a displacement in bytes */
};

struct ftc_mpi_side {
    enum ftc_mpi_shape shape;
    char *buffer;
    int blocks;
    MPI_Count count;
    struct ftc_mpi_type *type;   /* with a reference */
    struct ftc_mpi_type **types; /* TYPED: with references */
    struct ftc_mpi_array counts, displacements;
    const int *order; /* NULL, or the blocks that are packed, in their order */
    int ordered;
    bool same;   /* all blocks are the first one */
    bool image;  /* elements are given as they are in memory, with their padding */
    bool copied; /* packed in each case */

    /* After ftc_mpi_side_prepare(). */
    char *packed;   /* NULL: the blocks are given where they are */
    size_t bytes;   /* of all blocks */
    size_t *sizes;  /* of each block in bytes; NULL with EQUAL */
    size_t *places; /* of each block from ftc_mpi_side_at() on, in bytes */
};

/* Open a side, which is cleared before: they check datatypes and counts. ftc_mpi_side_release()
 * takes it back, also after an error. */
int ftc_mpi_side_equal(struct ftc_mpi_side *side, void *buffer, MPI_Count count,
                       MPI_Datatype datatype, int blocks);
int ftc_mpi_side_vector(struct ftc_mpi_side *side, void *buffer, struct ftc_mpi_array counts,
                        struct ftc_mpi_array displacements, MPI_Datatype datatype, int blocks);
int ftc_mpi_side_typed(struct ftc_mpi_side *side, void *buffer, struct ftc_mpi_array counts,
                       struct ftc_mpi_array displacements, const MPI_Datatype datatypes[],
                       int blocks);

/* Lays the side out. With `fill` packed memory gets what the blocks hold. */
int ftc_mpi_side_prepare(struct ftc_mpi_side *side, bool fill);
/* Where its bytes begin. */
static inline char *ftc_mpi_side_at(const struct ftc_mpi_side *side)
{
    return side->packed != NULL ? side->packed : side->buffer;
}
/* The bytes of one block of EQUAL. */
static inline size_t ftc_mpi_side_block(const struct ftc_mpi_side *side)
{
    return side->image ? (size_t)(ftc_mpi_extent(side->type) * side->count)
                       : (size_t)ftc_mpi_packed(side->type, side->count);
}
/* Copies what was packed to the blocks, if anything was. */
void ftc_mpi_side_deliver(struct ftc_mpi_side *side);
void ftc_mpi_side_release(struct ftc_mpi_side *side);

#endif
