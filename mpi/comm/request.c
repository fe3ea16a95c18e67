#include "mpi/comm/request.h"

#include "functions.h"
#include "mpi/type/status.h"

#include <sched.h>
#include <stdlib.h>

#define MOST_SPARES 64

void *ftc_mpi_request_new(const struct ftc_mpi_operation *operation, struct ftc_mpi_comm *comm,
                          size_t bytes)
{
    struct ftc_mpi_request *r =
        operation->release == NULL && !ftc_mpi_process.multiple ? ftc_mpi_process.spare : NULL;
    if (r != NULL) {
        ftc_mpi_process.spare = r->next;
        ftc_mpi_process.spares--;
        *r = (struct ftc_mpi_request){.object = {FTC_MPI_REQUEST, 1}};
    } else {
        r = ftc_mpi_object_new(FTC_MPI_REQUEST, bytes);
    }
    if (r == NULL)
        return NULL;
    ftc_mpi_object_hold(&comm->object);
    r->operation = operation;
    r->comm = comm;
    return r;
}

void ftc_mpi_request_release(struct ftc_mpi_request *r)
{
    struct ftc_mpi_comm *comm = r->comm;
    if (r->buffered > 0 && !ftc_mpi_object_drop(&r->object))
        return;
    if (r->operation->release != NULL)
        r->operation->release(r);
    if (r->operation->release == NULL && !ftc_mpi_process.multiple &&
        ftc_mpi_process.spares < MOST_SPARES) {
        r->object.kind = 0; /* a handle that is used on is mostly noticed */
        r->next = ftc_mpi_process.spare;
        ftc_mpi_process.spare = r;
        ftc_mpi_process.spares++;
    } else {
        ftc_mpi_object_free(&r->object);
    }
    ftc_mpi_comm_release(comm);
}

static int start(struct ftc_mpi_request *r)
{
    ftc_mpi_status_empty(&r->status);
    r->error = FTC_SUCCESS;
    int rc = r->operation->start(r);
    r->active = rc == MPI_SUCCESS;
    return rc;
}

int ftc_mpi_request_started(struct ftc_mpi_request *r, int rc, MPI_Request *handle)
{
    r->active = true;
    if (rc == MPI_SUCCESS)
        *handle = (MPI_Request)r;
    else
        ftc_mpi_request_release(r);
    return rc;
}

int ftc_mpi_request_give(struct ftc_mpi_request *r, MPI_Request *handle)
{
    return ftc_mpi_request_started(r, start(r), handle);
}

static int open_request(MPI_Request handle, struct ftc_mpi_request **out)
{
    *out = ftc_mpi_object(handle, FTC_MPI_REQUEST);
    return *out != NULL || handle == MPI_REQUEST_NULL
               ? MPI_SUCCESS
               : ftc_mpi_error(MPI_ERR_REQUEST, "this is no request");
}

/* --- progress --- */

/* Waits for one of its requests of ftcoll, or tests it. A failure may interrupt a wait: then the
 * request stays under way, and where failures are masked nobody is told. If ftcoll refuses the
 * call, as in a child made by fork(), nothing is left to wait for. */
static void advance(struct ftc_mpi_request *r, int i, int error, const ftc_status *status)
{
    if (r->native[i] != NULL && error == FTC_ERR_RANK_FAILED) {
        r->interrupted = !ftc_mpi_comm_passes(r->comm);
        return;
    }
    if (r->native[i] != NULL && error == FTC_SUCCESS)
        return;
    r->native[i] = NULL;
    if (i == 0)
        r->got = *status;
    if (r->error == FTC_SUCCESS)
        r->error = error;
}

/* Has the operation ended? Then its results are in their places, and r->result says how. */
static bool has_ended(struct ftc_mpi_request *r, bool wait)
{
    if (r->ended)
        return true;
    ftc_mpi_comm_enter(r->comm);
    for (int i = 0; i < 2; i++) {
        int done;
        ftc_status status = {0};
        if (r->native[i] != NULL)
            advance(r, i,
                    wait && !ftc_mpi_process.multiple ? ftc_wait(&r->native[i], &status)
                                                      : ftc_test(&r->native[i], &done, &status),
                    &status);
    }
    r->ended = r->native[0] == NULL && r->native[1] == NULL && !atomic_load(&r->outside);
    if (r->ended) {
        r->result = r->operation->finish(r, r->error);
        r->ended = r->native[0] == NULL;
        r->error = r->ended ? r->error : FTC_SUCCESS;
    }
    ftc_mpi_comm_leave(r->comm);
    return r->ended;
}

/* Is there something to hand over? */
static bool is_over(struct ftc_mpi_request *r, bool wait)
{
    return has_ended(r, wait) || r->interrupted;
}

/* Gives the result of a request that is over to the program: a persistent one is inactive again,
 * another one is gone. One that is interrupted stays as it is. */
