/*
 * A program of MPI whose ranks send messages to each other, and check what they get.
 * mpi_messages_app STORY; the last line of a rank that found nothing wrong is
 * "mpi_messages_app: done".
 */
#include <mpi-ext.h>
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define WORLD MPI_COMM_WORLD
#define MANY  (1 << 18) /* ints of a message that goes by rendezvous */

static int before, after; /* the neighbours in the ring */
static int many[2][MANY];

static int count_of(const MPI_Status *status, MPI_Datatype type)
{
    int count;
    MPI_Get_count(status, type, &count);
    return count;
}

/* Each mode of sending, with few and with many bytes. */
static void modes(void)
{
    static int memory[MANY + 1000];
    MPI_Request requests[2];
    MPI_Status status;
    void *detached;
    int bytes;
    MPI_Buffer_attach(memory, sizeof memory);
    for (int count = 0; count <= MANY; count += MANY / 2)
        for (int mode = 0; mode < 4; mode++) {
            for (int i = 0; i < count; i++)
                many[0][i] = rank + mode + i;
            MPI_Irecv(many[1], MANY, MPI_INT, before, mode, WORLD, &requests[0]);
            MPI_Barrier(WORLD); /* a ready send needs its receive */
            if (mode == 0)
                MPI_Send(many[0], count, MPI_INT, after, mode, WORLD);
            else if (mode == 1)
                MPI_Ssend(many[0], count, MPI_INT, after, mode, WORLD);
            else if (mode == 2)
                MPI_Rsend(many[0], count, MPI_INT, after, mode, WORLD);
            else
                MPI_Bsend(many[0], count, MPI_INT, after, mode, WORLD);
            MPI_Wait(&requests[0], &status);
            CHECK(status.MPI_SOURCE == before && status.MPI_TAG == mode);
            CHECK(count_of(&status, MPI_INT) == count);
            CHECK(count == 0 || many[1][count - 1] == before + mode + count - 1);
        }
    MPI_Buffer_detach(&detached, &bytes);
    CHECK(detached == memory && bytes == sizeof memory);
    MPI_Sendrecv(&rank, 1, MPI_INT, after, 9, &bytes, 1, MPI_INT, MPI_ANY_SOURCE, 9, WORLD,
                 &status);
    CHECK(bytes == before && status.MPI_SOURCE == before);
    bytes = rank;
    MPI_Sendrecv_replace(&bytes, 1, MPI_INT, after, 9, before, MPI_ANY_TAG, WORLD, &status);
    CHECK(bytes == before && status.MPI_TAG == 9);
    MPI_Isendrecv(&rank, 1, MPI_INT, before, 9, &bytes, 1, MPI_INT, after, 9, WORLD, &requests[0]);
    MPI_Wait(&requests[0], &status);
    CHECK(bytes == after && status.MPI_SOURCE == after);
    MPI_Recv(&bytes, 1, MPI_INT, MPI_PROC_NULL, 3, WORLD, &status);
    CHECK(bytes == after && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

/* A number goes round the ring; receives and probes name neither rank nor tag. */
static void wildcards(void)
{
    int value = 0, flag = 0;
    MPI_Status status;
    MPI_Message message;
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, after, 0, WORLD);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &message, &status);
    CHECK(status.MPI_SOURCE == before && count_of(&status, MPI_INT) == 1);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &flag, &status);
    CHECK(!flag);
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    CHECK(value == before && status.MPI_TAG == before && message == MPI_MESSAGE_NULL);
    value = rank;
    if (rank != 0)
        MPI_Send(&value, 1, MPI_INT, after, rank, WORLD);
    MPI_Barrier(WORLD);
    MPI_Send(&rank, 1, MPI_INT, after, rank, WORLD);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
    CHECK(status.MPI_TAG == before);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, MPI_STATUS_IGNORE);
    CHECK(value == before);
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &flag, &message, &status);
    CHECK(!flag && message == MPI_MESSAGE_NULL);
}

