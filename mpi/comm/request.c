#include "mpi/comm/request.h"

#include "functions.h"
#include "mpi/type/status.h"

#include <sched.h>
#include <stdlib.h>

struct ftc_mpi_request {
    struct ftc_mpi_object object;
    struct ftc_mpi_comm *comm; /* with a reference */
    struct ftc_mpi_operation *operation;
    ftc_request *native; /* while it is under way */
    bool persistent;
    bool ended; /* found by MPI_Request_get_status(); `result` is what a wait returns */
    int result;
};

int ftc_mpi_request_give(struct ftc_mpi_comm *comm, ftc_request *native,
                         struct ftc_mpi_operation *operation, MPI_Request *request)
{
    struct ftc_mpi_request *made = ftc_mpi_object_new(FTC_MPI_REQUEST, sizeof *made);
    if (made == NULL) {
        if (native != NULL)
            operation->finish(operation, comm, ftc_wait(&native, NULL));
        return ftc_mpi_no_memory();
    }
    ftc_mpi_object_hold(&comm->object);
    made->comm = comm;
    made->operation = operation;
    made->native = native;
    made->persistent = native == NULL;
    *request = (MPI_Request)made;
    return MPI_SUCCESS;
}

static int open_request(MPI_Request handle, struct ftc_mpi_request **out)
{
    *out = ftc_mpi_object(handle, FTC_MPI_REQUEST);
    return *out != NULL || handle == MPI_REQUEST_NULL
               ? MPI_SUCCESS
               : ftc_mpi_error(MPI_ERR_REQUEST, "this is no request");
}

static bool is_active(const struct ftc_mpi_request *r)
{
    return r != NULL && (r->native != NULL || r->ended);
}

static void release(struct ftc_mpi_request *r)
{
    if (r->persistent)
        r->operation->release(r->operation);
    ftc_mpi_comm_release(r->comm);
    ftc_mpi_object_free(&r->object);
}

/* A call of ftcoll for the request returned `error`. If the operation has ended, its results go to
 * their places. If the call was refused, as in a child made by fork(), nothing is left to wait for.
 */
static void end(struct ftc_mpi_request *r, int error)
{
    if (r->native != NULL && error == FTC_SUCCESS)
        return;
    r->ended = true;
    r->result = r->native != NULL ? ftc_mpi_error_from(error)
                                  : r->operation->finish(r->operation, r->comm, error);
}

/* Has the operation ended? Then its results are in their places, and r->result says how. */
static bool has_ended(struct ftc_mpi_request *r, bool wait)
{
    int done, error;
    if (r->ended)
        return true;
    ftc_mpi_comm_enter(r->comm);
    error = wait && !ftc_mpi_process.multiple ? ftc_wait(&r->native, NULL)
                                              : ftc_test(&r->native, &done, NULL);
    end(r, error);
    ftc_mpi_comm_leave(r->comm);
    return r->ended;
}

/* Gives the result of a request that has ended to the program: a persistent one is inactive again,
 * another one is gone. */
static int hand_over(MPI_Request *handle, MPI_Status *status)
{
    struct ftc_mpi_request *r = (struct ftc_mpi_request *)*handle;
    int result = r->result;
    ftc_mpi_status_empty(status);
    r->ended = false;
    if (result != MPI_SUCCESS && atomic_load(&r->comm->object.references) > 1)
        ftc_mpi_error_on(r->comm, result); /* the program still has it */
    if (!r->persistent) {
        release(r);
        *handle = MPI_REQUEST_NULL;
    }
    return result;
}

/* Other threads of the program may need the communicator: they get turns between tests. */
static void wait_for(struct ftc_mpi_request *r)
{
    while (!has_ended(r, true))
        sched_yield();
}

int ftc_mpi_wait(MPI_Request *request, MPI_Status *status)
{
    struct ftc_mpi_request *r;
    int rc = open_request(*request, &r);
    if (rc != MPI_SUCCESS || !is_active(r)) {
        ftc_mpi_status_empty(status);
        return rc;
    }
    wait_for(r);
    return hand_over(request, status);
}

int ftc_mpi_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct ftc_mpi_request *r;
    int rc = open_request(*request, &r);
    *flag = 1;
    if (rc != MPI_SUCCESS || !is_active(r)) {
        ftc_mpi_status_empty(status);
        return rc;
    }
    *flag = has_ended(r, false);
    return *flag ? hand_over(request, status) : MPI_SUCCESS;
}

int ftc_mpi_request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct ftc_mpi_request *r;
    int rc = open_request(request, &r);
    if (rc != MPI_SUCCESS)
        return rc;
    *flag = !is_active(r) || has_ended(r, false);
    if (*flag)
        ftc_mpi_status_empty(status);
    return MPI_SUCCESS;
}

static int check_requests(int count, const MPI_Request requests[])
{
    struct ftc_mpi_request *r;
    int rc = count < 0 ? ftc_mpi_error(MPI_ERR_ARG, "%d requests", count) : MPI_SUCCESS;
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        rc = open_request(requests[i], &r);
    return rc;
}

static struct ftc_mpi_request *active_of(MPI_Request handle)
{
    struct ftc_mpi_request *r = ftc_mpi_object(handle, FTC_MPI_REQUEST);
    return is_active(r) ? r : NULL;
}

