/* A call that sends, receives, or both: its blocking, its non-blocking and its persistent form go
 * the same way. */
#ifndef FTC_MPI_MESSAGE_H
#define FTC_MPI_MESSAGE_H

#include "functions.h"
#include "mpi/comm/comm.h"

/* The members have the names of the standard's parameters; those that a call has not are 0. What is
 * sent, or received by a call that only receives, is in the first ones. */
struct ftc_mpi_message {
    enum ftc_mpi_call_kind kind;
    union {
        void *buf, *sendbuf;
    };
    union {
        MPI_Count count, sendcount;
    };
    union {
        MPI_Datatype datatype, sendtype;
    };
    union {
        int tag, sendtag;
    };
    int dest, source, recvtag;
    void *recvbuf;
    MPI_Count recvcount;
    MPI_Datatype recvtype;
    MPI_Comm comm;
    MPI_Message *message;
    MPI_Status *status;
};

int ftc_mpi_message_run(const struct ftc_mpi_message *call);
int ftc_mpi_message_start(const struct ftc_mpi_message *call, MPI_Request *request);
int ftc_mpi_message_init(const struct ftc_mpi_message *call, MPI_Info info, MPI_Request *request);

/* Starts a receive, or a send, of bytes that are given as they are. */
int ftc_mpi_plain_start(struct ftc_mpi_comm *comm, bool receives, void *buf, size_t bytes, int peer,
                        int tag, MPI_Request *request);
struct ftc_mpi_request;
int ftc_mpi_message_cancel(struct ftc_mpi_request *request);

/* A message that a probe has taken for a receive. */
struct ftc_mpi_matched {
    struct ftc_mpi_object object;
    struct ftc_mpi_comm *comm; /* with a reference */
    ftc_matched *native;
};

/* MPI_ERR_RANK or MPI_ERR_TAG if the arguments of a send or a receive are wrong. */
int ftc_mpi_check_peer(const struct ftc_mpi_comm *comm, int rank, int tag, bool sends);
/* What a send or a receive that returned `error` returns in MPI. */
int ftc_mpi_message_outcome(struct ftc_mpi_comm *comm, int error);
/* The rank of a peer for ftcoll, and back; and the tag of a receive. */
static inline int ftc_mpi_native_rank(const struct ftc_mpi_comm *comm, int rank)
{
    return rank < 0 ? rank : comm->remote_first + rank;
}
static inline int ftc_mpi_peer_rank(const struct ftc_mpi_comm *comm, int rank)
{
    return rank < 0 ? rank : rank - comm->remote_first;
}

static inline int ftc_mpi_native_tag(int tag)
{
    return tag == MPI_ANY_TAG ? FTC_ANY_TAG : tag;
}

/* Looks for a message. *flag: there is one, which *message gets; with message == NULL it stays. */
int ftc_mpi_look(struct ftc_mpi_comm *comm, int source, int tag, bool waits, int *flag,
                 MPI_Message *message, MPI_Status *status);

/* Is there room for a buffered send of so many bytes? Otherwise MPI_ERR_BUFFER. */
int ftc_mpi_buffer_check(size_t bytes);

#endif
