/* The sends and receives of the API. */
#include "runtime/comm/point_to_point.h"

#include <stdlib.h>

#include "base/cpu.h"
#include "base/error.h"
#include "runtime/api/call.h"
#include "runtime/api/posted.h"
#include "runtime/api/request.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/publish.h"
#include "runtime/process/progress.h"
#include "runtime/process/turn.h"

_Static_assert(FTC_ANY_RANK == FTC_MATCHING_ANY && FTC_ANY_TAG == FTC_MATCHING_ANY,
               "the engine takes ranks and tags of the API as they are");

/* --- arguments --- */

FTC_HOT static int check(const struct ftc_comm *comm, const struct ftc_transfer *t)
{
    int least = t->sends ? 0 : FTC_MATCHING_ANY;

    if (t->rank < least || t->rank >= comm->size)
        return ftc_error_set(FTC_ERR_ARG, "rank %d is outside 0..%d", t->rank, comm->size - 1);
    if (t->tag < least)
        return ftc_error_set(FTC_ERR_ARG, "tag %d is less than 0", t->tag);
    if (t->size > 0 && t->buffer == NULL)
        return ftc_error_set(FTC_ERR_ARG, "the buffer is NULL");
    return FTC_SUCCESS;
}

/* What a call is given, but for the communicator. */
struct message {
    bool sends;
    const void *buffer;
    size_t count;
    ftc_type type;
    int rank, tag;
    bool synchronous;
    ftc_matched **matched; /* P13; NULL: the receive looks for a message */
};

/* The receive that is given to the engine has it. */
static struct ftc_arrival *take_matched(struct ftc_comm *comm, ftc_matched **matched)
{
    struct ftc_arrival *arrival = (*matched)->arrival;

    ftc_posted_count(comm, -1);
    free(*matched);
    *matched = NULL;
    return arrival;
}

FTC_HOT static int fill(struct ftc_transfer *t, struct ftc_comm *comm,
                        const struct message *message)
{
    t->sends = message->sends;
    t->synchronous = message->synchronous;
    t->awaited = false;
    t->matched = NULL;
    t->context = 0;
    t->rank = message->rank;
    t->tag = message->tag;
    t->buffer = (void *)(uintptr_t)message->buffer;
    int rc = ftc_check_size(message->count, message->type, &t->size);
    if (rc == FTC_SUCCESS)
        rc = check(comm, t);
    if (rc == FTC_SUCCESS && message->matched != NULL)
        t->matched = take_matched(comm, message->matched);
    return rc;
}

/* --- blocking calls --- */

/* The transfers of a blocking call: a send, a receive, or both. */
struct pair {
    struct ftc_transfer transfer[2];
    int count;
    bool interrupted[2];
    int looks_before_ring; /* for a send whose receiver is not rung yet; else 0 */
};

/* A receiver that looks by itself takes the message within a few looks of the sender. */
#define RING_AFTER 12

/* An interrupted receive of a blocking call is withdrawn (P8), and so is what no other rank can
 * bring to an end. */
static bool is_over(struct ftc_comm *comm, void *arg)
{
    struct pair *pair = arg;
    bool over = true;

    if (pair->looks_before_ring > 0 && --pair->looks_before_ring == 0)
        ftc_comm_ring_receiver(comm, pair->transfer);
    for (int i = 0; i < pair->count; i++) {
        struct ftc_transfer *t = &pair->transfer[i];
        if (ftc_transfer_has_ended(t))
            continue;
        if (ftc_comm_interrupts(comm, t) || ftc_comm_waits_for_self(comm, t))
            pair->interrupted[i] = ftc_comm_cancel_transfer(comm, t);
        over = over && ftc_transfer_has_ended(t);
    }
    return over;
}

/* The receive first: it may be that of the send. */
static void start_both(struct ftc_comm *comm, struct pair *pair)
{
    for (int i = pair->count - 1; i >= 0; i--)
        ftc_comm_start_transfer(comm, &pair->transfer[i]);
}

static bool await(struct ftc_comm *comm, struct pair *pair)
{
    int kind = pair->transfer[0].sends ? FTC_HISTORY_SEND : FTC_HISTORY_RECV;
    struct ftc_passing_call call = {pair->count > 1 ? FTC_HISTORY_SENDRECV : kind, pair->transfer,
                                    pair->count};

    ftc_comm_expect_delivery(comm);
    return ftc_comm_wait(comm, &(struct ftc_until){.done = is_over, .arg = pair, .passing = &call});
}

/* True: it has slept, and was shown. */
FTC_HOT static bool run_both(struct ftc_comm *comm, struct pair *pair)
{
    bool started = false, slept = false, over = false;

    if (pair->count == 1) {
        ftc_turn_lock(comm->process);
        over = ftc_comm_start_lightly(comm, pair->transfer, &started) &&
               (ftc_transfer_has_ended(pair->transfer) ||
                ftc_comm_await_lightly(comm, pair->transfer));
        ftc_turn_unlock(comm->process);
    }
    if (over)
        return false;
    ftc_call_enter(comm);
    /* A caller that another one drives looks only after a change. */
    int looks = comm->process->turn.driven ? 1 : RING_AFTER;
    pair->looks_before_ring = started ? looks : 0;
    if (!started)
        start_both(comm, pair);
    if (!is_over(comm, pair))
        slept = await(comm, pair);
    if (slept)
        ftc_call_leave(comm);
    else
        ftc_call_leave_unseen(comm);
    return slept;
}

