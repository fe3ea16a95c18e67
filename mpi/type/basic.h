/* The predefined datatypes, in one table. */
#ifndef FTC_MPI_BASIC_H
#define FTC_MPI_BASIC_H

#include "mpi/object/object.h"

#include "include/ftcoll.h"

/* How an operator computes with an element. */
enum ftc_mpi_number {
    FTC_MPI_NO_NUMBER,
    FTC_MPI_I8,
    FTC_MPI_I16,
    FTC_MPI_I32,
    FTC_MPI_I64,
    FTC_MPI_U8,
    FTC_MPI_U16,
    FTC_MPI_U32,
    FTC_MPI_U64,
    FTC_MPI_F32,
    FTC_MPI_F64,
    FTC_MPI_F80, /* long double */
    FTC_MPI_C32, /* complex, of two F32 */
    FTC_MPI_C64,
    FTC_MPI_C80,
};

/* Which operators are defined for it (MPI 5.0, 6.9.2). */
enum ftc_mpi_class {
    FTC_MPI_OPAQUE,   /* none */
    FTC_MPI_INTEGER,  /* all but MINLOC and MAXLOC */
    FTC_MPI_FLOATING, /* MAX, MIN, SUM, PROD */
    FTC_MPI_LOGICAL,  /* LAND, LOR, LXOR */
    FTC_MPI_COMPLEX,  /* SUM, PROD */
    FTC_MPI_BYTES,    /* BAND, BOR, BXOR */
    FTC_MPI_PAIR,     /* MINLOC, MAXLOC */
};

struct ftc_mpi_basic {
    int handle; /* of the standard ABI */
    const char *name;
    size_t size; /* in bytes; a pair: with its padding */
    size_t align;
    enum ftc_mpi_class class;
    enum ftc_mpi_number number; /* a pair: of its value */
    ftc_type native;            /* the type of ftcoll with the same elements; 0: there is none */
    int value, index;           /* of a pair: the handles of its two parts */
    size_t index_offset;
    int external; /* size in external32; 0: as in memory */
};

extern const struct ftc_mpi_basic ftc_mpi_basics[];
extern const int ftc_mpi_basics_count;

#endif
