#include "mpi/operator/operator.h"

#include "functions.h"

#include <limits.h>

/* clang-format off */
#define OF(class) (1u << FTC_MPI_##class)
#define ORDERED (OF(INTEGER) | OF(FLOATING))
#define TRUTHS (OF(LOGICAL) | ORDERED) /* of numbers: not of the standard, but as MPICH has it */
#define OP(number, text, same, takes) \
    [number - FTC_MPI_OP_LOWEST] = { .object = { .kind = FTC_MPI_OP, .references = 1 }, \
        .handle = number, .name = text, .native = same, .classes = takes, .commutes = true }
struct ftc_mpi_op ftc_mpi_ops[0x20] = {
    OP(0x21, "MPI_SUM", FTC_SUM, ORDERED | OF(COMPLEX)),
    OP(0x22, "MPI_MIN", FTC_MIN, ORDERED),
    OP(0x23, "MPI_MAX", FTC_MAX, ORDERED),
    OP(0x24, "MPI_PROD", FTC_PROD, ORDERED | OF(COMPLEX)),
    OP(0x28, "MPI_BAND", FTC_BAND, OF(INTEGER) | OF(BYTES)),
    OP(0x29, "MPI_BOR", FTC_BOR, OF(INTEGER) | OF(BYTES)),
    OP(0x2a, "MPI_BXOR", FTC_BXOR, OF(INTEGER) | OF(BYTES)),
    OP(0x30, "MPI_LAND", FTC_LAND, TRUTHS),
    OP(0x31, "MPI_LOR", FTC_LOR, TRUTHS),
    OP(0x32, "MPI_LXOR", NULL, TRUTHS),
    OP(0x38, "MPI_MINLOC", FTC_MINLOC, OF(PAIR)),
    OP(0x39, "MPI_MAXLOC", FTC_MAXLOC, OF(PAIR)),
    OP(0x3c, "MPI_REPLACE", NULL, 0), OP(0x3d, "MPI_NO_OP", NULL, 0),
};
/* clang-format on */

int ftc_mpi_op_open(MPI_Op op, const struct ftc_mpi_type *type, struct ftc_mpi_op **out)
{
    *out = ftc_mpi_op_of(op);
    if (*out == NULL)
        return ftc_mpi_error(MPI_ERR_OP, "this is no operator");
    if ((*out)->handle == 0)
        return MPI_SUCCESS;
    if (type->basic == NULL)
        return ftc_mpi_error(MPI_ERR_OP, "%s takes predefined datatypes only", (*out)->name);
    if (!ftc_mpi_op_takes(*out, type->basic->class))
        return ftc_mpi_error(MPI_ERR_OP, "%s is not defined for %s", (*out)->name,
                             type->basic->name);
    return MPI_SUCCESS;
}

void ftc_mpi_op_hold(struct ftc_mpi_op *op)
{
    if (op->handle == 0)
        ftc_mpi_object_hold(&op->object);
}

void ftc_mpi_op_release(struct ftc_mpi_op *op)
{
    if (op != NULL && op->handle == 0 && ftc_mpi_object_drop(&op->object))
        ftc_mpi_object_free(&op->object);
}

void ftc_mpi_op_apply(const struct ftc_mpi_op *op, struct ftc_mpi_type *type, const void *in,
                      void *inout, MPI_Count count)
{
    if (op->handle != 0) {
        ftc_mpi_op_compute(op->handle, type->basic, in, inout, count);
        return;
    }
    MPI_Datatype datatype = ftc_mpi_type_handle(type);
    if (op->function_c != NULL) {
        op->function_c((void *)in, inout, &count, &datatype);
        return;
    }
    MPI_Aint extent = ftc_mpi_extent(type);
    for (MPI_Count done = 0; done < count; done += INT_MAX) {
        int length = count - done < INT_MAX ? (int)(count - done) : INT_MAX;
        op->function((char *)in + done * extent, (char *)inout + done * extent, &length, &datatype);
    }
}

int ftc_mpi_op_make(MPI_User_function *function, MPI_User_function_c *function_c, int commute,
                    MPI_Op *op)
{
    if (function == NULL && function_c == NULL)
        return ftc_mpi_error(MPI_ERR_ARG, "the operator has no function");
    struct ftc_mpi_op *made = ftc_mpi_object_new(FTC_MPI_OP, sizeof *made);
    if (made == NULL)
        return ftc_mpi_no_memory();
    made->name = "an operator of the program";
    made->commutes = commute != 0;
    made->function = function;
    made->function_c = function_c;
    *op = (MPI_Op)made;
    return MPI_SUCCESS;
}

int ftc_mpi_op_free(MPI_Op *op)
{
    struct ftc_mpi_op *object = ftc_mpi_op_of(*op);
    if (object == NULL || object->handle != 0)
        return ftc_mpi_error(MPI_ERR_OP, "this is no operator that can be freed");
    ftc_mpi_op_release(object);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int ftc_mpi_op_commutative(MPI_Op op, int *commute)
{
    const struct ftc_mpi_op *object = ftc_mpi_op_of(op);
    if (object == NULL)
        return ftc_mpi_error(MPI_ERR_OP, "this is no operator");
    *commute = object->commutes;
    return MPI_SUCCESS;
}

int ftc_mpi_reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count,
                         struct ftc_mpi_type *type, MPI_Op op)
{
    struct ftc_mpi_op *object;
    int rc = ftc_mpi_type_check(type, count);
    if (rc == MPI_SUCCESS && count > 0 &&
        (inbuf == inoutbuf || inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE))
        rc = ftc_mpi_error(MPI_ERR_BUFFER, "it needs two buffers");
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_op_open(op, type, &object);
    if (rc == MPI_SUCCESS && count > 0)
        ftc_mpi_op_apply(object, type, inbuf, inoutbuf, count);
    return rc;
}