static int result(struct ftc_comm *comm, const struct pair *pair, int i, ftc_status *status)
{
    const struct ftc_transfer *t = &pair->transfer[i];

    return pair->interrupted[i] ? ftc_transfer_interrupted(comm, t, status)
                                : ftc_transfer_result(comm, t, status);
}

/* A blocking call. The status is that of the receive. */
FTC_HOT static int run(struct ftc_comm *comm, const struct message messages[], int count,
                       ftc_status *status)
{
    struct pair pair; /* large, and `fill` sets what counts */
    int rc = ftc_call_begin(comm), last = FTC_SUCCESS;

    if (rc != FTC_SUCCESS)
        return rc;
    pair.count = count;
    for (int i = 0; rc == FTC_SUCCESS && i < count; i++) {
        pair.interrupted[i] = false;
        rc = fill(&pair.transfer[i], comm, &messages[i]);
        pair.transfer[i].awaited = true;
    }
    if (rc != FTC_SUCCESS)
        return ftc_call_end(comm, rc);
    bool slept = run_both(comm, &pair);
    rc = result(comm, &pair, 0, status);
    if (count == 2)
        last = result(comm, &pair, 1, status);
    rc = rc != FTC_SUCCESS ? rc : last;
    if (slept)
        ftc_publish_passed(comm, rc);
    return ftc_call_end(comm, rc);
}

FTC_API int ftc_send(const void *buffer, size_t count, ftc_type type, int to, int tag,
                     ftc_comm *comm)
{
    return run(comm, &(struct message){true, buffer, count, type, to, tag, false, NULL}, 1, NULL);
}

FTC_API int ftc_ssend(const void *buffer, size_t count, ftc_type type, int to, int tag,
                      ftc_comm *comm)
{
    return run(comm, &(struct message){true, buffer, count, type, to, tag, true, NULL}, 1, NULL);
}

FTC_API int ftc_recv(void *buffer, size_t count, ftc_type type, int from, int tag, ftc_comm *comm,
                     ftc_status *status)
{
    return run(comm, &(struct message){false, buffer, count, type, from, tag, false, NULL}, 1,
               status);
}

FTC_API int ftc_sendrecv(const void *send, size_t sendcount, ftc_type sendtype, int to, int sendtag,
                         void *recv, size_t recvcount, ftc_type recvtype, int from, int recvtag,
                         ftc_comm *comm, ftc_status *status)
{
    const struct message messages[] = {
        {true, send, sendcount, sendtype, to, sendtag, false, NULL},
        {false, recv, recvcount, recvtype, from, recvtag, false, NULL}};

    return run(comm, messages, 2, status);
}

/* --- requests --- */

FTC_HOT static int start(struct ftc_comm *comm, const struct message *message,
                         ftc_request **request)
{
    struct ftc_transfer *t = NULL;
    int rc = ftc_request_open_transfer(comm, request, &t);

    if (rc != FTC_SUCCESS)
        return rc;
    return ftc_request_go_transfer(t, comm, fill(t, comm, message), request);
}

FTC_API int ftc_isend(const void *buffer, size_t count, ftc_type type, int to, int tag,
                      ftc_comm *comm, ftc_request **request)
{
    return start(comm, &(struct message){true, buffer, count, type, to, tag, false, NULL}, request);
}

FTC_API int ftc_issend(const void *buffer, size_t count, ftc_type type, int to, int tag,
                       ftc_comm *comm, ftc_request **request)
{
    return start(comm, &(struct message){true, buffer, count, type, to, tag, true, NULL}, request);
}

FTC_API int ftc_irecv(void *buffer, size_t count, ftc_type type, int from, int tag, ftc_comm *comm,
                      ftc_request **request)
{
    return start(comm, &(struct message){false, buffer, count, type, from, tag, false, NULL},
                 request);
}

FTC_API int ftc_cancel(ftc_request *request)
{
    struct ftc_comm *comm = NULL;

    if (request == NULL)
        return ftc_error_set(FTC_ERR_ARG, "there is no request");
    struct ftc_transfer *t = ftc_request_transfer(request, &comm);
    int rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    if (t == NULL)
        return ftc_call_end(comm,
                            ftc_error_set(FTC_ERR_ARG, "the request is that of a collective"));
    ftc_call_enter(comm);
    (void)ftc_comm_cancel_transfer(comm, t);
    ftc_call_leave(comm);
    return ftc_call_end(comm, FTC_SUCCESS);
}

/* --- probes --- */

struct probe {
    int from, tag;
    struct ftc_passing_call call; /* as it is shown */
    ftc_matched *matches;         /* P13: gets the message; NULL: the message stays */
    struct ftc_envelope found;
    int rc; /* as ftc_comm_probe() returns it */
};

