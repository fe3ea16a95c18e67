/* What the functions that are made from the table call; and the short way of some. */
#ifndef FTC_MPI_ENTRY_H
#define FTC_MPI_ENTRY_H

#include "mpi/call/call.h"
#include "mpi/comm/request.h"
#include "mpi/comm/topologies.h"
#include "mpi/message/message.h"
#include "mpi/operator/operator.h"
#include "mpi/type/status.h"

#include "include/ftcoll.h"

/* The call does not go the short way, and nothing has happened yet. */
#define FTC_MPI_SLOW (-1)

/* The short way: in a process where one thread calls at a time, with a datatype and an operator
 * that ftcoll has, the arguments go to ftcoll as they are. NULL: not so. */
static inline struct ftc_mpi_comm *ftc_mpi_fast_comm(MPI_Comm comm)
{
    struct ftc_mpi_comm *world = ftc_mpi_process.world;
    if (world == NULL || ftc_mpi_process.multiple)
        return NULL;
    return comm == MPI_COMM_WORLD ? world : ftc_mpi_object(comm, FTC_MPI_COMM);
}

static inline int ftc_mpi_fast_outcome(struct ftc_mpi_comm *c, int error)
{
    return error == FTC_SUCCESS && !c->raises ? MPI_SUCCESS
                                              : ftc_mpi_comm_outcome(c, c->native, error);
}

static inline const struct ftc_mpi_basic *ftc_mpi_fast_type(MPI_Datatype datatype, MPI_Count count)
{
    uintptr_t number = (uintptr_t)datatype - FTC_MPI_TYPE_LOWEST;
    return number < 0x100 && count >= 0 ? ftc_mpi_types[number].basic : NULL;
}

/* The operator of ftcoll in *op, and the type; 0: not the short way. */
static inline ftc_type ftc_mpi_fast_operands(MPI_Datatype datatype, MPI_Count count, MPI_Op op,
                                             ftc_op *native)
{
    const struct ftc_mpi_basic *basic = ftc_mpi_fast_type(datatype, count);
    uintptr_t number = (uintptr_t)op - FTC_MPI_OP_LOWEST;
    if (basic == NULL || number >= 0x20 || !ftc_mpi_op_takes(&ftc_mpi_ops[number], basic->class))
        return 0;
    *native = ftc_mpi_op_native(&ftc_mpi_ops[number], basic);
    return *native == NULL ? 0 : basic->native;
}

static inline int ftc_mpi_fast_barrier(MPI_Comm comm)
{
    struct ftc_mpi_comm *c = ftc_mpi_fast_comm(comm);
    return c == NULL ? FTC_MPI_SLOW : ftc_mpi_fast_outcome(c, ftc_barrier(c->native));
}

static inline int ftc_mpi_fast_bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root,
                                     MPI_Comm comm)
{
    struct ftc_mpi_comm *c = ftc_mpi_fast_comm(comm);
    const struct ftc_mpi_basic *basic = ftc_mpi_fast_type(datatype, count);
    if (c == NULL || basic == NULL || basic->class == FTC_MPI_PAIR || root < 0 || root >= c->size)
        return FTC_MPI_SLOW;
    return ftc_mpi_fast_outcome(
        c, ftc_bcast(buffer, (size_t)count * basic->size, FTC_UINT8, root, c->native));
}

static inline int ftc_mpi_fast_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    ftc_op native_op;
    struct ftc_mpi_comm *c = ftc_mpi_fast_comm(comm);
    ftc_type type = ftc_mpi_fast_operands(datatype, count, op, &native_op);
    if (c == NULL || type == 0 || sendbuf == recvbuf)
        return FTC_MPI_SLOW;
    return ftc_mpi_fast_outcome(c,
                                ftc_allreduce(sendbuf == MPI_IN_PLACE ? FTC_IN_PLACE : sendbuf,
                                              recvbuf, (size_t)count, type, native_op, c->native));
}

