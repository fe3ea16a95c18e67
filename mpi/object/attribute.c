#include "mpi/object/attribute.h"

#include "mpi/object/error.h"

#include <stdlib.h>

/* The first number of a key of a program; the predefined ones are below. */
#define FIRST_KEY 10001

struct key {
    enum ftc_mpi_kind kind; /* 0: free */
    union ftc_mpi_copy_attribute copy;
    union ftc_mpi_delete_attribute delete;
    void *extra;
    int values; /* that there are */
    bool freed; /* by the program */
};

struct ftc_mpi_attribute {
    struct ftc_mpi_attribute *next;
    int keyval;
    void *value;
};

static struct {
    struct key *keys;
    int count;
} table;

/* The key of the number, for objects of the kind, or NULL. The caller holds the lock. */
static struct key *find_key(enum ftc_mpi_kind kind, int keyval)
{
    int i = keyval - FIRST_KEY;
    return i >= 0 && i < table.count && table.keys[i].kind == kind ? &table.keys[i] : NULL;
}

static int no_key(int keyval)
{
    return ftc_mpi_error(MPI_ERR_KEYVAL, "%d is no key for attributes of this object", keyval);
}

int ftc_mpi_key_new(enum ftc_mpi_kind kind, union ftc_mpi_copy_attribute copy,
                    union ftc_mpi_delete_attribute delete, void *extra, int *keyval)
{
    ftc_mpi_lock();
    int i = 0;
    while (i < table.count && table.keys[i].kind != 0)
        i++;
    struct key *grown = table.keys;
    if (i == table.count)
        grown = realloc(table.keys, (size_t)(i + 1) * sizeof *grown);
    if (grown != NULL) {
        table.keys = grown;
        table.count += i == table.count;
        grown[i] = (struct key){.kind = kind, .copy = copy, .delete = delete, .extra = extra};
        *keyval = FIRST_KEY + i;
    }
    ftc_mpi_unlock();
    return grown == NULL ? ftc_mpi_no_memory() : MPI_SUCCESS;
}

/* The caller holds the lock. */
static void forget_unused(struct key *key)
{
    if (key->freed && key->values == 0)
        key->kind = 0;
}

