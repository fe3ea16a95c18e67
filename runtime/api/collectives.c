/* The collectives of the API that combine, the broadcast and the barrier: they check the arguments
 * and make calls of them. */
#include <stdint.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/error.h"
#include "runtime/api/collective.h"
#include "runtime/api/request.h"

/* --- arguments --- */

FTC_HOT int ftc_check_root(const struct ftc_comm *comm, int root)
{
    if (root < 0 || root >= comm->size)
        return ftc_error_set(FTC_ERR_ARG, "root %d is outside 0..%d", root, comm->size - 1);
    return 0;
}

FTC_HOT int ftc_check_size(size_t count, ftc_type type, size_t *size)
{
    size_t element = ftc_type_size(type);

    if (element == 0)
        return ftc_error_set(FTC_ERR_ARG, "type %d does not exist", (int)type);
    if (__builtin_mul_overflow(count, element, size) || *size > SIZE_MAX / 2)
        return ftc_error_set(FTC_ERR_ARG, "%zu elements of %s do not fit into memory", count,
                             ftc_type_name(type));
    return 0;
}

FTC_HOT int ftc_check_input(const void *send, const void *in_place, size_t size, const void **input)
{
    *input = send == FTC_IN_PLACE ? in_place : send;
    if (size > 0 && *input == NULL)
        return ftc_error_set(FTC_ERR_ARG, "%s is NULL",
                             send == FTC_IN_PLACE ? "recv, with FTC_IN_PLACE," : "send");
    return 0;
}

FTC_HOT int ftc_check_receive(const void *recv, size_t size)
{
    return size > 0 && recv == NULL ? ftc_error_set(FTC_ERR_ARG, "recv is NULL") : 0;
}

FTC_HOT int ftc_collective_begin(struct ftc_collective *c, const struct ftc_comm *comm)
{
    ftc_collective_clear(c);
    return ftc_call_begin(comm);
}

/* --- reductions --- */

/* The contributions up to that of rank `highest` are combined in the order of the ranks. */
static void in_order(struct ftc_collective *c, const struct ftc_comm *comm, int highest)
{
    int kind = c->call.signature.kind;

    ftc_collective_gathers(c, comm, ftc_gathering_combine,
                           kind == FTC_CALL_EXSCAN ? ftc_gathering_result_of : NULL);
    c->gathering.reduction = &c->reduction;
    c->gathering.highest = highest;
    c->gathering.size = c->call.signature.size;
    c->call.input_size = c->call.signature.size;
    c->call.merge = NULL;
}

FTC_HOT static int reduction_call(struct ftc_collective *c, const struct ftc_comm *comm, int kind,
                                  const void *send, void *recv, size_t count, ftc_type type,
                                  ftc_op op)
{
    size_t size = 0;
    int rc = ftc_check_size(count, type, &size);

    if (rc == 0)
        rc = ftc_reduction_init(&c->reduction, type, op);
    if (rc == 0)
        rc = ftc_check_input(send, recv, size, &c->call.input);
    c->receive = recv;
    c->call.signature = (struct ftc_signature){.kind = (uint8_t)kind,
                                               .type = ftc_type_code(type),
                                               .operator_code = (uint8_t)c->reduction.operator_code,
                                               .root = -1,
                                               .size = size};
    c->call.combine = ftc_reduction_combine;
    c->call.merge = ftc_reduction_merges(&c->reduction) ? ftc_reduction_merge : NULL;
    c->call.combine_arg = &c->reduction;
    c->call.element = c->reduction.element_size;
    if (rc == 0 && c->reduction.operator_code == FTC_OPERATOR_ORDERED)
        in_order(c, comm, comm->size - 1);
    return rc;
}

FTC_HOT static inline int build_allreduce(struct ftc_collective *c, const struct ftc_comm *comm,
                                          const void *send, void *recv, size_t count, ftc_type type,
                                          ftc_op op)
{
    int rc = reduction_call(c, comm, FTC_CALL_ALLREDUCE, send, recv, count, type, op);

    return rc == 0 ? ftc_check_receive(recv, c->call.signature.size) : rc;
}

FTC_HOT FTC_API int ftc_allreduce(const void *send, void *recv, size_t count, ftc_type type,
                                  ftc_op op, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc != 0)
        return rc;
    rc = build_allreduce(&c, comm, send, recv, count, type, op);
    return ftc_call_end(comm, rc == 0 ? ftc_call_run(comm, &c.call, recv) : rc);
}

FTC_API int ftc_iallreduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                           ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc =
            ftc_request_go(c, comm, build_allreduce(c, comm, send, recv, count, type, op), request);
    return rc;
}