/* The statuses of requests that have ended. After an error each status has its own. */
static int hand_over_all(int count, MPI_Request requests[], MPI_Status statuses[])
{
    bool failed = false;
    for (int i = 0; i < count; i++) {
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int rc = MPI_SUCCESS;
        if (active_of(requests[i]) != NULL)
            rc = hand_over(&requests[i], status);
        else
            ftc_mpi_status_empty(status);
        failed |= rc != MPI_SUCCESS;
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = rc;
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int ftc_mpi_waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
    int rc = check_requests(count, requests);
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        if (active_of(requests[i]) != NULL)
            wait_for(active_of(requests[i]));
    return rc != MPI_SUCCESS ? rc : hand_over_all(count, requests, statuses);
}

int ftc_mpi_testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses)
{
    int rc = check_requests(count, requests);
    *flag = 1;
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        if (active_of(requests[i]) != NULL && !has_ended(active_of(requests[i]), false))
            *flag = 0;
    return rc != MPI_SUCCESS || !*flag ? rc : hand_over_all(count, requests, statuses);
}

/* The first request that has ended; -1: none yet; MPI_UNDEFINED: none is active. */
static int find_ended(int count, MPI_Request requests[])
{
    int found = MPI_UNDEFINED;
    for (int i = 0; i < count; i++) {
        struct ftc_mpi_request *r = active_of(requests[i]);
        if (r != NULL && has_ended(r, false))
            return i;
        if (r != NULL)
            found = -1;
    }
    return found;
}

/* Waits until one has ended. With one thread ftcoll waits, and sleeps after a while. */
static int await_any(int count, MPI_Request requests[])
{
    int found = find_ended(count, requests);
    if (found != -1)
        return found;
    ftc_request **natives =
        ftc_mpi_process.multiple ? NULL : calloc((size_t)count, sizeof *natives);
    if (natives != NULL) {
        int error, at = FTC_UNDEFINED;
        for (int i = 0; i < count; i++)
            natives[i] = active_of(requests[i]) == NULL ? NULL : active_of(requests[i])->native;
        error = ftc_wait_any(count, natives, &at, NULL);
        if (at >= 0) {
            struct ftc_mpi_request *r = active_of(requests[at]);
            r->native = natives[at];
            end(r, error);
            free(natives);
            return at;
        }
        free(natives);
    }
    while ((found = find_ended(count, requests)) == -1)
        sched_yield();
    return found;
}

int ftc_mpi_waitany(int count, MPI_Request requests[], int *indx, MPI_Status *status)
{
    int rc = check_requests(count, requests);
    if (rc != MPI_SUCCESS)
        return rc;
    *indx = await_any(count, requests);
    if (*indx != MPI_UNDEFINED)
        return hand_over(&requests[*indx], status);
    ftc_mpi_status_empty(status);
    return MPI_SUCCESS;
}

int ftc_mpi_testany(int count, MPI_Request requests[], int *indx, int *flag, MPI_Status *status)
{
    int rc = check_requests(count, requests);
    if (rc != MPI_SUCCESS)
        return rc;
    int found = find_ended(count, requests);
    *flag = found != -1;
    *indx = found < 0 ? MPI_UNDEFINED : found;
    if (found >= 0)
        return hand_over(&requests[found], status);
    if (*flag)
        ftc_mpi_status_empty(status);
    return MPI_SUCCESS;
}

/* Those that have ended, from `first` on. */
static int some(int count, MPI_Request requests[], int first, int *outcount, int indices[],
                MPI_Status statuses[])
{
    bool failed = false;
    *outcount = 0;
    for (int i = first < 0 ? count : first; i < count; i++) {
        struct ftc_mpi_request *r = active_of(requests[i]);
        if (r == NULL || !has_ended(r, false))
            continue;
        MPI_Status *status =
            statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*outcount];
        int rc = hand_over(&requests[i], status);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = rc;
        failed |= rc != MPI_SUCCESS;
        indices[(*outcount)++] = i;
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int ftc_mpi_waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                     MPI_Status *statuses)
{
    int rc = check_requests(incount, requests);
    if (rc != MPI_SUCCESS)
        return rc;
    int first = await_any(incount, requests);
    *outcount = MPI_UNDEFINED;
    return first == MPI_UNDEFINED ? MPI_SUCCESS
                                  : some(incount, requests, 0, outcount, indices, statuses);
}

int ftc_mpi_testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                     MPI_Status *statuses)
{
    int rc = check_requests(incount, requests);
    if (rc != MPI_SUCCESS)
        return rc;
    int first = find_ended(incount, requests);
    *outcount = MPI_UNDEFINED;
    return first == MPI_UNDEFINED ? MPI_SUCCESS
                                  : some(incount, requests, first, outcount, indices, statuses);
}

int ftc_mpi_start(MPI_Request *request)
{
    struct ftc_mpi_request *r;
    int rc = open_request(*request, &r);
    if (rc == MPI_SUCCESS && (r == NULL || !r->persistent || is_active(r)))
        rc = ftc_mpi_error(MPI_ERR_REQUEST, "this is no inactive persistent request");
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_comm_enter(r->comm);
    rc = r->operation->start(r->operation, r->comm, &r->native);
    ftc_mpi_comm_leave(r->comm);
    return rc == MPI_SUCCESS ? rc : ftc_mpi_error_on(r->comm, rc);
}

int ftc_mpi_startall(int count, MPI_Request requests[])
{
    int rc = MPI_SUCCESS;
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++)
        rc = ftc_mpi_start(&requests[i]);
    return rc;
}

/* A collective operation that is under way cannot be given up (MPI 5.0, 6.12): it is waited for. */
int ftc_mpi_request_free(MPI_Request *request)
{
    struct ftc_mpi_request *r;
    int rc = open_request(*request, &r);
    if (rc == MPI_SUCCESS && r == NULL)
        rc = ftc_mpi_error(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
    if (rc == MPI_SUCCESS && r->native != NULL)
        rc = ftc_mpi_error(MPI_ERR_REQUEST, "a collective operation is under way: wait for it");
    if (rc != MPI_SUCCESS)
        return rc;
    release(r);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
