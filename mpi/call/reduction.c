/*
 * Reductions. Where ftcoll has the operator for the datatype, it gets both as they are. Otherwise
 * it gets an operator that is made for this call and calls that of MPI, and elements of as many
 * bytes as one has. If the elements lie in memory with gaps, they are packed, and the operator
 * unpacks them for the function of the program.
 */
#include "mpi/call/plan.h"

#include <stdlib.h>

/* The bytes from the first to behind the last of `count` elements. */
static size_t span(const struct ftc_mpi_type *type, size_t count)
{
    MPI_Aint reach = (MPI_Aint)(count - 1) * ftc_mpi_extent(type);
    return (size_t)(type->layout->high - type->layout->low + (reach < 0 ? -reach : reach));
}

/* Combines packed elements: the function of the program gets them in their layout. */
static void apply_unpacked(struct ftc_mpi_plan *plan, struct ftc_mpi_type *type, const void *in,
                           void *inout, size_t count)
{
    size_t bytes = (span(type, count) + 31) & ~(size_t)15;
    size_t wire = (size_t)type->layout->size * count;
    MPI_Aint reach = (MPI_Aint)(count - 1) * ftc_mpi_extent(type);
    /* Rounded up, so that elements are aligned as they are in memory of the program. */
    MPI_Aint before = (-type->layout->low - (reach < 0 ? reach : 0) + 15) & ~(MPI_Aint)15;
    char *memory = calloc(2, bytes);
    if (memory == NULL)
        abort(); /* the operation cannot be given up any more */
    char *a = memory + before, *b = memory + bytes + before;
    struct ftc_mpi_cursor from_a = {(char *)in, wire}, from_b = {inout, wire};
    ftc_mpi_unpack_from(type, a, (MPI_Count)count, &from_a);
    ftc_mpi_unpack_from(type, b, (MPI_Count)count, &from_b);
    ftc_mpi_op_apply(plan->op, type, a, b, (MPI_Count)count);
    struct ftc_mpi_cursor to = {inout, wire};
    ftc_mpi_pack_to(type, b, (MPI_Count)count, &to);
    free(memory);
}

static struct ftc_mpi_side *either(struct ftc_mpi_plan *plan)
{
    return plan->send.shape != FTC_MPI_NO_SIDE ? &plan->send : &plan->recv;
}

static void apply(const void *in, void *inout, size_t count, ftc_type native, void *arg)
{
    struct ftc_mpi_plan *plan = arg;
    const struct ftc_mpi_side *side = either(plan);
    (void)native;
    if (side->image || side->type->contiguous)
        ftc_mpi_op_apply(plan->op, side->type, in, inout, (MPI_Count)count);
    else if (count > 0)
        apply_unpacked(plan, side->type, in, inout, count);
}

/* The bytes of an element as ftcoll gets it. */
static size_t element_bytes(struct ftc_mpi_plan *plan, const struct ftc_mpi_type *type)
{
    return (size_t)(either(plan)->image ? ftc_mpi_extent(type) : type->layout->size);
}

/* The operator and the type for ftcoll. */
static int choose_operator(struct ftc_mpi_plan *plan, struct ftc_mpi_type *type)
{
    const struct ftc_mpi_basic *basic = type->basic;
    if (basic != NULL && ftc_mpi_op_native(plan->op, basic) != NULL) {
        plan->type = basic->native;
        plan->native_op = ftc_mpi_op_native(plan->op, basic);
        return MPI_SUCCESS;
    }
    size_t bytes = element_bytes(plan, type);
    if (bytes == 0) { /* nothing is combined, but all ranks call */
        plan->type = FTC_UINT8;
        plan->native_op = FTC_BOR;
        return MPI_SUCCESS;
    }
    int error = ftc_type_create(bytes, &plan->type);
    if (error == FTC_SUCCESS)
        error = plan->op->commutes ? ftc_op_create(apply, plan, &plan->native_op)
                                   : ftc_op_create_ordered(apply, plan, &plan->native_op);
    plan->op_made = error == FTC_SUCCESS;
    return ftc_mpi_error_from(error);
}

