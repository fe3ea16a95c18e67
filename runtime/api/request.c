/* Requests: calls of the API that are started. wait.c ends them. */
#include "runtime/api/request.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/api/call.h"
#include "runtime/api/posted.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/request.h"
#include "runtime/process/progress.h"

static struct ftc_posted *of_queued(struct ftc_queued_operation *operation)
{
    return (struct ftc_posted *)(void *)((char *)operation - offsetof(struct ftc_posted, queued));
}

/* --- moving on, with the lock --- */

/* `of` is what has run it. */
static bool end_of(struct ftc_posted *p, const struct ftc_comm *of, int status)
{
    p->queued.status = status;
    ftc_publish_request_ends(p->comm, &p->queued.history);
    ftc_finished_fini(p->queued.finished);
    ftc_progress_must(p->comm->process, ftc_finished_keep(of, p->queued.finished));
    return true;
}

static bool end(struct ftc_posted *p, int status)
{
    return end_of(p, p->comm, status);
}

/* True: the call is under way. */
static bool begin(struct ftc_posted *p, const struct ftc_call *call, void *receive,
                  enum ftc_posted_stage stage)
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

static bool begin_value(struct ftc_posted *p)
{
    return begin(p, &p->collective.call, p->collective.receive, FTC_POSTED_VALUE);
}

static bool begin_first(struct ftc_posted *p)
{
    struct ftc_collective *c = &p->collective;

    if (!ftc_collective_wants_sizes(c))
        return begin_value(p);
    ftc_collective_sizes_call(c, &p->sizes, &p->sizes_reduction);
    return begin(p, &p->sizes, c->sizes + c->sizes_count, FTC_POSTED_SIZES);
}

static bool advance_collective(struct ftc_queued_operation *operation, struct ftc_comm *comm)
{
    struct ftc_posted *p = of_queued(operation);

    if (p->stage == FTC_POSTED_STARTS && !begin_first(p))
        return false;
    if (!ftc_request_advance(comm, &p->run))
        return false;
    if (p->stage == FTC_POSTED_VALUE || p->run.status != FTC_SUCCESS)
        return end(p, p->run.status);
    ftc_collective_take_sizes(&p->collective, comm);
    p->stage = FTC_POSTED_STARTS;
    p->collective.sizes_count = 0; /* they are known */
    return begin_value(p) && ftc_request_advance(comm, &p->run) && end(p, p->run.status);
}