static bool looked(struct ftc_comm *comm, void *arg)
{
    struct probe *probe = arg;

    if (probe->matches != NULL && probe->matches->arrival != NULL)
        return true;
    probe->rc = ftc_comm_is_revoked(comm)
                    ? FTC_ERR_REVOKED
                    : ftc_comm_probe(comm, probe->from, probe->tag, &probe->found);
    if (probe->rc == 1 && probe->matches != NULL)
        probe->matches->arrival = ftc_comm_match(comm, probe->from, probe->tag);
    return probe->rc != 0 || ftc_transfer_is_of_self(comm, probe->from);
}

static void look(struct ftc_comm *comm, struct probe *probe, bool waits)
{
    bool slept = false;

    ftc_call_enter(comm);
    if (!looked(comm, probe) && !waits) {
        while (probe->rc == 0 && ftc_progress_step(comm->process))
            (void)looked(comm, probe);
    } else if (!looked(comm, probe)) {
        ftc_comm_expect_delivery(comm);
        slept = ftc_comm_wait(
            comm, &(struct ftc_until){.done = looked, .arg = probe, .passing = &probe->call});
    }
    ftc_call_leave(comm);
    if (slept)
        ftc_publish_passed(comm, probe->rc < 0 ? probe->rc : FTC_SUCCESS);
}

/* *found, if there is a place for it, says whether there is a message. */
static int probe(struct ftc_comm *comm, struct probe *probe, int *found, ftc_status *status)
{
    const struct ftc_transfer any = {.rank = probe->from, .tag = probe->tag, .from = -1};
    int rc = ftc_call_begin(comm);

    if (rc == FTC_SUCCESS && (rc = check(comm, &any)) != FTC_SUCCESS)
        return ftc_call_end(comm, rc);
    if (rc != FTC_SUCCESS)
        return rc;
    probe->call = (struct ftc_passing_call){FTC_HISTORY_PROBE, &any, 1};
    look(comm, probe, found == NULL);
    if (probe->rc < 0)
        return ftc_call_end(comm, ftc_transfer_explain(comm, &any, probe->rc));
    if (probe->rc == 0 && found == NULL)
        return ftc_call_end(comm, ftc_transfer_interrupted(comm, &any, NULL));
    if (found != NULL)
        *found = probe->rc;
    if (probe->rc == 1 && status != NULL)
        *status = (ftc_status){
            .rank = probe->found.from, .tag = probe->found.tag, .bytes = probe->found.size};
    return ftc_call_end(comm, FTC_SUCCESS);
}

FTC_API int ftc_probe(int from, int tag, ftc_comm *comm, ftc_status *status)
{
    return probe(comm, &(struct probe){.from = from, .tag = tag}, NULL, status);
}

FTC_API int ftc_iprobe(int from, int tag, ftc_comm *comm, int *found, ftc_status *status)
{
    if (found == NULL)
        return ftc_error_set(FTC_ERR_ARG, "there is no place for the answer");
    return probe(comm, &(struct probe){.from = from, .tag = tag}, found, status);
}

/* --- matched messages (P13) --- */

static int match(int from, int tag, ftc_comm *comm, int *found, ftc_matched **message,
                 ftc_status *status)
{
    struct probe matching = {.from = from, .tag = tag};

    if (message == NULL)
        return ftc_error_set(FTC_ERR_ARG, "there is no place for the message");
    matching.matches = calloc(1, sizeof(*matching.matches));
    if (matching.matches == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a matched message");
    int rc = probe(comm, &matching, found, status);
    if (rc == FTC_SUCCESS && matching.matches->arrival != NULL) {
        matching.matches->comm = comm;
        ftc_posted_count(comm, 1);
        *message = matching.matches;
    } else {
        free(matching.matches);
    }
    return rc;
}

FTC_API int ftc_mprobe(int from, int tag, ftc_comm *comm, ftc_matched **message, ftc_status *status)
{
    return match(from, tag, comm, NULL, message, status);
}

FTC_API int ftc_improbe(int from, int tag, ftc_comm *comm, int *found, ftc_matched **message,
                        ftc_status *status)
{
    if (found == NULL)
        return ftc_error_set(FTC_ERR_ARG, "there is no place for the answer");
    return match(from, tag, comm, found, message, status);
}

static int no_message(void)
{
    return ftc_error_set(FTC_ERR_ARG, "there is no matched message");
}

FTC_API int ftc_mrecv(void *buffer, size_t count, ftc_type type, ftc_matched **message,
                      ftc_status *status)
{
    if (message == NULL || *message == NULL)
        return no_message();
    return run(
        (*message)->comm,
        &(struct message){false, buffer, count, type, FTC_ANY_RANK, FTC_ANY_TAG, false, message}, 1,
        status);
}

FTC_API int ftc_imrecv(void *buffer, size_t count, ftc_type type, ftc_matched **message,
                       ftc_request **request)
{
    if (message == NULL || *message == NULL)
        return no_message();
    return start(
        (*message)->comm,
        &(struct message){false, buffer, count, type, FTC_ANY_RANK, FTC_ANY_TAG, false, message},
        request);
}
