/* The life of a datatype, and what one may ask of it. */
#include "mpi/type/type.h"

#include "functions.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ftc_mpi_type ftc_mpi_types[0x100];

/* The layout of a basic datatype: an element, or the two parts of a pair. */
static struct ftc_mpi_layout *basic_layout(const struct ftc_mpi_basic *basic)
{
    if (basic->class != FTC_MPI_PAIR)
        return ftc_mpi_layout_element(basic, basic->size);
    struct ftc_mpi_layout *list = ftc_mpi_layout_list(2);
    if (list == NULL)
        return NULL;
    const int part[] = {basic->value, basic->index};
    for (int i = 0; i < 2; i++) {
        struct ftc_mpi_type *type = &ftc_mpi_types[part[i] - FTC_MPI_TYPE_LOWEST];
        list->entries[i].offset = i == 0 ? 0 : (MPI_Aint)basic->index_offset;
        list->entries[i].child = ftc_mpi_layout_hold(type->layout);
    }
    return ftc_mpi_layout_listed(list);
}

static void make_basic(const struct ftc_mpi_basic *basic)
{
    struct ftc_mpi_type *type = &ftc_mpi_types[basic->handle - FTC_MPI_TYPE_LOWEST];
    type->object.kind = FTC_MPI_TYPE;
    atomic_init(&type->object.references, 1);
    type->basic = basic;
    type->layout = basic_layout(basic);
    if (type->layout == NULL)
        abort(); /* no memory when the program starts */
    type->bounds.ub = (MPI_Aint)basic->size;
    type->align = basic->align;
    type->committed = true;
    type->contiguous = type->layout->dense && type->layout->size == type->bounds.ub;
    type->contents.combiner = MPI_COMBINER_NAMED;
    ftc_mpi_name_set(type->name, basic->name);
}

/* Pairs are made of others: they come last. */
static __attribute__((constructor)) void make_basics(void)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < ftc_mpi_basics_count; i++)
            if ((ftc_mpi_basics[i].class == FTC_MPI_PAIR) == (pass == 1))
                make_basic(&ftc_mpi_basics[i]);
}

static __attribute__((destructor)) void forget_basics(void)
{
    for (int i = 0; i < ftc_mpi_basics_count; i++)
        ftc_mpi_layout_release(
            ftc_mpi_types[ftc_mpi_basics[i].handle - FTC_MPI_TYPE_LOWEST].layout);
}

MPI_Datatype ftc_mpi_type_handle(struct ftc_mpi_type *type)
{
    return type->basic != NULL ? (MPI_Datatype)(uintptr_t)type->basic->handle : (MPI_Datatype)type;
}

int ftc_mpi_type_open(MPI_Datatype datatype, struct ftc_mpi_type **type)
{
    *type = ftc_mpi_type_of(datatype);
    if (*type != NULL)
        return MPI_SUCCESS;
    return ftc_mpi_error(MPI_ERR_TYPE, datatype == MPI_DATATYPE_NULL
                                           ? "the datatype is MPI_DATATYPE_NULL"
                                           : "this is no datatype");
}

int ftc_mpi_type_check(const struct ftc_mpi_type *type, MPI_Count count)
{
    if (!type->committed)
        return ftc_mpi_error(MPI_ERR_TYPE, "the datatype is not committed: call MPI_Type_commit()");
    if (count < 0)
        return ftc_mpi_error(MPI_ERR_COUNT, "a count of %lld is negative", (long long)count);
    return MPI_SUCCESS;
}

void ftc_mpi_type_hold(struct ftc_mpi_type *type)
{
    if (type->basic == NULL)
        ftc_mpi_object_hold(&type->object);
}

static void free_contents(struct ftc_mpi_contents *contents)
{
    for (int i = 0; i < contents->types_count; i++)
        ftc_mpi_type_release(contents->types[i]);
    free(contents->integers);
    free(contents->addresses);
    free(contents->types);
}

void ftc_mpi_type_release(struct ftc_mpi_type *type)
{
    if (type == NULL || type->basic != NULL || !ftc_mpi_object_drop(&type->object))
        return;
    ftc_mpi_layout_release(type->layout);
    free_contents(&type->contents);
    ftc_mpi_object_free(&type->object);
}

