/* The constructors of datatypes that list blocks. Each makes a list of blocks, and ftc_mpi_blocks()
 * makes a layout of it. */
#include "mpi/type/type.h"

#include "functions.h"

#include <stdlib.h>

/* Widens the bounds by those of a block. A mark beats all that is not marked. */
static void widen(struct ftc_mpi_bounds *bounds, const struct ftc_mpi_block *block, bool first)
{
    const struct ftc_mpi_bounds *own = &block->type->bounds;
    MPI_Aint reach = (block->count - 1) * ftc_mpi_extent(block->type);
    MPI_Aint lb = block->offset + own->lb + (reach < 0 ? reach : 0);
    MPI_Aint ub = block->offset + own->ub + (reach > 0 ? reach : 0);
    if (first || (own->lb_marked && !bounds->lb_marked) ||
        (own->lb_marked == bounds->lb_marked && lb < bounds->lb))
        bounds->lb = lb;
    if (first || (own->ub_marked && !bounds->ub_marked) ||
        (own->ub_marked == bounds->ub_marked && ub > bounds->ub))
        bounds->ub = ub;
    bounds->lb_marked |= own->lb_marked;
    bounds->ub_marked |= own->ub_marked;
}

/* Does `next` go on where `block` ends, so that they are one block? */
static bool joins(const struct ftc_mpi_block *block, const struct ftc_mpi_block *next)
{
    return block->type == next->type &&
           next->offset == block->offset + block->count * ftc_mpi_extent(block->type);
}

/* The blocks that have bytes, joined where they can be; returns how many. */
static MPI_Count join(const struct ftc_mpi_block *blocks, MPI_Count count,
                      struct ftc_mpi_block *joined)
{
    MPI_Count n = 0;
    for (MPI_Count i = 0; i < count; i++) {
        if (blocks[i].count == 0 || blocks[i].type->layout->size == 0)
            continue;
        if (n > 0 && joins(&joined[n - 1], &blocks[i]))
            joined[n - 1].count += blocks[i].count;
        else
            joined[n++] = blocks[i];
    }
    return n;
}

/* A list of the blocks. Neighbours that are alike share one layout. */
static struct ftc_mpi_layout *list_blocks(const struct ftc_mpi_block *blocks, MPI_Count count)
{
    struct ftc_mpi_layout *list = ftc_mpi_layout_list(count);
    if (list == NULL)
        return NULL;
    for (MPI_Count i = 0; i < count; i++) {
        const struct ftc_mpi_block *block = &blocks[i];
        struct ftc_mpi_layout_entry *entry = &list->entries[i];
        entry->offset = block->offset;
        if (i > 0 && block->type == block[-1].type && block->count == block[-1].count)
            entry->child = ftc_mpi_layout_hold(entry[-1].child);
        else
            entry->child =
                ftc_mpi_layout_loop(block->count, ftc_mpi_extent(block->type), block->type->layout);
        if (entry->child == NULL) {
            ftc_mpi_layout_release(list);
            return NULL;
        }
    }
    return ftc_mpi_layout_listed(list);
}

/* Are the blocks alike, and at equal steps? Then they are one loop. */
static bool are_regular(const struct ftc_mpi_block *blocks, MPI_Count count)
{
    for (MPI_Count i = 1; i < count; i++)
        if (blocks[i].type != blocks[0].type || blocks[i].count != blocks[0].count ||
            blocks[i].offset - blocks[i - 1].offset != blocks[1].offset - blocks[0].offset)
            return false;
    return count > 2;
}

static struct ftc_mpi_layout *loop_blocks(const struct ftc_mpi_block *blocks, MPI_Count count)
{
    struct ftc_mpi_block one = *blocks;
    struct ftc_mpi_layout *list = ftc_mpi_layout_list(1);
    struct ftc_mpi_layout *block =
        ftc_mpi_layout_loop(one.count, ftc_mpi_extent(one.type), one.type->layout);
    if (list != NULL && block != NULL) {
        list->entries[0].offset = one.offset;
        list->entries[0].child =
            ftc_mpi_layout_loop(count, blocks[1].offset - blocks[0].offset, block);
    }
    ftc_mpi_layout_release(block);
    if (list != NULL && list->entries[0].child != NULL)
        return ftc_mpi_layout_listed(list);
    ftc_mpi_layout_release(list);
    return NULL;
}

struct ftc_mpi_layout *ftc_mpi_blocks(const struct ftc_mpi_block *blocks, MPI_Count count,
                                      struct ftc_mpi_bounds *bounds, size_t *align)
{
    bool first = true;
    *bounds = (struct ftc_mpi_bounds){0};
    *align = 1;
    for (MPI_Count i = 0; i < count; i++) {
        if (blocks[i].count == 0)
            continue;
        widen(bounds, &blocks[i], first);
        first = false;
        if (blocks[i].type->align > *align)
            *align = blocks[i].type->align;
    }
    struct ftc_mpi_block *joined = malloc((size_t)count * sizeof *joined + 1);
    if (joined == NULL)
        return NULL;
    MPI_Count n = join(blocks, count, joined);
    struct ftc_mpi_layout *layout =
        are_regular(joined, n) ? loop_blocks(joined, n) : list_blocks(joined, n);
    free(joined);
    return layout;
}

