/* The short way of sends and receives that do not block: bytes are given as they are, and one
 * thread calls at a time. */
#include "mpi/message/message.h"

#include "mpi/comm/request.h"
#include "mpi/type/status.h"

static int finish(struct ftc_mpi_request *r, int error)
{
    bool cancelled = error == FTC_ERR_CANCELLED;
    ftc_mpi_status_empty(&r->status);
    if (r->receives && !cancelled)
        ftc_mpi_status_set(&r->status, r->got.rank, r->got.tag, (MPI_Count)r->got.bytes);
    ftc_mpi_status_set_cancelled(&r->status, cancelled);
    return error == FTC_SUCCESS || cancelled ? MPI_SUCCESS
                                             : ftc_mpi_message_outcome(r->comm, error);
}

static const struct ftc_mpi_operation operation = {.finish = finish,
                                                   .cancel = ftc_mpi_message_cancel};

int ftc_mpi_plain_start(struct ftc_mpi_comm *comm, bool receives, void *buf, size_t bytes, int peer,
                        int tag, MPI_Request *request)
{
    struct ftc_mpi_request *r = ftc_mpi_request_new(&operation, comm, sizeof *r);
    if (r == NULL)
        return ftc_mpi_no_memory();
    r->receives = receives;
    int error = receives ? ftc_irecv(buf, bytes, FTC_UINT8, peer, ftc_mpi_native_tag(tag),
                                     comm->native, &r->native[0])
                         : ftc_isend(buf, bytes, FTC_UINT8, peer, tag, comm->native, &r->native[1]);
    return ftc_mpi_request_started(r, ftc_mpi_error_from(error), request);
}