static bool advance_making(struct ftc_queued_operation *operation, struct ftc_comm *comm)
{
    struct ftc_posted *p = of_queued(operation);

    if (p->stage == FTC_POSTED_STARTS) {
        p->stage = FTC_POSTED_VALUE;
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
    return end_of(p, p->making.started.after ? comm->agreements : comm, p->making.started.status);
}

/* --- starting --- */

static struct ftc_posted *allocate(void)
{
    size_t size = (sizeof(struct ftc_posted) + FTC_POSTED_HOT - 1) & ~(size_t)(FTC_POSTED_HOT - 1);
    struct ftc_posted *p = aligned_alloc(FTC_POSTED_HOT, size);

    if (p != NULL) {
        memset(p, 0, size);
        p->queued.memory = p;
    }
    return p;
}

static int no_memory(const struct ftc_comm *comm)
{
    return ftc_call_end(comm, ftc_error_set(FTC_ERR_NOMEM, "no memory for a request"));
}

/* A request that was used before, or a new one. */
FTC_HOT static int make(struct ftc_comm *comm, ftc_request **place, struct ftc_posted **out)
{
    int rc = place != NULL ? ftc_call_begin(comm)
                           : ftc_error_set(FTC_ERR_ARG, "there is no place for the request");

    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_queued_operation *spare = ftc_queue_take_spare(comm);
    *out = spare != NULL ? of_queued(spare) : allocate();
    if (*out == NULL)
        return no_memory(comm);
    (*out)->comm = comm;
    (*out)->passes = (*out)->makes = false;
    return FTC_SUCCESS;
}

/* The request of an operation that is queued, or goes by the board. */
FTC_HOT static int make_queued(struct ftc_comm *comm, ftc_request **place, struct ftc_posted **out)
{
    int rc = make(comm, place, out);

    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_posted *p = *out;
    if (p->queued.finished == NULL)
        p->queued.finished = calloc(1, sizeof(*p->queued.finished));
    if (p->queued.finished == NULL) {
        ftc_queue_give_back(comm, &p->queued);
        return no_memory(comm);
    }
    p->queued.by_board = p->queued.survives = false;
    p->queued.record = NULL;
    p->queued.agreed = 0;
    p->stage = FTC_POSTED_STARTS;
    p->child = NULL;
    p->failed_count = p->flag = NULL;
    ftc_collective_clear(&p->collective);
    return FTC_SUCCESS;
}

/* A revoked communicator takes agreements alone, and but for an agree only of a caller that knows
 * of the revoke (communicators.md, C8). Other requests end at once, and no operation before them
 * does. */
static void enqueue_by_messages(struct ftc_posted *p)
{
    struct ftc_comm *comm = p->comm;

    ftc_call_enter(comm);
    if (ftc_comm_is_revoked(comm))
        ftc_comm_close_board(comm);
    if (ftc_comm_is_revoked(comm) && p->flag == NULL && !(p->makes && ftc_comm_is_told(comm))) {
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
FTC_HOT static void choose_way(struct ftc_posted *p)
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

FTC_HOT static void enqueue(struct ftc_posted *p)
{
    struct ftc_comm *comm = p->comm;

    ftc_posted_count(comm, 1);
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
    struct ftc_posted *p = NULL;
    int rc = make_queued(comm, place, &p);

    if (rc == FTC_SUCCESS)
        *c = &p->collective;
    return rc;
}

FTC_HOT int ftc_request_go(struct ftc_collective *c, struct ftc_comm *comm, int rc,
                           ftc_request **place)
{
    struct ftc_posted *p =
        (struct ftc_posted *)(void *)((char *)c - offsetof(struct ftc_posted, collective));

    if (rc != FTC_SUCCESS) {
        ftc_collective_free(c);
        ftc_queue_give_back(comm, &p->queued);
        return ftc_call_end(comm, rc);
    }
    p->queued.advance = advance_collective;
    enqueue(p);
    *place = ftc_posted_handle(p);
    return ftc_call_end(comm, FTC_SUCCESS);
}

static int make_child(struct ftc_comm *comm, const struct ftc_making *making, ftc_comm **child,
                      ftc_request **place)
{
    struct ftc_posted *p = NULL;
    int rc = child != NULL
                 ? make_queued(comm, place, &p)
                 : ftc_error_set(FTC_ERR_ARG, "there is no place for the new communicator");

    if (rc != FTC_SUCCESS)
        return rc;
    p->makes = true;
    p->making = *making;
    p->collective.call.signature = *ftc_making_signature(making->creation);
    p->child = child;
    p->queued.advance = advance_making;
    enqueue(p);
    *place = ftc_posted_handle(p);
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
    struct ftc_posted *p = NULL;
    int rc = failed_count != NULL
                 ? make_queued(comm, request, &p)
                 : ftc_error_set(FTC_ERR_ARG, "there is no place for the number of failed ranks");

    if (rc != FTC_SUCCESS)
        return rc;
    p->failed_count = failed_count;
    p->makes = ftc_comm_is_revoked(comm);
    p->making = (struct ftc_making){.call = &validate};
    p->collective.call = validate;
    p->queued.advance = p->makes ? advance_making : advance_collective;
    enqueue(p);
    *request = ftc_posted_handle(p);
    return ftc_call_end(comm, FTC_SUCCESS);
}

static int open_agree(struct ftc_comm *comm, int *flag, ftc_request **place,
                      struct ftc_posted **out)
{
    int rc = flag != NULL ? make_queued(comm, place, out)
                          : ftc_error_set(FTC_ERR_ARG, "there is no place for the flag");

    if (rc != FTC_SUCCESS)
        return rc;
    rc = ftc_agreeing_open(&(*out)->agreeing, comm, *flag);
    if (rc == FTC_SUCCESS)
        return rc;
    ftc_queue_give_back(comm, &(*out)->queued);
    return ftc_call_end(comm, rc);
}

FTC_API int ftc_iagree(ftc_comm *comm, int *flag, ftc_request **request)
{
    struct ftc_posted *p = NULL;
    int rc = open_agree(comm, flag, request, &p);

    if (rc != FTC_SUCCESS)
        return rc;
    p->flag = flag;
    p->makes = p->queued.survives = true;
    p->making = (struct ftc_making){.call = &p->agreeing.call};
    p->collective.call = p->agreeing.call;
    p->queued.advance = advance_making;
    enqueue(p);
    *request = ftc_posted_handle(p);
    return ftc_call_end(comm, FTC_SUCCESS);
}

FTC_HOT int ftc_request_open_transfer(struct ftc_comm *comm, ftc_request **place,
                                      struct ftc_transfer **transfer)
{
    struct ftc_posted *p = NULL;
    int rc = make(comm, place, &p);

    if (rc != FTC_SUCCESS)
        return rc;
    p->passes = true;
    *transfer = &p->transfer;
    return FTC_SUCCESS;
}

FTC_HOT int ftc_request_go_transfer(struct ftc_transfer *transfer, struct ftc_comm *comm, int rc,
                                    ftc_request **place)
{
    struct ftc_posted *p =
        (struct ftc_posted *)(void *)((char *)transfer - offsetof(struct ftc_posted, transfer));

    if (rc != FTC_SUCCESS) {
        ftc_queue_give_back(comm, &p->queued);
        return ftc_call_end(comm, rc);
    }
    ftc_posted_count(comm, 1);
    ftc_transfer_start(comm, transfer);
    *place = ftc_posted_handle(p);
    return ftc_call_end(comm, FTC_SUCCESS);
}

struct ftc_transfer *ftc_request_transfer(ftc_request *request, struct ftc_comm **comm)
{
    struct ftc_posted *p = ftc_posted_of(request);

    *comm = p->comm;
    return p->passes ? &p->transfer : NULL;
}
