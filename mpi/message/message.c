/* Sends and receives. To ftcoll they are bytes, packed ones where elements do not lie together. */
#include "mpi/message/message.h"

#include "mpi/call/side.h"
#include "mpi/comm/request.h"
#include "mpi/type/status.h"

#include <stdlib.h>

/* A side without a shape: the call does not send, or does not receive. */
struct transfer {
    struct ftc_mpi_request request; /* it comes first */
    enum ftc_mpi_call_kind kind;
    int dest, sendtag, source, recvtag;
    MPI_Request behind;   /* what a buffered send has left behind, and may cancel; NULL: nothing */
    ftc_matched *matched; /* what it receives; NULL: it looks for a message */
    struct ftc_mpi_side send, recv;
};

int ftc_mpi_check_peer(const struct ftc_mpi_comm *comm, int rank, int tag, bool sends)
{
    if (rank != MPI_PROC_NULL &&
        (rank < (sends ? 0 : MPI_ANY_SOURCE) || rank >= ftc_mpi_comm_peers(comm)))
        return ftc_mpi_error(MPI_ERR_RANK, "rank %d of %d", rank, ftc_mpi_comm_peers(comm));
    if (tag < 0 && (sends || tag != MPI_ANY_TAG))
        return ftc_mpi_error(MPI_ERR_TAG, "a tag of %d is negative", tag);
    return MPI_SUCCESS;
}

int ftc_mpi_message_outcome(struct ftc_mpi_comm *comm, int error)
{
    if (error == FTC_ERR_REVOKED)
        comm->revoked = true;
    return ftc_mpi_error_from(error);
}

/* --- start --- */

static int start_receive(struct transfer *t)
{
    ftc_request **native = &t->request.native[0];
    void *at = ftc_mpi_side_at(&t->recv);
    if (t->recv.shape == FTC_MPI_NO_SIDE || t->source == MPI_PROC_NULL)
        return FTC_SUCCESS;
    if (t->matched != NULL)
        return ftc_imrecv(at, t->recv.bytes, FTC_UINT8, &t->matched, native);
    return ftc_irecv(at, t->recv.bytes, FTC_UINT8, ftc_mpi_native_rank(t->request.comm, t->source),
                     ftc_mpi_native_tag(t->recvtag), t->request.comm->native, native);
}

/* A buffered send ends at once, and leaves another request behind. */
static int leave_behind(struct transfer *t)
{
    struct transfer *copy =
        ftc_mpi_request_new(t->request.operation, t->request.comm, sizeof *copy);
    if (copy == NULL)
        return ftc_mpi_no_memory();
    copy->kind = FTC_MPI_SEND;
    copy->dest = t->dest;
    copy->sendtag = t->sendtag;
    copy->send = t->send;
    copy->send.copied = true;
    ftc_mpi_type_hold(copy->send.type);
    copy->request.buffered =
        MPI_BSEND_OVERHEAD + (size_t)ftc_mpi_packed(t->send.type, t->send.count);
    int rc = ftc_mpi_buffer_check(copy->request.buffered);
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_request_give(&copy->request, &t->behind);
    else
        ftc_mpi_request_release(&copy->request);
    if (rc == MPI_SUCCESS) {
        ftc_mpi_object_hold(&copy->request.object);
        ftc_mpi_request_give_up(&copy->request);
    }
    return rc;
}

static int start_send(struct transfer *t)
{
    ftc_request **native = &t->request.native[1];
    ftc_comm *comm = t->request.comm->native;
    const void *at = ftc_mpi_side_at(&t->send);
    int dest = ftc_mpi_native_rank(t->request.comm, t->dest);
    return t->kind == FTC_MPI_SSEND
               ? ftc_issend(at, t->send.bytes, FTC_UINT8, dest, t->sendtag, comm, native)
               : ftc_isend(at, t->send.bytes, FTC_UINT8, dest, t->sendtag, comm, native);
}

static int start_transfer(struct ftc_mpi_request *request)
{
    struct transfer *t = (struct transfer *)request;
    bool sends = t->send.shape != FTC_MPI_NO_SIDE && t->dest != MPI_PROC_NULL;
    if (sends && t->kind == FTC_MPI_BSEND)
        return leave_behind(t);
    int rc = ftc_mpi_side_prepare(&t->send, true);
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_side_prepare(&t->recv, false);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_comm_enter(request->comm);
    int error = start_receive(t);
    if (error == FTC_SUCCESS && sends)
        error = start_send(t);
    if (error != FTC_SUCCESS && request->native[0] != NULL) {
        ftc_cancel(request->native[0]);
        ftc_wait(&request->native[0], NULL);
    }
    ftc_mpi_comm_leave(request->comm);
    return ftc_mpi_error_from(error);
}