static int hand_over(MPI_Request *handle, MPI_Status *status)
{
    struct ftc_mpi_request *r = (struct ftc_mpi_request *)*handle;
    bool ended = r->ended;
    int result = ended ? r->result
                       : ftc_mpi_error(MPIX_ERR_PROC_FAILED_PENDING,
                                       "a rank has failed that may have been the one to send");
    ftc_mpi_status_copy(status, &r->status);
    r->interrupted = r->ended = false;
    if (result != MPI_SUCCESS && atomic_load(&r->comm->object.references) > 1)
        ftc_mpi_error_on(r->comm, result); /* the program still has it */
    r->active = !ended;
    if (ended && !r->persistent) {
        ftc_mpi_request_release(r);
        *handle = MPI_REQUEST_NULL;
    }
    return result;
}

/* Other threads of the program may need the communicator: they get turns between tests. */
static void wait_for(struct ftc_mpi_request *r)
{
    while (!is_over(r, true))
        sched_yield();
}

/* Waits for the request, or tests it. */
int ftc_mpi_end_one(MPI_Request *request, bool wait, int *flag, MPI_Status *status)
{
    struct ftc_mpi_request *r;
    int rc = open_request(*request, &r);
    *flag = 1;
    if (rc != MPI_SUCCESS || r == NULL || !r->active) {
        ftc_mpi_status_empty(status);
        return rc;
    }
    if (wait)
        wait_for(r);
    else
        *flag = is_over(r, false);
    return *flag ? hand_over(request, status) : MPI_SUCCESS;
}

int ftc_mpi_request_run(struct ftc_mpi_request *r, MPI_Request *handle)
{
    MPI_Request own;
    int flag, rc = ftc_mpi_request_give(r, handle != NULL ? handle : &own);
    return rc != MPI_SUCCESS || handle != NULL
               ? rc
               : ftc_mpi_end_one(&own, true, &flag, MPI_STATUS_IGNORE);
}

int ftc_mpi_request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct ftc_mpi_request *r;
    int rc = open_request(request, &r);
    if (rc != MPI_SUCCESS)
        return rc;
    bool active = r != NULL && r->active;
    *flag = !active || has_ended(r, false);
    if (!active)
        ftc_mpi_status_empty(status);
    else if (*flag)
        ftc_mpi_status_copy(status, &r->status);
    return MPI_SUCCESS;
}

/* --- several at once --- */

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
    return r != NULL && r->active ? r : NULL;
}

/* Gives the result of a request that is over or was not active, with its error in status `i`. */
static int hand_over_next(MPI_Request *request, MPI_Status statuses[], int i)
{
    MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    int rc = MPI_SUCCESS;
    if (active_of(*request) != NULL)
        rc = hand_over(request, status);
    else
        ftc_mpi_status_empty(status);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = rc;
    return rc;
}

int ftc_mpi_end_all(int count, MPI_Request requests[], bool wait, int *flag, MPI_Status *statuses)
{
    int rc = check_requests(count, requests);
    *flag = 1;
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++) {
        struct ftc_mpi_request *r = active_of(requests[i]);
        if (r != NULL && wait)
            wait_for(r);
        else if (r != NULL && !is_over(r, false))
            *flag = 0;
    }
    bool failed = false;
    for (int i = 0; rc == MPI_SUCCESS && *flag && i < count; i++)
        failed |= hand_over_next(&requests[i], statuses, i) != MPI_SUCCESS;
    return failed ? MPI_ERR_IN_STATUS : rc;
}

/* The first request that is over; -1: none yet; MPI_UNDEFINED: none is active. */
static int find_over(int count, MPI_Request requests[])
{
    int found = MPI_UNDEFINED;
    for (int i = 0; i < count; i++) {
        struct ftc_mpi_request *r = active_of(requests[i]);
        if (r != NULL && is_over(r, false))
            return i;
        if (r != NULL)
            found = -1;
    }
    return found;
}

/* With one thread ftcoll waits for any of them, and sleeps after a while. */
static void wait_for_any(int count, MPI_Request requests[])
{
    int at = FTC_UNDEFINED;
    ftc_status status = {0};
    ftc_request **natives =
        ftc_mpi_process.multiple ? NULL : calloc((size_t)count * 2, sizeof *natives);
    if (natives == NULL) {
        sched_yield();
        return;
    }
    for (int i = 0; i < count * 2; i++)
        if (active_of(requests[i / 2]) != NULL)
            natives[i] = active_of(requests[i / 2])->native[i % 2];
    int error = ftc_wait_any(count * 2, natives, &at, &status);
    if (at >= 0) {
        struct ftc_mpi_request *r = active_of(requests[at / 2]);
        r->native[at % 2] = natives[at];
        advance(r, at % 2, error, &status);
    }
    free(natives);
}

