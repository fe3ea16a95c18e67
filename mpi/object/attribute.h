/*
 * Attributes: values that a program hangs on communicators and datatypes by keys of its own. A key
 * has functions that copy and delete its values.
 */
#ifndef FTC_MPI_ATTRIBUTE_H
#define FTC_MPI_ATTRIBUTE_H

#include "mpi/object/object.h"

/* The attributes of an object, the latest first. Cleared: none. */
struct ftc_mpi_attribute;
struct ftc_mpi_attributes {
    struct ftc_mpi_attribute *first;
};

/* The functions of a key; which of the two is set is said by the kind of the objects. */
union ftc_mpi_copy_attribute {
    MPI_Comm_copy_attr_function *comm;
    MPI_Type_copy_attr_function *type;
};
union ftc_mpi_delete_attribute {
    MPI_Comm_delete_attr_function *comm;
    MPI_Type_delete_attr_function *type;
};

/* A key for objects of `kind` (FTC_MPI_COMM or FTC_MPI_TYPE). */
int ftc_mpi_key_new(enum ftc_mpi_kind kind, union ftc_mpi_copy_attribute copy,
                    union ftc_mpi_delete_attribute delete, void *extra, int *keyval);
/* No new values; the key goes when the last value has gone. *keyval becomes MPI_KEYVAL_INVALID. */
int ftc_mpi_key_free(enum ftc_mpi_kind kind, int *keyval);

/* These call the functions of the key, with `handle` for the object. The first error of such a
 * function ends the call, and is returned. */
int ftc_mpi_attribute_set(struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind,
                          void *handle, int keyval, void *value);
int ftc_mpi_attribute_delete(struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind,
                             void *handle, int keyval);
int ftc_mpi_attribute_get(const struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind,
                          int keyval, void *value, int *flag);
/* Copies to `copy`, which has none, what the functions want to be copied. After an error `copy` has
 * those copied so far: the caller deletes them. */
int ftc_mpi_attributes_copy(const struct ftc_mpi_attributes *from, enum ftc_mpi_kind kind,
                            void *handle, struct ftc_mpi_attributes *copy);
/* Deletes all, the latest first. */
int ftc_mpi_attributes_clear(struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind,
                             void *handle);

#endif
