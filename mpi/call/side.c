#include "mpi/call/side.h"

#include <stdlib.h>

struct block {
    char *at;
    MPI_Count count;
    struct ftc_mpi_type *type;
};

static struct block block_of(const struct ftc_mpi_side *side, int i)
{
    struct block block = {side->buffer, side->count, side->type};
    if (side->shape == FTC_MPI_EQUAL) {
        block.at += side->same ? 0 : i * side->count * ftc_mpi_extent(side->type);
        return block;
    }
    block.count = ftc_mpi_at(side->counts, i);
    MPI_Aint displacement = ftc_mpi_at(side->displacements, i);
    if (side->shape == FTC_MPI_TYPED)
        block.type = side->types[i];
    else
        displacement *= ftc_mpi_extent(side->type);
    block.at += displacement;
    return block;
}

static int open_type(struct ftc_mpi_side *side, MPI_Datatype datatype, MPI_Count count)
{
    int rc = ftc_mpi_type_open(datatype, &side->type);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_type_hold(side->type);
    return ftc_mpi_type_check(side->type, count);
}

int ftc_mpi_side_equal(struct ftc_mpi_side *side, void *buffer, MPI_Count count,
                       MPI_Datatype datatype, int blocks)
{
    side->shape = FTC_MPI_EQUAL;
    side->buffer = buffer;
    side->blocks = blocks;
    side->count = count;
    return open_type(side, datatype, count);
}

/* Blocks with a count and a displacement each. */
static int open_blocks(struct ftc_mpi_side *side, enum ftc_mpi_shape shape, void *buffer,
                       struct ftc_mpi_array counts, struct ftc_mpi_array displacements, int blocks)
{
    side->shape = shape;
    side->buffer = buffer;
    side->blocks = blocks;
    side->counts = counts;
    side->displacements = displacements;
    for (int i = 0; i < side->blocks; i++)
        if (ftc_mpi_at(side->counts, i) < 0)
            return ftc_mpi_error(MPI_ERR_COUNT, "count %d is negative: %lld", i,
                                 (long long)ftc_mpi_at(side->counts, i));
    return MPI_SUCCESS;
}

int ftc_mpi_side_vector(struct ftc_mpi_side *side, void *buffer, struct ftc_mpi_array counts,
                        struct ftc_mpi_array displacements, MPI_Datatype datatype, int blocks)
{
    int rc = open_blocks(side, FTC_MPI_VECTOR, buffer, counts, displacements, blocks);
    return rc != MPI_SUCCESS ? rc : open_type(side, datatype, 0);
}

int ftc_mpi_side_typed(struct ftc_mpi_side *side, void *buffer, struct ftc_mpi_array counts,
                       struct ftc_mpi_array displacements, const MPI_Datatype datatypes[],
                       int blocks)
{
    int rc = open_blocks(side, FTC_MPI_TYPED, buffer, counts, displacements, blocks);
    side->types = calloc((size_t)blocks + 1, sizeof(struct ftc_mpi_type *));
    if (side->types == NULL)
        return ftc_mpi_no_memory();
    for (int i = 0; rc == MPI_SUCCESS && i < blocks; i++) {
        struct ftc_mpi_type *type;
        rc = ftc_mpi_type_open(datatypes[i], &type);
        if (rc == MPI_SUCCESS) {
            ftc_mpi_type_hold(type);
            side->types[i] = type;
            rc = ftc_mpi_type_check(type, 0);
        }
    }
    return rc;
}

/* Are all blocks in memory as they go over the wire, at places that ftcoll can be given? */
static bool is_direct(const struct ftc_mpi_side *side)
{
    if (side->order != NULL || side->copied)
        return false;
    if (side->image || side->shape == FTC_MPI_EQUAL)
        return side->image || side->type->contiguous;
    for (int i = 0; i < side->blocks; i++) {
        struct block block = block_of(side, i);
        if (!block.type->contiguous || (block.count > 0 && ftc_mpi_at(side->displacements, i) < 0))
            return false;
    }
    return true;
}

/* Sizes and places of the blocks. Packed ones lie one after another. */
static void lay_out(struct ftc_mpi_side *side, bool direct)
{
    int n = side->order == NULL ? side->blocks : side->ordered;
    for (int k = 0; k < n; k++) {
        int i = side->order == NULL ? k : side->order[k];
        struct block block = block_of(side, i);
        side->sizes[i] = (size_t)ftc_mpi_packed(block.type, block.count);
        side->places[i] = direct && side->sizes[i] > 0 ? (size_t)(block.at - side->buffer)
                          : direct                     ? 0
                                                       : side->bytes;
        side->bytes += side->sizes[i];
    }
}

static void copy_blocks(struct ftc_mpi_side *side, bool pack)
{
    int n = side->order == NULL ? side->blocks : side->ordered;
    struct ftc_mpi_cursor cursor = {side->packed, side->bytes};
    for (int k = 0; k < n; k++) {
        struct block block = block_of(side, side->order == NULL ? k : side->order[k]);
        if (pack)
            ftc_mpi_pack_to(block.type, block.at, block.count, &cursor);
        else
            ftc_mpi_unpack_from(block.type, block.at, block.count, &cursor);
    }
}

int ftc_mpi_side_prepare(struct ftc_mpi_side *side, bool fill)
{
    if (side->shape == FTC_MPI_NO_SIDE)
        return MPI_SUCCESS;
    bool direct = is_direct(side);
    if (side->shape == FTC_MPI_EQUAL && side->order == NULL) {
        side->bytes = ftc_mpi_side_block(side) * (size_t)side->blocks;
    } else {
        side->sizes = calloc((size_t)side->blocks * 2 + 1, sizeof *side->sizes);
        if (side->sizes == NULL)
            return ftc_mpi_no_memory();
        side->places = side->sizes + side->blocks;
        side->bytes = 0;
        lay_out(side, direct);
    }
    if (direct)
        return MPI_SUCCESS;
    side->packed = malloc(side->bytes + 1);
    if (side->packed == NULL)
        return ftc_mpi_no_memory();
    if (fill)
        copy_blocks(side, true);
    return MPI_SUCCESS;
}

void ftc_mpi_side_deliver(struct ftc_mpi_side *side)
{
    if (side->packed != NULL)
        copy_blocks(side, false);
}

void ftc_mpi_side_release(struct ftc_mpi_side *side)
{
    if (side->shape == FTC_MPI_NO_SIDE)
        return;
    free(side->packed);
    free(side->sizes);
    ftc_mpi_type_release(side->type);
    for (int i = 0; side->types != NULL && i < side->blocks; i++)
        ftc_mpi_type_release(side->types[i]);
    free(side->types);
}
