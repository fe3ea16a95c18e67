/* Datatypes. */
#ifndef FTC_MPI_TYPE_H
#define FTC_MPI_TYPE_H

#include "mpi/object/attribute.h"
#include "mpi/object/error.h"
#include "mpi/type/basic.h"
#include "mpi/type/layout.h"

/* The bounds of a datatype. With a mark they were set by MPI_Type_create_resized(), and hold in the
 * datatypes that are built on it, too (MPI 5.0, 5.1.6). */
struct ftc_mpi_bounds {
    MPI_Aint lb, ub;
    bool lb_marked, ub_marked;
};

/* How it was made, for MPI_Type_get_contents(). */
struct ftc_mpi_contents {
    int combiner;
    int integers_count, addresses_count, types_count;
    MPI_Count *integers;
    MPI_Aint *addresses;
    struct ftc_mpi_type **types; /* each with a reference */
};

struct ftc_mpi_type {
    struct ftc_mpi_object object;
    const struct ftc_mpi_basic *basic; /* NULL: it is derived */
    struct ftc_mpi_layout *layout;
    struct ftc_mpi_bounds bounds;
    size_t align;
    bool committed;
    bool contiguous; /* elements in memory are as they are packed, one after another */
    struct ftc_mpi_contents contents;
    struct ftc_mpi_attributes attributes;
    char name[MPI_MAX_OBJECT_NAME];
};

static inline MPI_Aint ftc_mpi_extent(const struct ftc_mpi_type *type)
{
    return type->bounds.ub - type->bounds.lb;
}

/* The predefined datatypes, by their handles less the lowest one. */
#define FTC_MPI_TYPE_LOWEST 0x200
extern struct ftc_mpi_type ftc_mpi_types[0x100];

/* The datatype of the handle, or NULL. */
static inline struct ftc_mpi_type *ftc_mpi_type_of(MPI_Datatype datatype)
{
    uintptr_t number = (uintptr_t)datatype - FTC_MPI_TYPE_LOWEST;
    if (number < sizeof ftc_mpi_types / sizeof *ftc_mpi_types)
        return ftc_mpi_types[number].basic != NULL ? &ftc_mpi_types[number] : NULL;
    return ftc_mpi_object(datatype, FTC_MPI_TYPE);
}

/* The handle for the datatype. */
MPI_Datatype ftc_mpi_type_handle(struct ftc_mpi_type *type);

/* The datatype in *type; MPI_ERR_TYPE if the handle is none. */
int ftc_mpi_type_open(MPI_Datatype datatype, struct ftc_mpi_type **type);
/* Of a call that moves data: it must be committed, and the count not negative. */
int ftc_mpi_type_check(const struct ftc_mpi_type *type, MPI_Count count);

void ftc_mpi_type_hold(struct ftc_mpi_type *type);
void ftc_mpi_type_release(struct ftc_mpi_type *type);

/* A new datatype with this layout (whose reference it takes over; NULL: there was no memory), these
 * bounds and this alignment; its contents are copied. */
int ftc_mpi_type_give(struct ftc_mpi_layout *layout, struct ftc_mpi_bounds bounds, size_t align,
                      const struct ftc_mpi_contents *contents, MPI_Datatype *newtype);

/* Blocks of other datatypes, as constructors list them. */
struct ftc_mpi_block {
    MPI_Aint offset;
    MPI_Count count;
    struct ftc_mpi_type *type;
};
/* The layout, the bounds and the alignment of `count` blocks. NULL: no memory. */
struct ftc_mpi_layout *ftc_mpi_blocks(const struct ftc_mpi_block *blocks, MPI_Count count,
                                      struct ftc_mpi_bounds *bounds, size_t *align);

/* The size of `count` elements in bytes when packed. */
static inline MPI_Count ftc_mpi_packed(const struct ftc_mpi_type *type, MPI_Count count)
{
    return type->layout->size * count;
}

/* Copies between memory and packed bytes. */
void ftc_mpi_pack_to(const struct ftc_mpi_type *type, const void *memory, MPI_Count count,
                     struct ftc_mpi_cursor *to);
void ftc_mpi_unpack_from(const struct ftc_mpi_type *type, void *memory, MPI_Count count,
                         struct ftc_mpi_cursor *from);

#endif