/* What a constructor has: its blocks, and its contents, which it fills in. */
struct making {
    struct ftc_mpi_block *blocks;
    MPI_Count count;
    struct ftc_mpi_contents contents;
};

static int check_count(MPI_Count count)
{
    return count >= 0
               ? MPI_SUCCESS
               : ftc_mpi_error(MPI_ERR_COUNT, "a count of %lld is negative", (long long)count);
}

/* Room for `count` blocks, and for the contents, which have at most a length, a place and a
 * datatype of each block. */
static int begin(struct making *m, int combiner, MPI_Count count)
{
    *m = (struct making){.count = count, .contents.combiner = combiner};
    int rc = check_count(count);
    if (rc != MPI_SUCCESS)
        return rc;
    m->blocks = calloc((size_t)count + 1, sizeof *m->blocks);
    m->contents.integers = calloc((size_t)count * 2 + 2, sizeof(MPI_Count));
    m->contents.addresses = calloc((size_t)count + 1, sizeof(MPI_Aint));
    m->contents.types = calloc((size_t)count + 1, sizeof(struct ftc_mpi_type *));
    if (m->blocks == NULL || m->contents.integers == NULL || m->contents.addresses == NULL ||
        m->contents.types == NULL)
        return ftc_mpi_no_memory();
    return MPI_SUCCESS;
}

static void add_integer(struct making *m, MPI_Count value)
{
    m->contents.integers[m->contents.integers_count++] = value;
}

static void add_address(struct making *m, MPI_Aint value)
{
    m->contents.addresses[m->contents.addresses_count++] = value;
}

static void add_type(struct making *m, struct ftc_mpi_type *type)
{
    m->contents.types[m->contents.types_count++] = type;
}

/* Ends a constructor that has got so far without an error, or with rc. */
static int finish(struct making *m, int rc, bool round_up, MPI_Datatype *newtype)
{
    struct ftc_mpi_bounds bounds;
    size_t align;
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < m->count; i++)
        rc = check_count(m->blocks[i].count);
    if (rc == MPI_SUCCESS) {
        struct ftc_mpi_layout *layout = ftc_mpi_blocks(m->blocks, m->count, &bounds, &align);
        MPI_Aint over = (bounds.ub - bounds.lb) % (MPI_Aint)align;
        if (round_up && !bounds.ub_marked && over > 0)
            bounds.ub += (MPI_Aint)align - over;
        rc = ftc_mpi_type_give(layout, bounds, align, &m->contents, newtype);
    }
    free(m->blocks);
    free(m->contents.integers);
    free(m->contents.addresses);
    free(m->contents.types);
    return rc;
}

/* Blocks at equal steps, without a list of them. */
static int vector(const struct ftc_mpi_contents *contents, MPI_Count count, MPI_Count blocklength,
                  MPI_Aint stride, struct ftc_mpi_type *old, MPI_Datatype *newtype)
{
    struct ftc_mpi_bounds bounds = {0};
    struct ftc_mpi_block first = {.count = blocklength, .type = old}, last = first;
    int rc = check_count(count);
    if (rc == MPI_SUCCESS)
        rc = check_count(blocklength);
    if (rc != MPI_SUCCESS)
        return rc;
    last.offset = (count - 1) * stride;
    if (count > 0 && blocklength > 0) {
        widen(&bounds, &first, true);
        widen(&bounds, &last, false);
    }
    struct ftc_mpi_layout *layout = NULL;
    struct ftc_mpi_layout *block =
        ftc_mpi_layout_loop(blocklength, ftc_mpi_extent(old), old->layout);
    if (block != NULL)
        layout = ftc_mpi_layout_loop(count, stride, block);
    ftc_mpi_layout_release(block);
    return ftc_mpi_type_give(layout, bounds, count > 0 && blocklength > 0 ? old->align : 1,
                             contents, newtype);
}

/* The contents of a datatype that is made of one other, without copies. */
static struct ftc_mpi_contents made_of(struct ftc_mpi_type **old, int combiner, int integers_count,
                                       MPI_Count *integers, int addresses_count,
                                       MPI_Aint *addresses)
{
    return (struct ftc_mpi_contents){.combiner = combiner,
                                     .integers_count = integers_count,
                                     .integers = integers,
                                     .addresses_count = addresses_count,
                                     .addresses = addresses,
                                     .types_count = 1,
                                     .types = old};
}

int ftc_mpi_type_contiguous(MPI_Count count, struct ftc_mpi_type *old, MPI_Datatype *newtype)
{
    struct ftc_mpi_contents contents = made_of(&old, MPI_COMBINER_CONTIGUOUS, 1, &count, 0, NULL);
    return vector(&contents, 1, count, 0, old, newtype);
}