/* Every second element is sent; a receive takes them side by side, and the other way round. */
static void derived(void)
{
    int even[10] = {0}, dense[5];
    MPI_Datatype second;
    MPI_Status status;
    MPI_Type_vector(5, 1, 2, MPI_INT, &second);
    MPI_Type_commit(&second);
    for (int i = 0; i < 10; i++)
        even[i] = rank * 100 + i;
    MPI_Sendrecv(even, 1, second, after, 0, dense, 5, MPI_INT, before, 0, WORLD, &status);
    CHECK(dense[4] == before * 100 + 8);
    memset(even, -1, sizeof even);
    MPI_Sendrecv(dense, 3, MPI_INT, before, 0, even, 1, second, after, 0, WORLD, &status);
    MPI_Get_elements(&status, second, &dense[0]);
    CHECK(dense[0] == 3 && count_of(&status, second) == MPI_UNDEFINED);
    CHECK(even[4] == rank * 100 + 4 && even[6] == -1 && even[1] == -1);
    MPI_Type_free(&second);
}

static void persistent(void)
{
    int out = -1, in = -1;
    MPI_Request requests[2], freed;
    MPI_Send_init(&out, 1, MPI_INT, after, 5, WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, WORLD, &requests[1]);
    for (int round = 0; round < 20; round++) {
        MPI_Status statuses[2];
        out = rank * 100 + round;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        CHECK(in == before * 100 + round && statuses[1].MPI_SOURCE == before);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    out = rank;
    MPI_Isend(&out, 1, MPI_INT, after, 6, WORLD, &freed);
    MPI_Request_free(&freed);
    MPI_Recv(&in, 1, MPI_INT, before, 6, WORLD, MPI_STATUS_IGNORE);
    CHECK(in == before);
}

static void cancelled(void)
{
    int in, flag, count, indices[2];
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, before, 1, WORLD, &requests[0]);
    MPI_Irecv(&in, 1, MPI_INT, before, 2, WORLD, &requests[1]);
    MPI_Cancel(&requests[0]);
    MPI_Waitany(2, requests, &indices[0], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(indices[0] == 0 && flag && requests[0] == MPI_REQUEST_NULL);
    MPI_Testany(2, requests, &indices[0], &flag, &status);
    CHECK(!flag && indices[0] == MPI_UNDEFINED);
    MPI_Barrier(WORLD);
    MPI_Send(&rank, 1, MPI_INT, after, 2, WORLD);
    MPI_Waitsome(2, requests, &count, indices, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(count == 1 && indices[0] == 1 && !flag && in == before);
}

#define CANCELLED 100000 /* too many to go before a receive takes them */

/* Nobody receives these sends. MPI_Finalize() finds the last one. */
static void cancelled_sends(void)
{
    typedef int start(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    static start *const starts[] = {MPI_Isend, MPI_Issend, MPI_Ibsend};
    static int out[CANCELLED], space[CANCELLED + MPI_BSEND_OVERHEAD];
    MPI_Request request;
    MPI_Status status;
    int in, flag;
    MPI_Buffer_attach(space, sizeof space);
    for (int i = 0; i < 6; i++) {
        starts[i / 2](out, i % 2 == 0 ? 1 : CANCELLED, MPI_INT, after, 1, WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag && request == MPI_REQUEST_NULL);
    }
    MPI_Barrier(WORLD);
    MPI_Ibsend(&rank, 1, MPI_INT, after, 1, WORLD, &request);
    MPI_Buffer_detach(out, &in);
    MPI_Recv(&in, 1, MPI_INT, before, 1, WORLD, MPI_STATUS_IGNORE);
    CHECK(in == before);
    MPI_Barrier(WORLD);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
    MPI_Issend(out, 1, MPI_INT, after, 2, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Request_free(&request);
}

/* Each thread exchanges messages with a tag of its own: few and many numbers. */
static void *exchange(void *arg)
{
    int tag = *(int *)arg, *out = calloc(MANY, sizeof *out), *in = calloc(MANY, sizeof *in);
    CHECK(out && in);
    for (int i = 0; i < 20; i++) {
        int count = i % 4 == 0 ? MANY : i;
        MPI_Request request;
        MPI_Status status;
        out[0] = out[count - 1] = tag * 100 + i;
        MPI_Isend(out, count, MPI_INT, after, tag, WORLD, &request);
        MPI_Probe(MPI_ANY_SOURCE, tag, WORLD, &status);
        CHECK(count_of(&status, MPI_INT) == count);
        MPI_Recv(in, MANY, MPI_INT, before, tag, WORLD, MPI_STATUS_IGNORE);
        CHECK(in[0] == tag * 100 + i && in[count - 1] == in[0]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(out);
    free(in);
    return NULL;
}

/* The main thread makes collectives before it joins in. */
static void threads(void)
{
    int tags[] = {7, 8, 9};
    pthread_t others[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&others[i], NULL, exchange, &tags[i]);
    for (int i = 0; i < 20; i++)
        MPI_Barrier(WORLD);
    exchange(&tags[2]);
    for (int i = 0; i < 2; i++)
        pthread_join(others[i], NULL);
}

/* --- failures: rank 1 dies --- */

static void kill_one(void)
{
    MPI_Barrier(WORLD);
    if (rank == 1)
        raise(SIGKILL);
}

/* Errors are fatal. A receive from any rank goes on, since others live. */
static void masked(void)
{
    int value;
    kill_one();
    if (rank == 0) {
        for (int i = 2; i < size; i++) {
            MPI_Probe(MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
        }
        return;
    }
    usleep(300000); /* rank 0 mostly waits when it learns of the failure */
    MPI_Send(&rank, 1, MPI_INT, 0, 0, WORLD);
}

static void fatal(void)
{
    int value;
    kill_one();
    MPI_Recv(&value, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE);
}

static void raised(void)
{
    int value = -1, rc = MPI_SUCCESS, flag = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, &request);
    kill_one();
    CHECK(MPI_Recv(&value, 1, MPI_INT, 1, 3, WORLD, &status) == MPIX_ERR_PROC_FAILED);
    while (rc == MPI_SUCCESS)
        rc = MPI_Send(&rank, 1, MPI_INT, 1, 3, WORLD);
    CHECK(rc == MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Wait(&request, &status) == MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(request != MPI_REQUEST_NULL);
    CHECK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, &status) == MPIX_ERR_PROC_FAILED);
    MPIX_Comm_failure_ack(WORLD);
    CHECK(MPI_Test(&request, &flag, &status) == MPI_SUCCESS && !flag);
    MPI_Send(&rank, 1, MPI_INT, rank, 0, WORLD);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && value == rank);
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, WORLD, &request);
    MPIX_Comm_agree(WORLD, &flag); /* all have come here */
    MPIX_Comm_revoke(WORLD);
    CHECK(MPI_Wait(&request, &status) == MPIX_ERR_REVOKED);
    CHECK(MPI_Send(&rank, 1, MPI_INT, rank, 0, WORLD) == MPIX_ERR_REVOKED);
}

static const struct {
    const char *name;
    void (*run)(void);
} stories[] = {
    {"modes", modes},           {"wildcards", wildcards}, {"derived", derived},
    {"persistent", persistent}, {"cancelled", cancelled}, {"cancelled_sends", cancelled_sends},
    {"threads", threads},       {"masked", masked},       {"fatal", fatal},
    {"raised", raised},
};

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv,
                    getenv("MPI_APP_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    before = (rank + size - 1) % size;
    after = (rank + 1) % size;
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++)
        if (argc > 1 && strcmp(stories[i].name, argv[1]) == 0)
            stories[i].run();
    MPI_Finalize();
    puts("mpi_messages_app: done");
    return 0;
}
