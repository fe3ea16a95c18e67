/* How a datatype was made. The numbers of a datatype that was made by a function with large counts
 * are given as integers, too: MPI_ERR_TYPE where they do not fit. */
#include "mpi/type/type.h"

#include "functions.h"

#include <limits.h>

static int check_room(const struct ftc_mpi_type *type, MPI_Count integers, MPI_Count addresses,
                      MPI_Count types)
{
    const struct ftc_mpi_contents *c = &type->contents;
    if (c->combiner == MPI_COMBINER_NAMED)
        return ftc_mpi_error(MPI_ERR_TYPE, "%s is predefined and has no contents", type->name);
    if (integers < c->integers_count || addresses < c->addresses_count || types < c->types_count)
        return ftc_mpi_error(MPI_ERR_ARG, "the arrays are shorter than MPI_Type_get_envelope() "
                                          "says");
    for (int i = 0; i < c->integers_count; i++)
        if (c->integers[i] > INT_MAX || c->integers[i] < INT_MIN)
            return ftc_mpi_error(MPI_ERR_TYPE, "a number of the datatype does not fit into int");
    return MPI_SUCCESS;
}

int ftc_mpi_type_get_contents_c(struct ftc_mpi_type *type, MPI_Count max_integers,
                                MPI_Count max_addresses, MPI_Count max_large_counts,
                                MPI_Count max_datatypes, int array_of_integers[],
                                MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                                MPI_Datatype array_of_datatypes[])
{
    (void)max_large_counts;
    (void)array_of_large_counts;
    int rc = check_room(type, max_integers, max_addresses, max_datatypes);
    if (rc != MPI_SUCCESS)
        return rc;
    const struct ftc_mpi_contents *c = &type->contents;
    for (int i = 0; i < c->integers_count; i++)
        array_of_integers[i] = (int)c->integers[i];
    for (int i = 0; i < c->addresses_count; i++)
        array_of_addresses[i] = c->addresses[i];
    for (int i = 0; i < c->types_count; i++) {
        ftc_mpi_type_hold(c->types[i]); /* the program frees it */
        array_of_datatypes[i] = ftc_mpi_type_handle(c->types[i]);
    }
    return MPI_SUCCESS;
}

int ftc_mpi_type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    static const struct {
        int typeclass, size;
        MPI_Datatype type;
    } types[] = {
        {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
        {MPI_TYPECLASS_REAL, 2, MPI_REAL2},         {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
        {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
        {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}, {MPIX_TYPECLASS_LOGICAL, 16, MPI_LOGICAL16},
        {MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1},  {MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2},
        {MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},  {MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].typeclass == typeclass && types[i].size == size) {
            *datatype = types[i].type;
            return MPI_SUCCESS;
        }
    return ftc_mpi_error(MPI_ERR_ARG, "there is no datatype of this class with %d bytes", size);
}

int ftc_mpi_type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type,
                                 MPI_Datatype *pair_type)
{
    *pair_type = MPI_DATATYPE_NULL;
    for (int i = 0; i < ftc_mpi_basics_count; i++) {
        const struct ftc_mpi_basic *pair = &ftc_mpi_basics[i];
        if (pair->class == FTC_MPI_PAIR && (uintptr_t)value_type == (uintptr_t)pair->value &&
            (uintptr_t)index_type == (uintptr_t)pair->index)
            *pair_type = (MPI_Datatype)(uintptr_t)pair->handle;
    }
    return MPI_SUCCESS;
}
