/*
 * What all objects of MPI have in common. A handle of a predefined object is a small number of the
 * standard ABI; another handle is the address of the object. An object is freed when nothing refers
 * to it any more: the program by a handle, a request, or another object.
 */
#ifndef FTC_MPI_OBJECT_H
#define FTC_MPI_OBJECT_H

#include "mpi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an object is; it begins with this number, so that a wrong handle is mostly noticed. */
enum ftc_mpi_kind {
    FTC_MPI_COMM = 0x4d504901,
    FTC_MPI_INTERCOMM,
    FTC_MPI_GROUP,
    FTC_MPI_TYPE,
    FTC_MPI_OP,
    FTC_MPI_ERRHANDLER,
    FTC_MPI_INFO,
    FTC_MPI_REQUEST,
    FTC_MPI_MATCHED,
};

struct ftc_mpi_object {
    enum ftc_mpi_kind kind;
    atomic_int references;
};

/* An array of int or, if it is wide, of MPI_Count or MPI_Aint. */
struct ftc_mpi_array {
    const void *at;
    bool wide;
};

static inline MPI_Count ftc_mpi_at(struct ftc_mpi_array array, MPI_Count i)
{
    return array.wide ? ((const MPI_Count *)array.at)[i] : ((const int *)array.at)[i];
}

/* Is the handle the number of a predefined object, or of none? */
static inline bool ftc_mpi_is_number(const void *handle)
{
    return (uintptr_t)handle < 0x1000;
}

/* The object of the handle, or NULL if it is none of that kind. */
static inline void *ftc_mpi_object(const void *handle, enum ftc_mpi_kind kind)
{
    const struct ftc_mpi_object *object = handle;
    if (ftc_mpi_is_number(handle) || (uintptr_t)handle % _Alignof(max_align_t) != 0)
        return NULL;
    return object->kind == kind ? (void *)handle : NULL;
}

/* A new object of `bytes` bytes, cleared, with one reference; NULL: no memory. It begins with a
 * struct ftc_mpi_object. */
void *ftc_mpi_object_new(enum ftc_mpi_kind kind, size_t bytes);

static inline void ftc_mpi_object_hold(struct ftc_mpi_object *object)
{
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
}

/* Gives a reference up. True: it was the last one. The caller then frees what the object has, and
 * ends with ftc_mpi_object_free(). */
bool ftc_mpi_object_drop(struct ftc_mpi_object *object);
void ftc_mpi_object_free(struct ftc_mpi_object *object);

/* One lock for what threads change at objects: attributes, entries of an info, error codes. No
 * function of the program is called while it is held. */
void ftc_mpi_lock(void);
void ftc_mpi_unlock(void);

/* Copies at most MPI_MAX_OBJECT_NAME - 1 bytes of `name` to `place`. */
void ftc_mpi_name_set(char place[MPI_MAX_OBJECT_NAME], const char *name);

#endif
