/* Ending requests: waits and tests. */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "runtime/api/call.h"
#include "runtime/api/posted.h"
#include "runtime/api/transfer.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/engine.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/point_to_point.h"
#include "runtime/comm/publish.h"
#include "runtime/process/progress.h"
#include "runtime/process/turn.h"

/* What the caller gets, in the thread of the caller, without the lock. */
static int give(struct ftc_posted *p)
{
    int status = p->queued.status;

    if (status != FTC_SUCCESS)
        return status;
    if (p->flag != NULL)
        return ftc_agreeing_take(&p->making.started, p->flag);
    if (p->child != NULL)
        *p->child = p->making.started.child;
    if (p->failed_count != NULL) {
        const struct ftc_set *failed = p->queued.finished->report.failed;
        ftc_snapshot_global(&p->comm->snapshot, failed);
        *p->failed_count = ftc_set_count(failed);
    }
    return p->makes ? status : ftc_collective_finish(&p->collective, p->comm, status);
}

/* The engine writes the last report in a revoke, unless the operations go by the board. After a
 * revoke there is none of this one. */
FTC_HOT static void show(struct ftc_comm *comm, struct ftc_posted *p, int rc)
{
    bool alone = p->queued.by_board && !ftc_comm_has_queue(comm) && !ftc_comm_is_revoked(comm);

    if (!alone)
        ftc_turn_lock(comm->process);
    ftc_publish_request_given(comm, &p->queued, rc);
    if (p->queued.status != FTC_ERR_REVOKED)
        ftc_finished_show(comm, &p->queued.finished);
    if (!alone)
        ftc_turn_unlock(comm->process);
}

/* P8: a wait that a failure has interrupted leaves the request as it is. */
static int take_transfer(ftc_request **request, ftc_status *status)
{
    struct ftc_posted *p = ftc_posted_of(*request);
    struct ftc_comm *comm = p->comm;
    int rc = ftc_transfer_result(comm, &p->transfer, status);

    if (!ftc_transfer_has_ended(&p->transfer))
        return rc;
    ftc_posted_count(comm, -1);
    ftc_queue_give_back(comm, &p->queued);
    *request = NULL;
    return rc;
}

/* The request has ended: frees it. Returns what the operation returned. */
FTC_HOT static int take(ftc_request **request, ftc_status *status)
{
    struct ftc_posted *p = ftc_posted_of(*request);
    struct ftc_comm *comm = p->comm;

    if (p->passes)
        return take_transfer(request, status);
    int rc = give(p);

    if (rc != FTC_SUCCESS)
        rc = ftc_call_explain(comm, &p->collective.call, rc);
    ftc_posted_count(comm, -1);
    show(comm, p, rc);
    ftc_collective_free(&p->collective);
    if (p->flag != NULL)
        ftc_agreeing_close(&p->agreeing);
    ftc_queue_give_back(comm, &p->queued);
    *request = NULL;
    if (status != NULL)
        *status = (ftc_status){.rank = -1, .tag = -1, .error = rc};
    return rc == FTC_ERR_REVOKED ? ftc_call_revoked(comm) : rc;
}

#define ONCE 1 /* as a time: it is over */

/* What a wait looks at. */
struct watch {
    ftc_request **requests;
    int count;
    uint64_t until_ns; /* 0: for ever */
    int index;         /* one that has ended; -1: the time is over */
    struct ftc_until until;
};

static bool is_over(struct ftc_posted *p)
{
    return p->passes ? ftc_transfer_has_ended(&p->transfer) : ftc_queued_has_ended(&p->queued);
}

/* Is the wait for it interrupted (point-to-point.md, P8)? */
static bool is_interrupted(struct ftc_posted *p)
{
    return p->passes && ftc_comm_interrupts(p->comm, &p->transfer);
}

/* The first request that is so; -1: none is. */
static int find(const struct watch *watch, bool (*is_so)(struct ftc_posted *))
{
    for (int i = 0; i < watch->count; i++)
        if (watch->requests[i] != NULL && is_so(ftc_posted_of(watch->requests[i])))
            return i;
    return -1;
}

static bool waits_for_self(struct ftc_posted *p)
{
    return p->passes && ftc_comm_waits_for_self(p->comm, &p->transfer);
}

/* P8: can only this rank bring any of them to an end? The first one is the answer. */
static bool all_wait_for_self(struct watch *watch)
{
    for (int i = watch->count - 1; i >= 0; i--) {
        if (watch->requests[i] == NULL)
            continue;
        watch->index = i;
        if (!waits_for_self(ftc_posted_of(watch->requests[i]))) {
            watch->index = -1;
            return false;
        }
    }
    return true;
}