/* The elements that the rank gives, and those that it gets; those of each rank in plan->numbers. */
static int count_elements(struct ftc_mpi_plan *plan, MPI_Count *given, MPI_Count *got)
{
    const struct ftc_mpi_call *c = &plan->call;
    *given = *got = c->count;
    if (c->kind == FTC_MPI_REDUCE_SCATTER_BLOCK) {
        *got = c->recvcount;
        *given = c->recvcount * plan->comm->size;
    }
    if (c->kind != FTC_MPI_REDUCE_SCATTER)
        return MPI_SUCCESS;
    plan->numbers = malloc((size_t)plan->comm->size * sizeof *plan->numbers);
    if (plan->numbers == NULL)
        return ftc_mpi_no_memory();
    *given = 0;
    for (int r = 0; r < plan->comm->size; r++) {
        MPI_Count count = ftc_mpi_at(c->recvcounts, r);
        if (count < 0)
            return ftc_mpi_error(MPI_ERR_COUNT, "count %d is negative", r);
        plan->numbers[r] = (size_t)count;
        *given += count;
    }
    *got = (MPI_Count)plan->numbers[plan->comm->rank];
    plan->recvcounts = plan->numbers;
    return MPI_SUCCESS;
}

/* Opens the two sides. In place, the receive side holds the input, too. */
static int open_sides(struct ftc_mpi_plan *plan, MPI_Count given, MPI_Count got)
{
    const struct ftc_mpi_call *c = &plan->call;
    bool in_place = c->sendbuf == MPI_IN_PLACE;
    int rc = MPI_SUCCESS;
    if (plan->gives && !in_place)
        rc = ftc_mpi_side_equal(&plan->send, c->sendbuf, given, c->datatype, 1);
    if (rc == MPI_SUCCESS && (plan->gets || in_place))
        rc = ftc_mpi_side_equal(&plan->recv, c->recvbuf, in_place ? given : got, c->datatype, 1);
    return rc;
}

int ftc_mpi_plan_reduction(struct ftc_mpi_plan *plan)
{
    const struct ftc_mpi_call *c = &plan->call;
    MPI_Count given, got;
    int rc = ftc_mpi_plan_roles(plan);
    bool inter = ftc_mpi_is_inter(plan->comm);
    if (rc == MPI_SUCCESS && (c->kind == FTC_MPI_SCAN || c->kind == FTC_MPI_EXSCAN))
        rc = ftc_mpi_comm_check(plan->comm, false);
    if (rc == MPI_SUCCESS)
        rc = count_elements(plan, &given, &got);
    if (rc == MPI_SUCCESS)
        rc = open_sides(plan, given, got);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!plan->gives && !plan->gets) /* in the group of the root */
        return ftc_mpi_plan_cross(plan);
    struct ftc_mpi_type *type = either(plan)->type;
    struct ftc_mpi_op *op;
    rc = ftc_mpi_op_open(c->op, type, &op);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_op_hold(op);
    plan->op = op;
    plan->apply = apply;
    plan->send.image = plan->recv.image = type->basic != NULL || type->contiguous;
    rc = inter ? MPI_SUCCESS : choose_operator(plan, type);
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_side_prepare(&plan->send, true);
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_side_prepare(&plan->recv, true);
    if (rc != MPI_SUCCESS)
        return rc;
    plan->count = (size_t)(c->kind == FTC_MPI_REDUCE_SCATTER_BLOCK ? got : given);
    if (inter) {
        plan->count = (size_t)given;
        plan->each = plan->count * element_bytes(plan, type);
        return ftc_mpi_plan_cross(plan);
    }
    if (type->layout->size == 0)
        plan->count = 0;
    plan->from = c->sendbuf == MPI_IN_PLACE ? FTC_IN_PLACE : ftc_mpi_side_at(&plan->send);
    plan->to = ftc_mpi_side_at(&plan->recv);
    return MPI_SUCCESS;
}

void ftc_mpi_plan_end_reduction(struct ftc_mpi_plan *plan)
{
    if (plan->op_made)
        ftc_op_free(&plan->native_op);
    plan->op_made = false;
    ftc_mpi_op_release(plan->op);
    plan->op = NULL;
}