static inline int ftc_mpi_fast_reduce(const void *sendbuf, void *recvbuf, MPI_Count count,
                                      MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    ftc_op native_op;
    struct ftc_mpi_comm *c = ftc_mpi_fast_comm(comm);
    ftc_type type = ftc_mpi_fast_operands(datatype, count, op, &native_op);
    if (c == NULL || type == 0 || sendbuf == recvbuf || root < 0 || root >= c->size)
        return FTC_MPI_SLOW;
    return ftc_mpi_fast_outcome(c, ftc_reduce(sendbuf == MPI_IN_PLACE ? FTC_IN_PLACE : sendbuf,
                                              recvbuf, (size_t)count, type, native_op, root,
                                              c->native));
}

/* The bytes of a message with a predefined datatype that has no gaps, and peers that are sound; -1:
 * not the short way. */
static inline ptrdiff_t ftc_mpi_fast_bytes(const struct ftc_mpi_comm *c, const void *buf,
                                           MPI_Count count, MPI_Datatype datatype, int rank)
{
    const struct ftc_mpi_basic *basic = ftc_mpi_fast_type(datatype, count);
    bool fast =
        c != NULL && basic != NULL && basic->class != FTC_MPI_PAIR && rank < c->size && buf != NULL;
    return fast ? (ptrdiff_t)((size_t)count * basic->size) : -1;
}

static inline int ftc_mpi_fast_send(const void *buf, MPI_Count count, MPI_Datatype datatype,
                                    int dest, int tag, MPI_Comm comm)
{
    struct ftc_mpi_comm *c = ftc_mpi_fast_comm(comm);
    ptrdiff_t bytes = ftc_mpi_fast_bytes(c, buf, count, datatype, dest);
    if (bytes < 0 || dest < 0 || tag < 0)
        return FTC_MPI_SLOW;
    int error = ftc_send(buf, (size_t)bytes, FTC_UINT8, dest, tag, c->native);
    return error == FTC_SUCCESS ? MPI_SUCCESS : ftc_mpi_message_outcome(c, error);
}

/* A receive that a failure has interrupted took no message, and goes the other way. */
static inline int ftc_mpi_fast_recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source,
                                    int tag, MPI_Comm comm, MPI_Status *status)
{
    struct ftc_mpi_comm *c = ftc_mpi_fast_comm(comm);
    ptrdiff_t bytes = ftc_mpi_fast_bytes(c, buf, count, datatype, source);
    ftc_status got;
    if (bytes < 0 || source < MPI_ANY_SOURCE || tag < MPI_ANY_TAG || tag == -1)
        return FTC_MPI_SLOW;
    int error = ftc_recv(buf, (size_t)bytes, FTC_UINT8, source, ftc_mpi_native_tag(tag), c->native,
                         status == MPI_STATUS_IGNORE ? NULL : &got);
    if (error == FTC_ERR_RANK_FAILED && source == MPI_ANY_SOURCE)
        return FTC_MPI_SLOW;
    if (status != MPI_STATUS_IGNORE && (error == FTC_SUCCESS || error == FTC_ERR_TRUNCATED))
        ftc_mpi_status_set(status, got.rank, got.tag, (MPI_Count)got.bytes);
    return error == FTC_SUCCESS ? MPI_SUCCESS : ftc_mpi_message_outcome(c, error);
}

static inline int ftc_mpi_fast_isend(const void *buf, MPI_Count count, MPI_Datatype datatype,
                                     int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    struct ftc_mpi_comm *c = ftc_mpi_fast_comm(comm);
    ptrdiff_t bytes = ftc_mpi_fast_bytes(c, buf, count, datatype, dest);
    if (bytes < 0 || dest < 0 || tag < 0)
        return FTC_MPI_SLOW;
    return ftc_mpi_plain_start(c, false, (void *)buf, (size_t)bytes, dest, tag, request);
}

static inline int ftc_mpi_fast_irecv(void *buf, MPI_Count count, MPI_Datatype datatype, int source,
                                     int tag, MPI_Comm comm, MPI_Request *request)
{
    struct ftc_mpi_comm *c = ftc_mpi_fast_comm(comm);
    ptrdiff_t bytes = ftc_mpi_fast_bytes(c, buf, count, datatype, source);
    if (bytes < 0 || source < MPI_ANY_SOURCE || tag < MPI_ANY_TAG || tag == -1)
        return FTC_MPI_SLOW;
    return ftc_mpi_plain_start(c, true, buf, (size_t)bytes, source, tag, request);
}

#endif