static bool has_ended(struct ftc_comm *comm, void *arg)
{
    struct watch *watch = arg;

    watch->index = find(watch, is_over);
    if (watch->index < 0) /* P8: after those that have ended */
        watch->index = find(watch, is_interrupted);
    if (watch->index >= 0)
        return true;
    if (comm->process->alone && watch->until_ns != 0) /* nobody else ends it meanwhile */
        return true;
    if (watch->until_ns == 0)
        return all_wait_for_self(watch);
    uint64_t now = ftc_clock_now();
    watch->until.longest_ns = now < watch->until_ns ? watch->until_ns - now : 1;
    return now >= watch->until_ns;
}

/* The transport's messages are taken in until one of these has ended. True: all are transfers, and
 * *call is how the wait is shown. */
static bool await_transfers(struct watch *watch, struct ftc_passing_call *call)
{
    bool all = true;

    *call = (struct ftc_passing_call){.kind = FTC_HISTORY_WAIT};
    for (int i = 0; i < watch->count; i++) {
        struct ftc_posted *p =
            watch->requests[i] != NULL ? ftc_posted_of(watch->requests[i]) : NULL;
        if (p != NULL && p->passes) {
            p->transfer.awaited = true;
            call->transfer = call->count++ == 0 ? &p->transfer : NULL;
        } else if (p != NULL) {
            all = false;
        }
    }
    return all;
}

/* How the wait for a transfer has ended. */
static int status_of(const struct watch *watch)
{
    if (watch->index < 0)
        return FTC_ERR_TIMEOUT;
    const struct ftc_transfer *t = &ftc_posted_of(watch->requests[watch->index])->transfer;
    return ftc_transfer_has_ended(t) ? t->status : FTC_ERR_RANK_FAILED;
}

/* Waits until one of the requests has ended, at least one of which is not NULL. */
static void look_with_lock(struct watch *watch, struct ftc_comm *comm)
{
    struct ftc_passing_call call;

    watch->until = (struct ftc_until){.done = has_ended, .arg = watch};
    ftc_call_enter(comm);
    bool passes = await_transfers(watch, &call);
    if (passes) {
        ftc_comm_expect_delivery(comm);
        watch->until.passing = &call;
    }
    ftc_progress_step(comm->process); /* a test moves operations on, too */
    bool slept = ftc_comm_wait(comm, &watch->until);
    if (slept || !passes)
        ftc_call_leave(comm);
    else
        ftc_call_leave_unseen(comm);
    if (slept && passes)
        ftc_publish_passed(comm, status_of(watch));
}

/* Looks for one transfer, for a short while. */
FTC_HOT static bool look_at_transfer(struct watch *watch, struct ftc_comm *comm)
{
    const struct ftc_transfer *t = &ftc_posted_of(watch->requests[0])->transfer;
    bool ended = ftc_transfer_has_ended(t);

    if (!ended) {
        ftc_turn_lock(comm->process);
        ended = ftc_comm_await_lightly(comm, t);
        ftc_turn_unlock(comm->process);
    }
    watch->index = ended ? 0 : -1;
    return ended;
}

/* Looks for one request on the board, without the lock. It does not wait for a limited time. True:
 * that is all. */
FTC_HOT static bool look_at_board(struct watch *watch, struct ftc_comm *comm)
{
    const struct ftc_posted *p = ftc_posted_of(watch->requests[0]);
    const struct ftc_queued_operation *queued = &p->queued;

    if (p->passes)
        return look_at_transfer(watch, comm);
    if (ftc_queued_is_on_board(queued)) {
        if (watch->until_ns == 0)
            ftc_mover_wait(comm, queued);
        else
            ftc_mover_test(comm);
        ftc_call_moved(comm);
    }
    if (ftc_queued_has_ended(queued))
        watch->index = 0;
    return watch->index == 0 || (watch->until_ns == ONCE && ftc_queued_is_on_board(queued));
}

FTC_HOT static void look(struct watch *watch, struct ftc_comm *comm)
{
    watch->index = -1;
    if (watch->count != 1 || !look_at_board(watch, comm))
        look_with_lock(watch, comm);
}

static void nothing_is_there(ftc_status *status)
{
    if (status != NULL)
        *status = (ftc_status){.rank = -1, .tag = -1};
}

/* FTC_SUCCESS: *request has been NULL. FTC_ERR_TIMEOUT: not ended by then. */
static int wait_until(ftc_request **request, uint64_t until_ns, ftc_status *status)
{
    struct watch watch = {.requests = request, .count = 1, .until_ns = until_ns};

    if (request == NULL)
        return ftc_error_set(FTC_ERR_ARG, "there is no request");
    if (*request == NULL) {
        nothing_is_there(status);
        return FTC_SUCCESS;
    }
    struct ftc_comm *comm = ftc_posted_of(*request)->comm;
    int rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    look(&watch, comm);
    rc = watch.index >= 0 ? take(request, status) : FTC_ERR_TIMEOUT;
    return ftc_call_end(comm, rc);
}

FTC_API int ftc_wait(ftc_request **request, ftc_status *status)
{
    return wait_until(request, 0, status);
}