int ftc_mpi_type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                        struct ftc_mpi_type *old, MPI_Datatype *newtype)
{
    MPI_Count integers[] = {count, blocklength, stride};
    struct ftc_mpi_contents contents = made_of(&old, MPI_COMBINER_VECTOR, 3, integers, 0, NULL);
    return vector(&contents, count, blocklength, stride * ftc_mpi_extent(old), old, newtype);
}

int ftc_mpi_type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                                struct ftc_mpi_type *old, MPI_Datatype *newtype)
{
    MPI_Count integers[] = {count, blocklength};
    struct ftc_mpi_contents contents = made_of(&old, MPI_COMBINER_HVECTOR, 2, integers, 1, &stride);
    return vector(&contents, count, blocklength, stride, old, newtype);
}

/* Blocks at places that are listed: in bytes, or in extents of the datatype. `same` is the length
 * of all blocks; NULL: `lengths` has them. */
static int list(int combiner, MPI_Count count, const MPI_Count *same, struct ftc_mpi_array lengths,
                struct ftc_mpi_array places, bool in_bytes, struct ftc_mpi_type *old,
                MPI_Datatype *newtype)
{
    struct making m;
    int rc = begin(&m, combiner, count);
    if (rc == MPI_SUCCESS) {
        add_type(&m, old);
        add_integer(&m, count);
        if (same != NULL)
            add_integer(&m, *same);
    }
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < count; i++) {
        m.blocks[i].offset = ftc_mpi_at(places, i) * (in_bytes ? 1 : ftc_mpi_extent(old));
        m.blocks[i].count = same != NULL ? *same : ftc_mpi_at(lengths, i);
        m.blocks[i].type = old;
        if (same == NULL)
            add_integer(&m, m.blocks[i].count);
    }
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < count; i++)
        if (in_bytes)
            add_address(&m, ftc_mpi_at(places, i));
        else
            add_integer(&m, ftc_mpi_at(places, i));
    return finish(&m, rc, false, newtype);
}

static const struct ftc_mpi_array no_lengths;

int ftc_mpi_type_indexed(MPI_Count count, struct ftc_mpi_array array_of_blocklengths,
                         struct ftc_mpi_array array_of_displacements, struct ftc_mpi_type *old,
                         MPI_Datatype *newtype)
{
    return list(MPI_COMBINER_INDEXED, count, NULL, array_of_blocklengths, array_of_displacements,
                false, old, newtype);
}

int ftc_mpi_type_create_hindexed(MPI_Count count, struct ftc_mpi_array array_of_blocklengths,
                                 const MPI_Count array_of_displacements[], struct ftc_mpi_type *old,
                                 MPI_Datatype *newtype)
{
    return list(MPI_COMBINER_HINDEXED, count, NULL, array_of_blocklengths,
                (struct ftc_mpi_array){array_of_displacements, true}, true, old, newtype);
}

int ftc_mpi_type_create_indexed_block(MPI_Count count, MPI_Count blocklength,
                                      struct ftc_mpi_array array_of_displacements,
                                      struct ftc_mpi_type *old, MPI_Datatype *newtype)
{
    return list(MPI_COMBINER_INDEXED_BLOCK, count, &blocklength, no_lengths, array_of_displacements,
                false, old, newtype);
}

int ftc_mpi_type_create_hindexed_block(MPI_Count count, MPI_Count blocklength,
                                       const MPI_Count array_of_displacements[],
                                       struct ftc_mpi_type *old, MPI_Datatype *newtype)
{
    return list(MPI_COMBINER_HINDEXED_BLOCK, count, &blocklength, no_lengths,
                (struct ftc_mpi_array){array_of_displacements, true}, true, old, newtype);
}

/* The extent is rounded up to the alignment of its members, as the compiler does with a struct. */
int ftc_mpi_type_create_struct(MPI_Count count, struct ftc_mpi_array array_of_blocklengths,
                               const MPI_Count array_of_displacements[],
                               const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    struct making m;
    int rc = begin(&m, MPI_COMBINER_STRUCT, count);
    if (rc == MPI_SUCCESS)
        add_integer(&m, count);
    for (MPI_Count i = 0; rc == MPI_SUCCESS && i < count; i++) {
        m.blocks[i].offset = array_of_displacements[i];
        m.blocks[i].count = ftc_mpi_at(array_of_blocklengths, i);
        add_integer(&m, m.blocks[i].count);
        add_address(&m, m.blocks[i].offset);
        rc = ftc_mpi_type_open(array_of_types[i], &m.blocks[i].type);
        if (rc == MPI_SUCCESS)
            add_type(&m, m.blocks[i].type);
    }
    return finish(&m, rc, true, newtype);
}

int ftc_mpi_type_create_resized(struct ftc_mpi_type *old, MPI_Count lb, MPI_Count extent,
                                MPI_Datatype *newtype)
{
    MPI_Aint addresses[] = {lb, extent};
    struct ftc_mpi_contents contents = made_of(&old, MPI_COMBINER_RESIZED, 0, NULL, 2, addresses);
    struct ftc_mpi_bounds bounds = {lb, lb + extent, true, true};
    return ftc_mpi_type_give(ftc_mpi_layout_hold(old->layout), bounds, old->align, &contents,
                             newtype);
}
