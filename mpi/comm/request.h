/*
 * Requests. A request has requests of ftcoll while an operation is under way, and says what is to
 * be done when they have ended. A persistent one is started again and again.
 */
#ifndef FTC_MPI_REQUEST_H
#define FTC_MPI_REQUEST_H

#include "mpi/comm/comm.h"

struct ftc_mpi_request;

/* What belongs to a kind of request. finish() and cancel() run with the
 * communicator entered. */
struct ftc_mpi_operation {
    /* Starts it: stores the requests of ftcoll. If it stores none, it has ended. */
    int (*start)(struct ftc_mpi_request *request);
    /* They have ended, and `error` is the first error of ftcoll: the results go to their places.
     * Returns what the program gets. Or it goes on, and stores the next request of ftcoll. */
    int (*finish)(struct ftc_mpi_request *request, int error);
    /* Frees what it has. It is not under way. NULL: it has nothing, and is not longer than
     * struct ftc_mpi_request. */
    void (*release)(struct ftc_mpi_request *request);
    /* NULL: it can neither be cancelled nor given up while it is under way. */
    int (*cancel)(struct ftc_mpi_request *request);
};

/* The first member of what a kind of request has. */
struct ftc_mpi_request {
    struct ftc_mpi_object object;
    const struct ftc_mpi_operation *operation;
    struct ftc_mpi_comm *comm; /* with a reference */
    bool persistent;
    bool receives;          /* on the short way (plain.c) */
    bool active;            /* it was started, and its result was not handed over */
    ftc_request *native[2]; /* what is under way: a receive or a collective, and a send */
    ftc_status got;         /* of the receive */
    int error;              /* of ftcoll: the first one */
    atomic_bool outside;    /* it ends when the program says so */
    bool interrupted;       /* a failure has interrupted the wait (point-to-point.md, P8) */
    bool ended;
    int result;                   /* when it has ended: what the program gets */
    MPI_Status status;            /* likewise; empty, unless finish() fills it in */
    size_t buffered;              /* bytes of a buffered send, with the overhead */
    struct ftc_mpi_request *next; /* of those that were given up */
};

/* A request that was not started; NULL: no memory. It has `bytes` bytes, and begins with a
 * struct ftc_mpi_request. */
void *ftc_mpi_request_new(const struct ftc_mpi_operation *operation, struct ftc_mpi_comm *comm,
                          size_t bytes);
/* It was started with the result `rc`. Stores its handle, or it is gone. Returns `rc`. */
int ftc_mpi_request_started(struct ftc_mpi_request *request, int rc, MPI_Request *handle);
/* Starts the request, and stores its handle. If that fails, the request is gone. */
int ftc_mpi_request_give(struct ftc_mpi_request *request, MPI_Request *handle);
/* The same; with handle == NULL it waits for the end. */
int ftc_mpi_request_run(struct ftc_mpi_request *request, MPI_Request *handle);
/* One with bytes of a buffered send only when nothing else refers to it. */
void ftc_mpi_request_release(struct ftc_mpi_request *request);
/* Cancels all of it, or its receive alone. */
int ftc_mpi_request_cancel(struct ftc_mpi_request *request, bool all);
/* A request that was started, and that the program will not wait for. */
void ftc_mpi_request_give_up(struct ftc_mpi_request *request);
/* Wait for the requests, or test them: what MPI_Wait(), Waitall(), Waitany() and Waitsome() do, and
 * the tests. */
int ftc_mpi_end_one(MPI_Request *request, bool wait, int *flag, MPI_Status *status);
int ftc_mpi_end_all(int count, MPI_Request requests[], bool wait, int *flag, MPI_Status *statuses);
int ftc_mpi_end_any(int count, MPI_Request requests[], bool wait, int *indx, int *flag,
                    MPI_Status *status);
int ftc_mpi_end_some(int count, MPI_Request requests[], bool wait, int *outcount, int indices[],
                     MPI_Status *statuses);

/* Frees those that were given up and have ended. Before that it waits for the buffered ones, or, as
 * the last thing, cancels receives and waits for all. Returns the bytes of buffered sends left. */
enum ftc_mpi_reap { FTC_MPI_REAP, FTC_MPI_REAP_BUFFERED, FTC_MPI_REAP_LAST };
size_t ftc_mpi_requests_reap(enum ftc_mpi_reap how);

#endif