/* A copy of `count` members; NULL: no memory. */
static void *copy_members(const void *from, int count, size_t size)
{
    void *copy = malloc((size_t)count * size + 1);
    if (copy != NULL && count > 0)
        memcpy(copy, from, (size_t)count * size);
    return copy;
}

static bool copy_contents(const struct ftc_mpi_contents *from, struct ftc_mpi_contents *copy)
{
    *copy = *from;
    copy->integers = copy_members(from->integers, from->integers_count, sizeof *copy->integers);
    copy->addresses = copy_members(from->addresses, from->addresses_count, sizeof *copy->addresses);
    copy->types = copy_members(from->types, from->types_count, sizeof *copy->types);
    if (copy->types == NULL)
        copy->types_count = 0;
    for (int i = 0; i < copy->types_count; i++)
        ftc_mpi_type_hold(copy->types[i]);
    return copy->integers != NULL && copy->addresses != NULL && copy->types != NULL;
}

int ftc_mpi_type_give(struct ftc_mpi_layout *layout, struct ftc_mpi_bounds bounds, size_t align,
                      const struct ftc_mpi_contents *contents, MPI_Datatype *newtype)
{
    if (layout == NULL)
        return ftc_mpi_no_memory();
    struct ftc_mpi_type *type = ftc_mpi_object_new(FTC_MPI_TYPE, sizeof *type);
    if (type == NULL || !copy_contents(contents, &type->contents)) {
        if (type == NULL)
            ftc_mpi_layout_release(layout);
        else
            type->layout = layout;
        ftc_mpi_type_release(type);
        return ftc_mpi_no_memory();
    }
    type->layout = layout;
    type->bounds = bounds;
    type->align = align;
    type->contiguous = layout->dense && bounds.ub - bounds.lb == layout->size;
    *newtype = (MPI_Datatype)type;
    return MPI_SUCCESS;
}

int ftc_mpi_type_commit(MPI_Datatype *datatype)
{
    struct ftc_mpi_type *type;
    int rc = ftc_mpi_type_open(*datatype, &type);
    if (rc == MPI_SUCCESS)
        type->committed = true;
    return rc;
}

int ftc_mpi_type_free(MPI_Datatype *datatype)
{
    struct ftc_mpi_type *type;
    int rc = ftc_mpi_type_open(*datatype, &type);
    if (rc == MPI_SUCCESS && type->basic != NULL)
        rc = ftc_mpi_error(MPI_ERR_TYPE, "%s is predefined and cannot be freed", type->name);
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_attributes_clear(&type->attributes, FTC_MPI_TYPE, type);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_type_release(type);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int ftc_mpi_type_dup(struct ftc_mpi_type *old, MPI_Datatype *newtype)
{
    MPI_Datatype copy;
    struct ftc_mpi_contents contents = {
        .combiner = MPI_COMBINER_DUP, .types_count = 1, .types = &old};
    int rc = ftc_mpi_type_give(ftc_mpi_layout_hold(old->layout), old->bounds, old->align, &contents,
                               &copy);
    if (rc != MPI_SUCCESS)
        return rc;
    struct ftc_mpi_type *type = ftc_mpi_type_of(copy);
    type->committed = old->committed;
    rc = ftc_mpi_attributes_copy(&old->attributes, FTC_MPI_TYPE, ftc_mpi_type_handle(old),
                                 &type->attributes);
    if (rc == MPI_SUCCESS) {
        *newtype = copy;
        return rc;
    }
    ftc_mpi_attributes_clear(&type->attributes, FTC_MPI_TYPE, copy);
    ftc_mpi_type_release(type);
    *newtype = MPI_DATATYPE_NULL;
    return rc;
}

int ftc_mpi_type_size(struct ftc_mpi_type *type, MPI_Count *size)
{
    *size = type->layout->size;
    return MPI_SUCCESS;
}

int ftc_mpi_type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    struct ftc_mpi_type *type;
    if (datatype == MPI_DATATYPE_NULL) {
        *resultlen = snprintf(type_name, MPI_MAX_OBJECT_NAME, "MPI_DATATYPE_NULL");
        return MPI_SUCCESS;
    }
    int rc = ftc_mpi_type_open(datatype, &type);
    if (rc == MPI_SUCCESS)
        *resultlen = snprintf(type_name, MPI_MAX_OBJECT_NAME, "%s", type->name);
    return rc;
}