/* --- end --- */

static int deliver(struct transfer *t, size_t bytes)
{
    MPI_Count elements;
    if (bytes < t->recv.bytes)
        t->recv.bytes = bytes;
    ftc_mpi_side_deliver(&t->recv);
    ftc_mpi_get_elements(&t->request.status, t->recv.type, &elements);
    return elements != MPI_UNDEFINED
               ? MPI_SUCCESS
               : ftc_mpi_error(MPI_ERR_TYPE, "%zu bytes end inside an element", bytes);
}

static int finish_transfer(struct ftc_mpi_request *request, int error)
{
    struct transfer *t = (struct transfer *)request;
    const ftc_status *got = &request->got;
    bool cancelled = error == FTC_ERR_CANCELLED;
    if (t->recv.shape != FTC_MPI_NO_SIDE && t->source == MPI_PROC_NULL)
        ftc_mpi_status_set(&request->status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    else if (t->recv.shape != FTC_MPI_NO_SIDE && !cancelled)
        ftc_mpi_status_set(&request->status, ftc_mpi_peer_rank(t->request.comm, got->rank),
                           got->tag, (MPI_Count)got->bytes);
    int rc = cancelled ? MPI_SUCCESS : ftc_mpi_message_outcome(request->comm, error);
    if (t->recv.packed != NULL && !cancelled && (rc == MPI_SUCCESS || rc == MPI_ERR_TRUNCATE)) {
        int whole = deliver(t, got->bytes);
        rc = rc == MPI_SUCCESS ? whole : rc;
    }
    ftc_mpi_status_set_cancelled(&request->status, cancelled);
    if (t->behind != NULL)
        ftc_mpi_request_release((struct ftc_mpi_request *)t->behind);
    t->behind = NULL;
    free(t->send.packed);
    free(t->recv.packed);
    t->send.packed = t->recv.packed = NULL;
    return rc;
}

static void release_transfer(struct ftc_mpi_request *request)
{
    struct transfer *t = (struct transfer *)request;
    ftc_mpi_side_release(&t->send);
    ftc_mpi_side_release(&t->recv);
}

int ftc_mpi_message_cancel(struct ftc_mpi_request *request)
{
    int error = FTC_SUCCESS;
    for (int i = 0; i < 2; i++)
        if (request->native[i] != NULL)
            error = ftc_cancel(request->native[i]);
    return ftc_mpi_error_from(error);
}

/* A buffered send takes back what it has left behind. */
static int cancel_transfer(struct ftc_mpi_request *request)
{
    struct transfer *t = (struct transfer *)request, *copy = (struct transfer *)t->behind;
    if (copy != NULL && copy->request.native[1] != NULL) {
        request->native[1] = copy->request.native[1];
        t->send.packed = copy->send.packed;
        copy->request.native[1] = NULL;
        copy->send.packed = NULL;
    }
    return ftc_mpi_message_cancel(request);
}

/* --- the call --- */

static int open_side(struct ftc_mpi_side *side, void *buffer, MPI_Count count,
                     MPI_Datatype datatype)
{
    int rc = ftc_mpi_side_equal(side, buffer, count, datatype, 1);
    if (rc == MPI_SUCCESS && buffer == NULL && side->type->contiguous &&
        ftc_mpi_packed(side->type, count) > 0)
        rc = ftc_mpi_error(MPI_ERR_BUFFER, "the buffer is NULL");
    return rc;
}

static int open_sides(struct transfer *t, const struct ftc_mpi_message *m)
{
    bool both = m->kind == FTC_MPI_SENDRECV || m->kind == FTC_MPI_SENDRECV_REPLACE;
    bool receives = m->kind == FTC_MPI_RECV || m->kind == FTC_MPI_MRECV;
    int rc = MPI_SUCCESS;
    t->kind = m->kind;
    t->dest = m->dest;
    t->source = m->source;
    t->sendtag = m->sendtag;
    t->recvtag = both ? m->recvtag : m->tag;
    if (!receives)
        rc = ftc_mpi_check_peer(t->request.comm, t->dest, t->sendtag, true);
    if (rc == MPI_SUCCESS && (receives || both))
        rc = ftc_mpi_check_peer(t->request.comm, t->source, t->recvtag, false);
    if (rc == MPI_SUCCESS && !receives)
        rc = open_side(&t->send, m->buf, m->count, m->datatype);
    if (rc == MPI_SUCCESS && m->kind == FTC_MPI_SENDRECV)
        rc = open_side(&t->recv, m->recvbuf, m->recvcount, m->recvtype);
    else if (rc == MPI_SUCCESS && (receives || both))
        rc = open_side(&t->recv, m->buf, m->count, m->datatype);
    t->send.copied = m->kind == FTC_MPI_SENDRECV_REPLACE;
    return rc;
}

/* The communicator of the call; of a matched message in *matched, which is MPI_MESSAGE_NULL from
 * then on. */
static int open_comm(const struct ftc_mpi_message *m, struct ftc_mpi_comm **comm,
                     struct ftc_mpi_matched **matched)
{
    *matched = NULL;
    if (m->kind != FTC_MPI_MRECV)
        return ftc_mpi_comm_open(m->comm, comm);
    *matched = ftc_mpi_object(*m->message, FTC_MPI_MATCHED);
    if (*matched == NULL && *m->message != MPI_MESSAGE_NO_PROC)
        return ftc_mpi_error(MPI_ERR_REQUEST, "this is no message of a matched probe");
    *comm = *matched == NULL ? ftc_mpi_process.world : (*matched)->comm;
    return MPI_SUCCESS;
}

static void take_matched(struct transfer *t, struct ftc_mpi_matched *matched, MPI_Message *message)
{
    *message = MPI_MESSAGE_NULL;
    t->source = MPI_PROC_NULL;
    if (matched == NULL)
        return;
    t->source = MPI_ANY_SOURCE;
    t->matched = matched->native;
    ftc_mpi_comm_release(matched->comm);
    ftc_mpi_object_free(&matched->object);
}

static int make(const struct ftc_mpi_message *m, bool persistent, struct transfer **out)
{
    static const struct ftc_mpi_operation operation = {start_transfer, finish_transfer,
                                                       release_transfer, cancel_transfer};
    struct ftc_mpi_comm *comm;
    struct ftc_mpi_matched *matched;
    int rc = open_comm(m, &comm, &matched);
    if (rc != MPI_SUCCESS)
        return rc;
    struct transfer *t = ftc_mpi_request_new(&operation, comm, sizeof *t);
    if (t == NULL)
        return ftc_mpi_no_memory();
    t->request.persistent = persistent;
    rc = open_sides(t, m);
    if (rc != MPI_SUCCESS) {
        ftc_mpi_request_release(&t->request);
        return m->kind == FTC_MPI_MRECV ? ftc_mpi_error_on(comm, rc) : rc;
    }
    if (m->kind == FTC_MPI_MRECV)
        take_matched(t, matched, m->message);
    *out = t;
    return MPI_SUCCESS;
}

int ftc_mpi_message_start(const struct ftc_mpi_message *m, MPI_Request *request)
{
    struct transfer *t = NULL;
    int rc = make(m, false, &t);
    return rc == MPI_SUCCESS ? ftc_mpi_request_give(&t->request, request) : rc;
}

int ftc_mpi_message_init(const struct ftc_mpi_message *m, MPI_Info info, MPI_Request *request)
{
    struct transfer *t = NULL;
    (void)info;
    int rc = make(m, true, &t);
    if (rc == MPI_SUCCESS)
        *request = (MPI_Request)t;
    return rc;
}

/* A failure that interrupts a blocking receive ends it, unless it takes a message meanwhile. */
int ftc_mpi_message_run(const struct ftc_mpi_message *m)
{
    MPI_Request request;
    MPI_Status status;
    int cancelled, rc = ftc_mpi_message_start(m, &request);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = ftc_mpi_end_one(&request, true, &cancelled, &status);
    if (rc == MPIX_ERR_PROC_FAILED_PENDING) {
        ftc_mpi_request_cancel((struct ftc_mpi_request *)request, false);
        rc = ftc_mpi_end_one(&request, true, &cancelled, &status);
        ftc_mpi_test_cancelled(&status, &cancelled);
        if (rc == MPI_SUCCESS && cancelled)
            rc = ftc_mpi_error(MPIX_ERR_PROC_FAILED,
                               "a rank has failed that may have been the one to send");
    }
    ftc_mpi_status_copy(m->status, &status);
    return rc;
}