int ftc_mpi_end_any(int count, MPI_Request requests[], bool wait, int *indx, int *flag,
                    MPI_Status *status)
{
    int rc = check_requests(count, requests), found;
    if (rc != MPI_SUCCESS)
        return rc;
    while ((found = find_over(count, requests)) == -1 && wait)
        wait_for_any(count, requests);
    *flag = found != -1;
    *indx = found < 0 ? MPI_UNDEFINED : found;
    if (found >= 0)
        return hand_over(&requests[found], status);
    if (*flag)
        ftc_mpi_status_empty(status);
    return MPI_SUCCESS;
}

int ftc_mpi_end_some(int count, MPI_Request requests[], bool wait, int *outcount, int indices[],
                     MPI_Status statuses[])
{
    bool failed = false;
    int rc = check_requests(count, requests), first;
    if (rc != MPI_SUCCESS)
        return rc;
    while ((first = find_over(count, requests)) == -1 && wait)
        wait_for_any(count, requests);
    *outcount = first == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
    for (int i = first < 0 ? count : first; i < count; i++) {
        struct ftc_mpi_request *r = active_of(requests[i]);
        if (r == NULL || !is_over(r, false))
            continue;
        failed |= hand_over_next(&requests[i], statuses, *outcount) != MPI_SUCCESS;
        indices[(*outcount)++] = i;
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

/* --- start, cancel, free --- */

int ftc_mpi_start(MPI_Request *request)
{
    struct ftc_mpi_request *r;
    int rc = open_request(*request, &r);
    if (rc == MPI_SUCCESS && (r == NULL || !r->persistent || r->active))
        rc = ftc_mpi_error(MPI_ERR_REQUEST, "this is no inactive persistent request");
    if (rc != MPI_SUCCESS)
        return rc;
    rc = start(r);
    return rc == MPI_SUCCESS ? rc : ftc_mpi_error_on(r->comm, rc);
}

int ftc_mpi_request_cancel(struct ftc_mpi_request *r, bool all)
{
    ftc_mpi_comm_enter(r->comm);
    int rc = all ? r->operation->cancel(r) : MPI_SUCCESS;
    if (!all && r->native[0] != NULL)
        ftc_cancel(r->native[0]);
    ftc_mpi_comm_leave(r->comm);
    return rc;
}

int ftc_mpi_cancel(MPI_Request *request)
{
    struct ftc_mpi_request *r;
    int rc = open_request(*request, &r);
    if (rc == MPI_SUCCESS && (r == NULL || !r->active || r->operation->cancel == NULL))
        rc = ftc_mpi_error(MPI_ERR_REQUEST, "this is no request of a message that is under way");
    return rc == MPI_SUCCESS && !r->ended ? ftc_mpi_request_cancel(r, true) : rc;
}

/* A collective operation that is under way cannot be given up (MPI 5.0, 6.12): it is waited for. */
int ftc_mpi_request_free(MPI_Request *request)
{
    struct ftc_mpi_request *r;
    int rc = open_request(*request, &r);
    if (rc == MPI_SUCCESS && r == NULL)
        rc = ftc_mpi_error(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
    if (rc == MPI_SUCCESS && r->active && r->operation->cancel == NULL)
        rc = ftc_mpi_error(MPI_ERR_REQUEST, "a collective operation is under way: wait for it");
    if (rc != MPI_SUCCESS)
        return rc;
    if (r->active)
        ftc_mpi_request_give_up(r);
    else
        ftc_mpi_request_release(r);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* --- given up --- */

static void keep(struct ftc_mpi_request *r)
{
    ftc_mpi_lock();
    r->next = ftc_mpi_process.given_up;
    ftc_mpi_process.given_up = r;
    ftc_mpi_unlock();
}

void ftc_mpi_request_give_up(struct ftc_mpi_request *r)
{
    keep(r);
    ftc_mpi_requests_reap(FTC_MPI_REAP);
}

size_t ftc_mpi_requests_reap(enum ftc_mpi_reap how)
{
    size_t buffered = 0;
    ftc_mpi_lock();
    struct ftc_mpi_request *r = ftc_mpi_process.given_up, *next;
    ftc_mpi_process.given_up = NULL;
    ftc_mpi_unlock();
    for (; r != NULL; r = next) {
        next = r->next;
        bool last = how == FTC_MPI_REAP_LAST && !atomic_load(&r->outside);
        bool held = atomic_load(&r->object.references) > 1; /* it may be cancelled */
        if (last)
            ftc_mpi_request_cancel(r, false);
        if (last || (how == FTC_MPI_REAP_BUFFERED && r->buffered > 0))
            wait_for(r);
        if ((how != FTC_MPI_REAP || !held) && has_ended(r, false)) {
            ftc_mpi_request_release(r);
        } else {
            buffered += held ? 0 : r->buffered;
            keep(r);
        }
    }
    return buffered;
}