FTC_HOT static inline int build_reduce(struct ftc_collective *c, const struct ftc_comm *comm,
                                       const void *send, void *recv, size_t count, ftc_type type,
                                       ftc_op op, int root)
{
    int rc = ftc_check_root(comm, root);

    if (rc == 0)
        rc = reduction_call(c, comm, FTC_CALL_REDUCE, send, recv, count, type, op);
    c->call.signature.root = root;
    if (rc == 0 && comm->rank == root && c->call.signature.size > 0 && recv == NULL)
        rc = ftc_error_set(FTC_ERR_ARG, "recv is NULL at the root");
    return rc;
}

FTC_HOT FTC_API int ftc_reduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                               int root, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc != 0)
        return rc;
    rc = build_reduce(&c, comm, send, recv, count, type, op, root);
    return ftc_call_end(comm, rc == 0 ? ftc_call_run(comm, &c.call, recv) : rc);
}

FTC_API int ftc_ireduce(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                        int root, ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm, build_reduce(c, comm, send, recv, count, type, op, root),
                            request);
    return rc;
}

/* This rank gets `size` bytes of the combined vector, from `offset` on. */
static int take_slice(struct ftc_collective *c, size_t offset, size_t size)
{
    if (c->call.take != NULL) {
        c->gathering.from = offset;
        c->gathering.size = size;
    } else {
        c->call.slice_offset = offset;
        c->call.slice_size = size;
    }
    return ftc_check_receive(c->receive, size);
}

static int reduce_scatter(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                          void *recv, const struct ftc_parts *parts, ftc_type type, ftc_op op)
{
    size_t total = ftc_parts_total(parts) / parts->element;
    int rc = reduction_call(c, comm, FTC_CALL_REDUCE_SCATTER, send, recv, total, type, op);

    return rc == 0
               ? take_slice(c, ftc_part_offset(parts, comm->rank), ftc_part_size(parts, comm->rank))
               : rc;
}

static int build_reduce_scatter_block(struct ftc_collective *c, const struct ftc_comm *comm,
                                      const void *send, void *recv, size_t count, ftc_type type,
                                      ftc_op op)
{
    struct ftc_parts parts;
    int rc = ftc_parts_init(&parts, comm->size, type, count, NULL, NULL);

    if (rc == 0)
        rc = reduce_scatter(c, comm, send, recv, &parts, type, op);
    return rc;
}

FTC_API int ftc_reduce_scatter_block(const void *send, void *recv, size_t count, ftc_type type,
                                     ftc_op op, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(&c, comm,
                                build_reduce_scatter_block(&c, comm, send, recv, count, type, op));
    return rc;
}

FTC_API int ftc_ireduce_scatter_block(const void *send, void *recv, size_t count, ftc_type type,
                                      ftc_op op, ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(
            c, comm, build_reduce_scatter_block(c, comm, send, recv, count, type, op), request);
    return rc;
}

/* The parts lie one behind the other. Too many elements are found later, by their sum. */
static void line_up(size_t *offsets, const size_t *counts, int ranks)
{
    size_t at = 0;

    for (int rank = 0; rank < ranks; rank++) {
        offsets[rank] = at;
        at += counts[rank];
    }
}

/* The parts have several sizes, so the call says where each begins. */
static int tell_parts(struct ftc_collective *c, const struct ftc_parts *parts)
{
    c->sizes = calloc((size_t)parts->ranks + 1, sizeof(*c->sizes));
    if (c->sizes == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %d sizes", parts->ranks);
    for (int rank = 0; rank < parts->ranks; rank++)
        c->sizes[rank + 1] = c->sizes[rank] + ftc_part_size(parts, rank);
    c->call.parts = c->sizes;
    return FTC_SUCCESS;
}

static int build_reduce_scatter(struct ftc_collective *c, const struct ftc_comm *comm,
                                const void *send, void *recv, const size_t counts[], ftc_type type,
                                ftc_op op)
{
    struct ftc_parts parts;
    size_t *offsets = calloc((size_t)comm->size, sizeof(*offsets));
    int rc = FTC_SUCCESS;

    if (offsets == NULL)
        rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for %d displacements", comm->size);
    else if (counts == NULL)
        rc = ftc_error_set(FTC_ERR_ARG, "counts is NULL");
    if (rc == 0) {
        line_up(offsets, counts, comm->size);
        rc = ftc_parts_init(&parts, comm->size, type, 0, counts, offsets);
    }
    if (rc == 0)
        rc = reduce_scatter(c, comm, send, recv, &parts, type, op);
    if (rc == 0)
        rc = tell_parts(c, &parts);
    free(offsets);
    return rc;
}

FTC_API int ftc_reduce_scatter(const void *send, void *recv, const size_t counts[], ftc_type type,
                               ftc_op op, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(&c, comm,
                                build_reduce_scatter(&c, comm, send, recv, counts, type, op));
    return rc;
}

FTC_API int ftc_ireduce_scatter(const void *send, void *recv, const size_t counts[], ftc_type type,
                                ftc_op op, ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm, build_reduce_scatter(c, comm, send, recv, counts, type, op),
                            request);
    return rc;
}

