/* Requests: calls of the API that were started, and end by a wait or a test. */
#include "runtime/api/request.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "runtime/api/making.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/queue.h"
#include "runtime/comm/request.h"
#include "runtime/process/progress.h"
#include "runtime/process/turn.h"

enum stage { STARTS, SIZES, VALUE };

/* What an ftc_request is. */
struct posted {
    struct ftc_request run; /* the first member: callers have a pointer to it */
    struct ftc_queued_operation queued;
    struct ftc_comm *comm;
    enum stage stage;
    /* A creation, or a validate after a revoke. */
    bool makes;
    struct ftc_making making;
    ftc_comm **child;
    int *failed_count; /* of a validate */
    /* Other calls. */
    struct ftc_collective collective;
    struct ftc_call sizes;
    struct ftc_reduction sizes_reduction;
};

static struct posted *posted_of(ftc_request *request)
{
    return (struct posted *)(void *)request;
}

static struct posted *of_queued(struct ftc_queued_operation *operation)
{
    return (struct posted *)(void *)((char *)operation - offsetof(struct posted, queued));
}

/* --- moving on, with the lock --- */

static bool end(struct posted *p, int status)
{
    p->queued.status = status;
    ftc_publish_request_ends(p->comm, &p->queued.history);
    ftc_finished_fini(p->queued.finished);
    ftc_progress_must(p->comm->process, ftc_finished_keep(p->comm, p->queued.finished));
    return true;
}

/* True: the call is under way. */
static bool begin(struct posted *p, const struct ftc_call *call, void *receive, enum stage stage)
{
    if (!ftc_comm_begin(p->comm)) {
        ftc_comm_outputs(p->comm);
        return false;
    }
    ftc_publish_request_begins(p->comm, &p->queued.history);
    ftc_request_start(p->comm, &p->run, call, receive, FTC_CHOICE_BOARD + 1);
    p->stage = stage;
    return true;
}

static bool begin_value(struct posted *p)
{
    return begin(p, &p->collective.call, p->collective.receive, VALUE);
}

static bool begin_first(struct posted *p)
{
    struct ftc_collective *c = &p->collective;

    if (!ftc_collective_wants_sizes(c))
        return begin_value(p);
    ftc_collective_sizes_call(c, &p->sizes, &p->sizes_reduction);
    return begin(p, &p->sizes, c->sizes + c->sizes_count, SIZES);
}

static bool advance_collective(struct ftc_queued_operation *operation, struct ftc_comm *comm)
{
    struct posted *p = of_queued(operation);

    if (p->stage == STARTS && !begin_first(p))
        return false;
    if (!ftc_request_advance(comm, &p->run))
        return false;
    if (p->stage == VALUE || p->run.status != FTC_SUCCESS)
        return end(p, p->run.status);
    ftc_collective_take_sizes(&p->collective, comm);
    p->stage = STARTS;
    p->collective.sizes_count = 0; /* they are known */
    return begin_value(p) && ftc_request_advance(comm, &p->run) && end(p, p->run.status);
}

static bool advance_making(struct ftc_queued_operation *operation, struct ftc_comm *comm)
{
    struct posted *p = of_queued(operation);

    if (p->stage == STARTS) {
        p->stage = VALUE;
        ftc_publish_request_begins(comm, &p->queued.history);
        int rc = ftc_making_start(comm, &p->making);
        if (rc != FTC_SUCCESS) {
            comm->started = NULL;
            return end(p, rc);
        }
    }
    if (!p->making.started.ended)
        return false;
    comm->started = NULL;
    return end(p, p->making.started.status);
}

/* --- starting --- */

/* A request that was used before, or a new one. NULL: there is no memory. */
FTC_HOT static struct posted *new_request(struct ftc_comm *comm)
{
    struct ftc_queued_operation *spare = ftc_queue_take_spare(comm);
    struct posted *p = spare != NULL ? of_queued(spare) : calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    if (p->queued.finished == NULL)
        p->queued.finished = calloc(1, sizeof(*p->queued.finished));
    if (p->queued.finished == NULL) {
        free(p);
        return NULL;
    }
    p->queued.memory = p;
    p->queued.by_board = false;
    p->queued.record = NULL;
    p->queued.agreed = 0;
    p->comm = comm;
    p->stage = STARTS;
    p->makes = false;
    p->child = NULL;
    p->failed_count = NULL;
    ftc_collective_clear(&p->collective);
    return p;
}

FTC_HOT static int make(struct ftc_comm *comm, ftc_request **place, struct posted **out)
{
    int rc = place != NULL ? ftc_call_begin(comm)
                           : ftc_error_set(FTC_ERR_ARG, "there is no place for the request");

    if (rc != FTC_SUCCESS)
        return rc;
    *out = new_request(comm);
    if (*out == NULL)
        return ftc_call_end(comm, ftc_error_set(FTC_ERR_NOMEM, "no memory for a request"));
    return FTC_SUCCESS;
}