int ftc_mpi_key_free(enum ftc_mpi_kind kind, int *keyval)
{
    ftc_mpi_lock();
    struct key *key = find_key(kind, *keyval);
    if (key != NULL) {
        key->freed = true;
        forget_unused(key);
    }
    ftc_mpi_unlock();
    if (key == NULL)
        return no_key(*keyval);
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* A copy of the key, since its functions are called without the lock. */
static bool read_key(enum ftc_mpi_kind kind, int keyval, struct key *out)
{
    ftc_mpi_lock();
    const struct key *key = find_key(kind, keyval);
    if (key != NULL)
        *out = *key;
    ftc_mpi_unlock();
    return key != NULL;
}

static void count_value(enum ftc_mpi_kind kind, int keyval, int change)
{
    ftc_mpi_lock();
    struct key *key = find_key(kind, keyval);
    if (key != NULL) {
        key->values += change;
        forget_unused(key);
    }
    ftc_mpi_unlock();
}

static struct ftc_mpi_attribute *find(const struct ftc_mpi_attributes *attributes, int keyval)
{
    struct ftc_mpi_attribute *a = attributes->first;
    while (a != NULL && a->keyval != keyval)
        a = a->next;
    return a;
}

/* Calls the function of the key that deletes the value. */
static int call_delete(enum ftc_mpi_kind kind, void *handle, int keyval, void *value)
{
    struct key key;
    if (!read_key(kind, keyval, &key))
        return MPI_SUCCESS;
    if (kind == FTC_MPI_COMM)
        return key.delete.comm == NULL ? MPI_SUCCESS
                                       : key.delete.comm(handle, keyval, value, key.extra);
    return key.delete.type == NULL ? MPI_SUCCESS
                                   : key.delete.type(handle, keyval, value, key.extra);
}

static int add(struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind, int keyval,
               void *value)
{
    struct ftc_mpi_attribute *a = malloc(sizeof *a);
    if (a == NULL)
        return ftc_mpi_no_memory();
    *a = (struct ftc_mpi_attribute){.next = attributes->first, .keyval = keyval, .value = value};
    attributes->first = a;
    count_value(kind, keyval, 1);
    return MPI_SUCCESS;
}

int ftc_mpi_attribute_set(struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind,
                          void *handle, int keyval, void *value)
{
    struct key key;
    if (!read_key(kind, keyval, &key) || key.freed)
        return no_key(keyval);
    struct ftc_mpi_attribute *there = find(attributes, keyval);
    if (there == NULL)
        return add(attributes, kind, keyval, value);
    int rc = call_delete(kind, handle, keyval, there->value);
    if (rc == MPI_SUCCESS)
        there->value = value;
    return rc;
}

int ftc_mpi_attribute_get(const struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind,
                          int keyval, void *value, int *flag)
{
    struct key key;
    if (!read_key(kind, keyval, &key))
        return no_key(keyval);
    const struct ftc_mpi_attribute *there = find(attributes, keyval);
    *flag = there != NULL;
    if (there != NULL)
        *(void **)value = there->value;
    return MPI_SUCCESS;
}

int ftc_mpi_attribute_delete(struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind,
                             void *handle, int keyval)
{
    struct ftc_mpi_attribute *there = find(attributes, keyval);
    if (there == NULL)
        return no_key(keyval);
    int rc = call_delete(kind, handle, keyval, there->value);
    if (rc != MPI_SUCCESS)
        return rc;
    struct ftc_mpi_attribute **link = &attributes->first; /* the function may have changed it */
    while (*link != NULL && *link != there)
        link = &(*link)->next;
    if (*link != NULL) {
        *link = there->next;
        free(there);
        count_value(kind, keyval, -1);
    }
    return MPI_SUCCESS;
}

/* What the function of the key says of a copy: *flag, and its value. */
static int call_copy(const struct key *key, void *handle, int keyval, void *value, void **copy,
                     int *flag)
{
    *flag = 0;
    if (key->kind == FTC_MPI_COMM) {
        if (key->copy.comm == MPI_COMM_NULL_COPY_FN)
            return MPI_SUCCESS;
        if (key->copy.comm != MPI_COMM_DUP_FN)
            return key->copy.comm(handle, keyval, key->extra, value, copy, flag);
    } else {
        if (key->copy.type == MPI_TYPE_NULL_COPY_FN)
            return MPI_SUCCESS;
        if (key->copy.type != MPI_TYPE_DUP_FN)
            return key->copy.type(handle, keyval, key->extra, value, copy, flag);
    }
    *flag = 1;
    *copy = value;
    return MPI_SUCCESS;
}

/* Copies the attributes behind `a` first: `copy` gets the same order. */
static int copy_from(const struct ftc_mpi_attribute *a, enum ftc_mpi_kind kind, void *handle,
                     struct ftc_mpi_attributes *copy)
{
    struct key key;
    void *value = NULL;
    int flag = 0;
    int rc = a->next == NULL ? MPI_SUCCESS : copy_from(a->next, kind, handle, copy);
    if (rc == MPI_SUCCESS && read_key(kind, a->keyval, &key))
        rc = call_copy(&key, handle, a->keyval, a->value, &value, &flag);
    return rc == MPI_SUCCESS && flag ? add(copy, kind, a->keyval, value) : rc;
}

int ftc_mpi_attributes_copy(const struct ftc_mpi_attributes *from, enum ftc_mpi_kind kind,
                            void *handle, struct ftc_mpi_attributes *copy)
{
    return from->first == NULL ? MPI_SUCCESS : copy_from(from->first, kind, handle, copy);
}

int ftc_mpi_attributes_clear(struct ftc_mpi_attributes *attributes, enum ftc_mpi_kind kind,
                             void *handle)
{
    while (attributes->first != NULL) {
        int rc = ftc_mpi_attribute_delete(attributes, kind, handle, attributes->first->keyval);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}
