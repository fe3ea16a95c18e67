/* Operators of reductions: the predefined ones, and those of the program. */
#ifndef FTC_MPI_OPERATOR_H
#define FTC_MPI_OPERATOR_H

#include "mpi/type/type.h"

#include "include/ftcoll.h"

struct ftc_mpi_op {
    struct ftc_mpi_object object;
    int handle; /* of a predefined one, of the standard ABI; 0: it is the program's */
    const char *name;
    ftc_op
        native; /* the operator of ftcoll that does the same, where the type is native; or NULL */
    unsigned classes; /* of numbers that a predefined one is defined for: bits of ftc_mpi_class */
    bool commutes;
    MPI_User_function *function;
    MPI_User_function_c *function_c; /* with large counts; one of the two is set */
};

/* The predefined operators, by their handles less the lowest one. */
#define FTC_MPI_OP_LOWEST 0x20
extern struct ftc_mpi_op ftc_mpi_ops[0x20];

/* The operator of the handle, or NULL. */
static inline struct ftc_mpi_op *ftc_mpi_op_of(MPI_Op op)
{
    uintptr_t number = (uintptr_t)op - FTC_MPI_OP_LOWEST;
    if (number < sizeof ftc_mpi_ops / sizeof *ftc_mpi_ops)
        return ftc_mpi_ops[number].handle != 0 ? &ftc_mpi_ops[number] : NULL;
    return ftc_mpi_object(op, FTC_MPI_OP);
}

static inline bool ftc_mpi_op_takes(const struct ftc_mpi_op *op, enum ftc_mpi_class class)
{
    return op->classes >> class & 1;
}

/* The operator of ftcoll that does the same with the datatype, or NULL. */
static inline ftc_op ftc_mpi_op_native(const struct ftc_mpi_op *op,
                                       const struct ftc_mpi_basic *basic)
{
    bool truth = op->handle >= 0x30 && op->handle < 0x38; /* ftcoll has none of floats */
    return basic->native == 0 || (truth && basic->class == FTC_MPI_FLOATING) ? NULL : op->native;
}

/* An operator of the program, with one of the two functions. */
int ftc_mpi_op_make(MPI_User_function *function, MPI_User_function_c *function_c, int commute,
                    MPI_Op *op);
/* The operator in *out, if it is defined for the datatype. */
int ftc_mpi_op_open(MPI_Op op, const struct ftc_mpi_type *type, struct ftc_mpi_op **out);

void ftc_mpi_op_hold(struct ftc_mpi_op *op);
void ftc_mpi_op_release(struct ftc_mpi_op *op);

/* inout[i] := in[i] op inout[i], for `count` elements of the datatype in memory. */
void ftc_mpi_op_apply(const struct ftc_mpi_op *op, struct ftc_mpi_type *type, const void *in,
                      void *inout, MPI_Count count);

/* A predefined operator that is defined for the datatype, on `count` elements. */
void ftc_mpi_op_compute(int handle, const struct ftc_mpi_basic *basic, const void *in, void *inout,
                        MPI_Count count);

#endif