static void count_requests(struct ftc_comm *comm, int change)
{
    int before = atomic_load_explicit(&comm->requests, memory_order_relaxed);

    atomic_store_explicit(&comm->requests, before + change, memory_order_relaxed);
}

/* A revoked communicator takes agreements alone, and these only of a caller that knows of the
 * revoke (communicators.md, C8). Other requests end at once, and no operation before them does. */
static void enqueue_by_messages(struct posted *p)
{
    struct ftc_comm *comm = p->comm;

    ftc_call_enter(comm);
    if (ftc_comm_is_revoked(comm))
        ftc_comm_close_board(comm);
    if (ftc_comm_is_revoked(comm) && !(p->makes && ftc_comm_is_told(comm))) {
        ftc_queue_refuse(&p->queued);
    } else {
        if (!ftc_mover_has_work(comm) && !ftc_comm_has_queue(comm))
            ftc_finished_hold(comm);
        ftc_queue_add(comm, &p->queued);
        ftc_comm_engine_queued(comm);
    }
    ftc_comm_engine_settle(comm->process);
    ftc_call_leave(comm);
}

/* Which way an operation goes depends on its call alone, so that it is the same at all ranks. */
FTC_HOT static void choose_way(struct posted *p)
{
    const struct ftc_collective *c = &p->collective;
    struct ftc_queued_operation *queued = &p->queued;

    if (p->comm->board == NULL || ftc_collective_wants_sizes(c) ||
        !ftc_board_may_start(p->comm->board, &c->call))
        return;
    queued->by_board = true;
    queued->on_board.call = &c->call;
    queued->on_board.receive = c->receive;
}

FTC_HOT static void enqueue(struct posted *p)
{
    struct ftc_comm *comm = p->comm;

    count_requests(comm, 1);
    if (!p->makes)
        choose_way(p);
    if (p->queued.by_board && !ftc_comm_is_revoked(comm) && !ftc_comm_has_queue(comm)) {
        ftc_mover_start(comm, &p->queued);
        return;
    }
    ftc_publish_request(comm, &p->queued, &p->collective.call.signature);
    enqueue_by_messages(p);
}

FTC_HOT int ftc_request_open(struct ftc_comm *comm, ftc_request **place, struct ftc_collective **c)
{
    struct posted *p = NULL;
    int rc = make(comm, place, &p);

    if (rc == FTC_SUCCESS)
        *c = &p->collective;
    return rc;
}

FTC_HOT int ftc_request_go(struct ftc_collective *c, struct ftc_comm *comm, int rc,
                           ftc_request **place)
{
    struct posted *p = (struct posted *)(void *)((char *)c - offsetof(struct posted, collective));

    if (rc != FTC_SUCCESS) {
        ftc_collective_free(c);
        ftc_queue_give_back(comm, &p->queued);
        return ftc_call_end(comm, rc);
    }
    p->queued.advance = advance_collective;
    enqueue(p);
    *place = &p->run;
    return ftc_call_end(comm, FTC_SUCCESS);
}

static int make_child(struct ftc_comm *comm, const struct ftc_making *making, ftc_comm **child,
                      ftc_request **place)
{
    struct posted *p = NULL;
    int rc = child != NULL
                 ? make(comm, place, &p)
                 : ftc_error_set(FTC_ERR_ARG, "there is no place for the new communicator");

    if (rc != FTC_SUCCESS)
        return rc;
    p->makes = true;
    p->making = *making;
    p->collective.call.signature = *ftc_making_signature(making->creation);
    p->child = child;
    p->queued.advance = advance_making;
    enqueue(p);
    *place = &p->run;
    return ftc_call_end(comm, FTC_SUCCESS);
}

FTC_API int ftc_comm_idup(ftc_comm *comm, ftc_comm **copy, ftc_request **request)
{
    return make_child(comm, &(struct ftc_making){.creation = FTC_CREATION_DUP}, copy, request);
}

FTC_API int ftc_comm_isplit(ftc_comm *comm, int color, int key, ftc_comm **part,
                            ftc_request **request)
{
    if (!ftc_color_is_sound(color))
        return FTC_ERR_ARG;
    return make_child(
        comm, &(struct ftc_making){.creation = FTC_CREATION_SPLIT, .color = color, .key = key},
        part, request);
}

FTC_API int ftc_comm_ishrink(ftc_comm *comm, ftc_comm **survivors, ftc_request **request)
{
    return make_child(comm, &(struct ftc_making){.creation = FTC_CREATION_SHRINK}, survivors,
                      request);
}

