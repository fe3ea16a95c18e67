/* The collectives of the API: they check the arguments and make calls of them. */
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "collectives/values/types.h"
#include "runtime/api/call.h"

static int check_root(const ftc_comm *comm, int root)
{
    if (root < 0 || root >= comm->size)
        return ftc_error_set(FTC_ERR_ARG, "root %d is outside 0..%d", root, comm->size - 1);
    return 0;
}

/* *size is the number of bytes of `count` elements. */
FTC_HOT static int check_size(size_t count, ftc_type type, size_t *size)
{
    size_t element = ftc_type_size(type);

    if (element == 0)
        return ftc_error_set(FTC_ERR_ARG, "type %d does not exist", (int)type);
    if (count > SIZE_MAX / 2 / element)
        return ftc_error_set(FTC_ERR_ARG, "%zu elements of %s do not fit into memory", count,
                             ftc_type_name(type));
    *size = count * element;
    return 0;
}

/* *input is where the input is: `send`, or `recv` with FTC_IN_PLACE. */
FTC_HOT static int check_input(const void *send, const void *recv, size_t size, const void **input)
{
    *input = send == FTC_IN_PLACE ? recv : send;
    if (size > 0 && *input == NULL)
        return ftc_error_set(FTC_ERR_ARG, "%s is NULL",
                             send == FTC_IN_PLACE ? "recv, with FTC_IN_PLACE," : "send");
    return 0;
}

FTC_HOT static int reduction_call(struct ftc_reduction *reduction, struct ftc_call *call, int kind,
                                  const void *send, const void *recv, size_t count, ftc_type type,
                                  ftc_op op)
{
    size_t size = 0;
    int rc = check_size(count, type, &size);

    if (rc == 0)
        rc = ftc_reduction_init(reduction, type, op);
    if (rc == 0)
        rc = check_input(send, recv, size, &call->input);
    call->signature = (struct ftc_signature){.kind = (uint8_t)kind,
                                             .type = (uint8_t)type,
                                             .operator_code = (uint8_t)reduction->operator_code,
                                             .root = -1,
                                             .size = size};
    call->combine = ftc_reduction_combine;
    call->merge = ftc_reduction_merges(reduction) ? ftc_reduction_merge : NULL;
    call->combine_arg = reduction;
    return rc;
}

FTC_HOT FTC_API int ftc_allreduce(const void *send, void *recv, size_t count, ftc_type type,
                                  ftc_op op, ftc_comm *comm)
{
    struct ftc_reduction reduction = {0};
    struct ftc_call call = {0};
    int rc = ftc_call_begin(comm);

    if (rc != 0)
        return rc;
    rc = reduction_call(&reduction, &call, FTC_CALL_ALLREDUCE, send, recv, count, type, op);
    if (rc == 0 && call.signature.size > 0 && recv == NULL)
        rc = ftc_error_set(FTC_ERR_ARG, "recv is NULL");
    return ftc_call_end(comm, rc == 0 ? ftc_call_run(comm, &call, recv) : rc);
}

FTC_HOT FTC_API int ftc_reduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                               int root, ftc_comm *comm)
{
    struct ftc_reduction reduction = {0};
    struct ftc_call call = {0};
    int rc = ftc_call_begin(comm);

    if (rc != 0)
        return rc;
    rc = check_root(comm, root);
    if (rc == 0)
        rc = reduction_call(&reduction, &call, FTC_CALL_REDUCE, send, recv, count, type, op);
    call.signature.root = root;
    if (rc == 0 && comm->rank == root && call.signature.size > 0 && recv == NULL)
        rc = ftc_error_set(FTC_ERR_ARG, "recv is NULL at the root");
    return ftc_call_end(comm, rc == 0 ? ftc_call_run(comm, &call, recv) : rc);
}

FTC_HOT FTC_API int ftc_bcast(void *buffer, size_t count, ftc_type type, int root, ftc_comm *comm)
{
    struct ftc_call call = {0};
    size_t size = 0;
    int rc = ftc_call_begin(comm);

    if (rc != 0)
        return rc;
    rc = check_root(comm, root);
    if (rc == 0)
        rc = check_size(count, type, &size);
    if (rc == 0 && size > 0 && buffer == NULL)
        rc = ftc_error_set(FTC_ERR_ARG, "buffer is NULL");
    if (rc != 0)
        return ftc_call_end(comm, rc);
    call.signature = (struct ftc_signature){
        .kind = FTC_CALL_BCAST, .type = (uint8_t)type, .root = root, .size = size};
    call.input = comm->rank == root ? buffer : NULL;
    return ftc_call_end(comm, ftc_call_run(comm, &call, comm->rank == root ? NULL : buffer));
}

FTC_HOT FTC_API int ftc_barrier(ftc_comm *comm)
{
    struct ftc_call call = {.signature = {.kind = FTC_CALL_BARRIER, .root = -1}};
    int rc = ftc_call_begin(comm);

    return rc == 0 ? ftc_call_end(comm, ftc_call_run(comm, &call, NULL)) : rc;
}

FTC_API int ftc_rank(const ftc_comm *comm)
{
    int rc = ftc_call_check(comm);

    return rc == 0 ? comm->rank : rc;
}

FTC_API int ftc_size(const ftc_comm *comm)
{
    int rc = ftc_call_check(comm);

    return rc == 0 ? comm->size : rc;
}