#define FOREVER_S 1e9

FTC_API int ftc_wait_for(ftc_request **request, double seconds, ftc_status *status)
{
    if (!(seconds >= 0)) /* also if it is no number */
        return ftc_error_set(FTC_ERR_ARG, "a wait takes 0 seconds or more");
    uint64_t ns = (uint64_t)((seconds < FOREVER_S ? seconds : FOREVER_S) * 1e9);
    int rc = wait_until(request, ftc_clock_now() + ns, status);
    return rc == FTC_ERR_TIMEOUT
               ? ftc_error_set(rc, "the operation has not ended after %g s", seconds)
               : rc;
}

FTC_API int ftc_test(ftc_request **request, int *done, ftc_status *status)
{
    if (done == NULL)
        return ftc_error_set(FTC_ERR_ARG, "there is no place for the answer");
    int rc = wait_until(request, ONCE, status);
    if (rc == FTC_ERR_TIMEOUT || rc == FTC_ERR_RANK_FAILED ||
        (request != NULL && *request == NULL)) /* else it was refused */
        *done = *request == NULL;
    return rc == FTC_ERR_TIMEOUT ? FTC_SUCCESS : rc;
}

/* If a row of transfers is to end, it is best to wait for the last one first: most of the others
 * have ended by then, and cost no wait. Not so if a failure could interrupt that wait. */
static void wait_for_last(int count, ftc_request *requests[], struct ftc_comm *comm)
{
    int last = 0;

    while (last < count && requests[last] != NULL && ftc_posted_of(requests[last])->comm == comm &&
           ftc_posted_of(requests[last])->passes)
        last++;
    const struct ftc_transfer *t = last > 1 ? &ftc_posted_of(requests[last - 1])->transfer : NULL;
    if (t == NULL || t->rank == FTC_MATCHING_ANY || ftc_transfer_has_ended(t))
        return;
    struct watch watch = {.requests = &requests[last - 1], .count = 1};
    look(&watch, comm);
}

/* Waits for the first request and for those behind it that are of the same communicator. Returns
 * how many these are. *first becomes the first error, unless it is one. */
FTC_HOT static int wait_for_row(int count, ftc_request *requests[], ftc_status statuses[],
                                int *first)
{
    struct ftc_comm *comm = ftc_posted_of(requests[0])->comm;
    int rc = ftc_call_begin(comm), i = 0;

    if (rc != FTC_SUCCESS) {
        *first = *first == FTC_SUCCESS ? rc : *first;
        return 1;
    }
    wait_for_last(count, requests, comm);
    do {
        if (!is_over(ftc_posted_of(requests[i]))) {
            struct watch watch = {.requests = &requests[i], .count = 1};
            look(&watch, comm);
        }
        rc = take(&requests[i], statuses != NULL ? &statuses[i] : NULL);
        *first = *first == FTC_SUCCESS ? rc : *first;
        i++;
    } while (i < count && requests[i] != NULL && ftc_posted_of(requests[i])->comm == comm);
    ftc_call_end(comm, FTC_SUCCESS);
    return i;
}

FTC_API int ftc_wait_all(int count, ftc_request *requests[], ftc_status statuses[])
{
    int first = FTC_SUCCESS;

    if (count < 0 || (count > 0 && requests == NULL))
        return ftc_error_set(FTC_ERR_ARG, "there are no requests");
    for (int i = 0; i < count;) {
        ftc_status *of = statuses != NULL ? &statuses[i] : NULL;
        if (requests[i] != NULL) {
            i += wait_for_row(count - i, &requests[i], of, &first);
        } else {
            nothing_is_there(of);
            i++;
        }
    }
    return first;
}

FTC_API int ftc_wait_any(int count, ftc_request *requests[], int *index, ftc_status *status)
{
    struct watch watch = {.requests = requests, .count = count};
    struct ftc_comm *comm = NULL;

    if (count < 0 || (count > 0 && requests == NULL) || index == NULL)
        return ftc_error_set(FTC_ERR_ARG, "there are no requests, or no place for the index");
    for (int i = 0; i < count && comm == NULL; i++)
        comm = requests[i] != NULL ? ftc_posted_of(requests[i])->comm : NULL;
    if (comm == NULL) {
        *index = FTC_UNDEFINED;
        nothing_is_there(status);
        return FTC_SUCCESS;
    }
    int rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    look(&watch, comm);
    struct ftc_posted *p = ftc_posted_of(requests[watch.index]);
    if (p->passes && !ftc_transfer_has_ended(&p->transfer)) {
        *index = watch.index;
        return ftc_call_end(comm, ftc_transfer_result(p->comm, &p->transfer, status));
    }
    ftc_call_end(comm, FTC_SUCCESS);
    rc = ftc_wait(&requests[watch.index], status);
    if (requests[watch.index] == NULL) /* else it was refused */
        *index = watch.index;
    return rc;
}