static const struct ftc_call validate = {.signature = {.kind = FTC_CALL_VALIDATE, .root = -1}};

FTC_API int ftc_ivalidate_global(ftc_comm *comm, int *failed_count, ftc_request **request)
{
    struct posted *p = NULL;
    int rc = failed_count != NULL
                 ? make(comm, request, &p)
                 : ftc_error_set(FTC_ERR_ARG, "there is no place for the number of failed ranks");

    if (rc != FTC_SUCCESS)
        return rc;
    p->failed_count = failed_count;
    p->makes = ftc_comm_is_revoked(comm);
    p->making.validate = &validate;
    p->collective.call = validate;
    p->queued.advance = p->makes ? advance_making : advance_collective;
    enqueue(p);
    *request = &p->run;
    return ftc_call_end(comm, FTC_SUCCESS);
}

/* --- ending --- */

/* What the caller gets, in the thread of the caller, without the lock. */
static int give(struct posted *p)
{
    int status = p->queued.status;

    if (status != FTC_SUCCESS)
        return status;
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
FTC_HOT static void show(struct ftc_comm *comm, struct posted *p, int rc)
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

/* The request has ended: frees it. Returns what the operation returned. */
FTC_HOT static int take(ftc_request **request, ftc_status *status)
{
    struct posted *p = posted_of(*request);
    struct ftc_comm *comm = p->comm;
    int rc = give(p);

    if (rc != FTC_SUCCESS)
        rc = ftc_call_explain(comm, &p->collective.call, rc);
    count_requests(comm, -1);
    show(comm, p, rc);
    ftc_collective_free(&p->collective);
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

static bool has_ended(struct ftc_comm *comm, void *arg)
{
    struct watch *watch = arg;

    (void)comm;
    for (int i = 0; i < watch->count; i++)
        if (watch->requests[i] != NULL &&
            ftc_queued_has_ended(&posted_of(watch->requests[i])->queued)) {
            watch->index = i;
            return true;
        }
    if (watch->until_ns == 0)
        return false;
    uint64_t now = ftc_clock_now();
    watch->until.longest_ns = now < watch->until_ns ? watch->until_ns - now : 1;
    return now >= watch->until_ns;
}

/* Waits until one of the requests has ended, at least one of which is not NULL. */
static void look_with_lock(struct watch *watch, struct ftc_comm *comm)
{
    watch->until = (struct ftc_until){.done = has_ended, .arg = watch};
    ftc_call_enter(comm);
    ftc_progress_step(comm->process); /* a test moves operations on, too */
    ftc_comm_wait(comm, &watch->until);
    ftc_call_leave(comm);
}

/* Looks for one request on the board, without the lock. It does not wait for a limited time. True:
 * that is all. */
FTC_HOT static bool look_at_board(struct watch *watch, struct ftc_comm *comm)
{
    const struct ftc_queued_operation *queued = &posted_of(watch->requests[0])->queued;

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
    struct ftc_comm *comm = posted_of(*request)->comm;
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
    if (rc == FTC_ERR_TIMEOUT || (request != NULL && *request == NULL)) /* else it was refused */
        *done = rc != FTC_ERR_TIMEOUT;
    return rc == FTC_ERR_TIMEOUT ? FTC_SUCCESS : rc;
}

/* Waits for the first request and for those behind it that are of the same communicator. Returns
 * how many these are. *first becomes the first error, unless it is one. */
FTC_HOT static int wait_for_row(int count, ftc_request *requests[], ftc_status statuses[],
                                int *first)
{
    struct ftc_comm *comm = posted_of(requests[0])->comm;
    int rc = ftc_call_begin(comm), i = 0;

    if (rc != FTC_SUCCESS) {
        *first = *first == FTC_SUCCESS ? rc : *first;
        return 1;
    }
    do {
        struct watch watch = {.requests = &requests[i], .count = 1};
        look(&watch, comm);
        rc = take(&requests[i], statuses != NULL ? &statuses[i] : NULL);
        *first = *first == FTC_SUCCESS ? rc : *first;
        i++;
    } while (i < count && requests[i] != NULL && posted_of(requests[i])->comm == comm);
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
        comm = requests[i] != NULL ? posted_of(requests[i])->comm : NULL;
    if (comm == NULL) {
        *index = FTC_UNDEFINED;
        nothing_is_there(status);
        return FTC_SUCCESS;
    }
    int rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    look(&watch, comm);
    ftc_call_end(comm, FTC_SUCCESS);
    rc = ftc_wait(&requests[watch.index], status);
    if (requests[watch.index] == NULL) /* else it was refused */
        *index = watch.index;
    return rc;
}
