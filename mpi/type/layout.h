/*
 * Where the bytes of a datatype lie: a tree of loops and lists above elements, in the order of the
 * type map. It is made once, when the datatype is made, shared by datatypes that build on each
 * other, and never changes.
 *
 *     element   one element of a basic datatype
 *     loop      `count` times the child, `stride` bytes apart
 *     list      children at offsets of their own
 *
 * A dense layout is one whose bytes lie side by side from its start, in the order in which they are
 * packed: it is copied by one memcpy(). So a vector of blocks is one loop of memcpy(), at whichever
 * depth.
 */
#ifndef FTC_MPI_LAYOUT_H
#define FTC_MPI_LAYOUT_H

#include "mpi/object/object.h"

struct ftc_mpi_basic;

struct ftc_mpi_layout {
    atomic_int references;
    enum { FTC_MPI_ELEMENT, FTC_MPI_LOOP, FTC_MPI_LIST } form;
    bool dense;
    MPI_Count size;     /* packed, in bytes */
    MPI_Count elements; /* of basic datatypes */
    MPI_Aint low, high; /* from the start to the first byte, and behind the last one */
    MPI_Count count;    /* of a loop or a list */
    MPI_Aint stride;    /* of a loop */
    const struct ftc_mpi_basic *basic;    /* of an element */
    struct ftc_mpi_layout *child;         /* of a loop */
    struct ftc_mpi_layout_entry *entries; /* of a list */
};

struct ftc_mpi_layout_entry {
    MPI_Aint offset;
    struct ftc_mpi_layout *child;
};

/* New layouts; NULL: no memory, or more bytes than a number can hold. They hold their children, and
 * the caller its own reference. */
struct ftc_mpi_layout *ftc_mpi_layout_element(const struct ftc_mpi_basic *basic, size_t size);
struct ftc_mpi_layout *ftc_mpi_layout_loop(MPI_Count count, MPI_Aint stride,
                                           struct ftc_mpi_layout *child);
/* A list of `count` entries that the caller fills in, each with a reference of its own, before
 * ftc_mpi_layout_listed(). That returns the layout, or a simpler one in its place. */
struct ftc_mpi_layout *ftc_mpi_layout_list(MPI_Count count);
struct ftc_mpi_layout *ftc_mpi_layout_listed(struct ftc_mpi_layout *list);

struct ftc_mpi_layout *ftc_mpi_layout_hold(struct ftc_mpi_layout *layout);
void ftc_mpi_layout_release(struct ftc_mpi_layout *layout); /* NULL: nothing to do */

/* A place in packed bytes. */
struct ftc_mpi_cursor {
    char *wire;
    size_t left;
};

/* Copy `count` times the layout, `extent` bytes apart from `memory` on, to the cursor, or from it.
 * The copy ends with the bytes that are left. */
void ftc_mpi_layout_pack(const struct ftc_mpi_layout *layout, const void *memory, MPI_Count count,
                         MPI_Aint extent, struct ftc_mpi_cursor *to);
void ftc_mpi_layout_unpack(const struct ftc_mpi_layout *layout, void *memory, MPI_Count count,
                           MPI_Aint extent, struct ftc_mpi_cursor *from);

/* How many elements of basic datatypes are whole in the first *bytes packed bytes of one layout;
 * *bytes becomes what is left behind them. */
MPI_Count ftc_mpi_layout_elements(const struct ftc_mpi_layout *layout, MPI_Count *bytes);
/* The packed bytes of its first `elements` elements. */
MPI_Count ftc_mpi_layout_bytes(const struct ftc_mpi_layout *layout, MPI_Count elements);

/* Calls `each` for each element in the order of the type map, until it returns false. */
typedef bool ftc_mpi_each_element(void *arg, const struct ftc_mpi_basic *basic, char *memory);
bool ftc_mpi_layout_walk(const struct ftc_mpi_layout *layout, char *memory,
                         ftc_mpi_each_element *each, void *arg);

#endif