static int build_scan(struct ftc_collective *c, const struct ftc_comm *comm, int kind,
                      const void *send, void *recv, size_t count, ftc_type type, ftc_op op)
{
    int rc = reduction_call(c, comm, kind, send, recv, count, type, op);

    if (rc == 0)
        rc = ftc_check_receive(recv, c->call.signature.size);
    if (rc == 0)
        in_order(c, comm, kind == FTC_CALL_EXSCAN ? comm->rank - 1 : comm->rank);
    return rc;
}

static int scan(int kind, const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(&c, comm, build_scan(&c, comm, kind, send, recv, count, type, op));
    return rc;
}

static int iscan(int kind, const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                 ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm, build_scan(c, comm, kind, send, recv, count, type, op),
                            request);
    return rc;
}

FTC_API int ftc_scan(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                     ftc_comm *comm)
{
    return scan(FTC_CALL_SCAN, send, recv, count, type, op, comm);
}

FTC_API int ftc_iscan(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                      ftc_comm *comm, ftc_request **request)
{
    return iscan(FTC_CALL_SCAN, send, recv, count, type, op, comm, request);
}

FTC_API int ftc_exscan(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                       ftc_comm *comm)
{
    return scan(FTC_CALL_EXSCAN, send, recv, count, type, op, comm);
}

FTC_API int ftc_iexscan(const void *send, void *recv, size_t count, ftc_type type, ftc_op op,
                        ftc_comm *comm, ftc_request **request)
{
    return iscan(FTC_CALL_EXSCAN, send, recv, count, type, op, comm, request);
}

/* --- broadcast and barrier --- */

/* `call` is cleared. The result goes to *receive. */
FTC_HOT static inline int build_bcast(struct ftc_call *call, const struct ftc_comm *comm,
                                      void *buffer, size_t count, ftc_type type, int root,
                                      void **receive)
{
    size_t size = 0;
    int rc = ftc_check_root(comm, root);

    if (rc == 0)
        rc = ftc_check_size(count, type, &size);
    if (rc == 0 && size > 0 && buffer == NULL)
        rc = ftc_error_set(FTC_ERR_ARG, "buffer is NULL");
    call->signature = (struct ftc_signature){
        .kind = FTC_CALL_BCAST, .type = ftc_type_code(type), .root = root, .size = size};
    call->input = comm->rank == root ? buffer : NULL;
    *receive = comm->rank == root ? NULL : buffer;
    return rc;
}

FTC_HOT FTC_API int ftc_bcast(void *buffer, size_t count, ftc_type type, int root, ftc_comm *comm)
{
    struct ftc_call call = {0};
    void *receive;
    int rc = ftc_call_begin(comm);

    if (rc != 0)
        return rc;
    rc = build_bcast(&call, comm, buffer, count, type, root, &receive);
    return ftc_call_end(comm, rc == 0 ? ftc_call_run(comm, &call, receive) : rc);
}

FTC_API int ftc_ibcast(void *buffer, size_t count, ftc_type type, int root, ftc_comm *comm,
                       ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(
            c, comm, build_bcast(&c->call, comm, buffer, count, type, root, &c->receive), request);
    return rc;
}

static const struct ftc_signature barrier = {.kind = FTC_CALL_BARRIER, .root = -1};

FTC_HOT FTC_API int ftc_barrier(ftc_comm *comm)
{
    struct ftc_call call = {.signature = barrier};
    int rc = ftc_call_begin(comm);

    return rc == 0 ? ftc_call_end(comm, ftc_call_run(comm, &call, NULL)) : rc;
}

FTC_API int ftc_ibarrier(ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc != FTC_SUCCESS)
        return rc;
    c->call.signature = barrier;
    return ftc_request_go(c, comm, FTC_SUCCESS, request);
}

FTC_API int ftc_rank(const ftc_comm *comm)
{
    int rc = ftc_call_check_comm(comm);

    return rc == 0 ? comm->rank : rc;
}

FTC_API int ftc_size(const ftc_comm *comm)
{
    int rc = ftc_call_check_comm(comm);

    return rc == 0 ? comm->size : rc;
}
