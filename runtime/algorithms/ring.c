/* Collectives of large values (collectives/large/large.h): their messages, waits and commits. */
#include "runtime/algorithms/table.h"

#include <stdlib.h>

#include "base/error.h"
#include "collectives/large/large.h"
#include "collectives/values/types.h"
#include "runtime/algorithms/posts.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/mismatch.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"
#include "runtime/comm/request.h"
#include "runtime/process/progress.h"

/* docs/design/nodes.md, "Large values" */
#define BLOCK_LEAST ((size_t)16 << 10)
#define BLOCK_MOST  ((size_t)256 << 10)
#define PART_MOST   ((size_t)1 << 20)
#define WINDOW      4
#define LENT_LEAST  ((size_t)4 << 10) /* it costs less to copy fewer bytes than to lend them */

/* The stages of a request: it begins, an attempt starts, blocks go round the ring, the attempt is
 * committed, and another algorithm runs the call. */
enum { BEGINS, STARTS, EXCHANGES, COMMITS, PROTECTED };

struct ftc_large_run {
    struct ftc_large *core;
    struct ftc_call commit;
    unsigned char *decided;       /* the value that the commit has decided */
    int before;                   /* how many ranks had failed when the call began */
    struct ftc_request inner;     /* the commit, or the call by another algorithm */
    struct ftc_large_nodes nodes; /* of the call, where the ranks of a node share memory */
};

static int ring_open(struct ftc_comm *comm)
{
    struct ftc_large_run *run = calloc(1, sizeof(*run));
    struct ftc_large_settings settings = {.communicator = comm->driven.number,
                                          .self = comm->rank,
                                          .ranks = comm->size,
                                          .attempts = (int)comm->process->config.f + 1,
                                          .block_least = BLOCK_LEAST,
                                          .block_most = BLOCK_MOST,
                                          .part_most = PART_MOST,
                                          .window = WINDOW,
                                          .lent_least = LENT_LEAST,
                                          .pool = comm->process->pool};

    comm->large = run;
    if (run == NULL || (run->decided = malloc(1 + ftc_set_bytes(comm->size))) == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", comm->size);
    return ftc_large_create(&run->core, &settings);
}

static void ring_close(struct ftc_comm *comm)
{
    struct ftc_large_run *run = comm->large;

    if (run == NULL)
        return;
    ftc_large_destroy(run->core);
    free(run->decided);
    free(run);
    comm->large = NULL;
}

static struct ftc_large_now now(const struct ftc_comm *comm)
{
    return (struct ftc_large_now){
        .op = ftc_member_next_op(comm->member),
        .epoch = ftc_member_epoch(comm->member),
        .under_way = comm->deciding != NULL ? &comm->deciding->call->signature : NULL};
}

/* --- out --- */

static void put_out(struct ftc_comm *comm)
{
    struct ftc_large_output output;

    while (ftc_large_next_output(comm->large->core, &output)) {
        if (output.head == NULL)
            ftc_progress_must(comm->process, FTC_ERR_NOMEM);
        ftc_publish_bytes(comm, output.head->size + output.value.size);
        ftc_comm_send(comm, output.to, output.head, &output.value, false);
        ftc_drill_pass(&comm->process->drill, FTC_DRILL_SEND);
    }
}

/* --- in --- */

/* A mismatch ends the job. Other results are returned. */
static int judged(struct ftc_comm *comm, int rc)
{
    if (rc == FTC_ERR_MISMATCH)
        ftc_comm_end_mismatched(comm, ftc_large_mismatch(comm->large->core));
    return rc;
}

static int receive_message(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    struct ftc_large_now here = now(comm);
    int rc = judged(comm, ftc_large_receive(comm->large->core, &here, from, message));

    put_out(comm);
    return rc;
}

static void look(struct ftc_comm *comm, int from, const struct ftc_buffer *message)
{
    (void)judged(comm, ftc_large_look(comm->large->core, from, message));
}

static void called(struct ftc_comm *comm)
{
    struct ftc_large_now here = now(comm);

    (void)judged(comm, ftc_large_called(comm->large->core, &here));
}

static void notice(struct ftc_comm *comm, int rank)
{
    ftc_large_notice(comm->large->core, rank);
}

static void take_early(struct ftc_comm *comm)
{
    int from = -1, rc;

    while ((rc = ftc_large_early(comm->large->core, &from)) != 0) {
        if (judged(comm, rc) == FTC_ERR_PROTO)
            ftc_comm_accuse(comm, from, "sent a damaged message");
        else if (rc != 1)
            ftc_progress_must(comm->process, rc);
        put_out(comm);
    }
}

/* --- the call --- */

static int awaits(const struct ftc_comm *comm)
{
    return comm->large != NULL ? ftc_large_awaited(comm->large->core) : -1;
}

static void activity_of(const struct ftc_comm *comm, struct ftc_member_activity *activity)
{
    int awaited = awaits(comm);

    if (awaited < 0)
        return;
    activity->kind = FTC_CALL_LARGE;
    activity->op = ftc_member_next_op(comm->member);
    activity->wait = FTC_WAIT_RING;
    activity->root = -1;
    activity->waits_for = awaited;
    activity->waits = 1;
}

/* Tells the member of failed ranks that a decision has named. The detector may tell of them
 * later. */
static void tell_member(struct ftc_comm *comm)
{
    const struct ftc_set *failed = ftc_large_failed(comm->large->core);
    const struct ftc_set *known = ftc_member_known_failed(comm->member);

    for (int rank = ftc_set_next(failed, 0); rank >= 0; rank = ftc_set_next(failed, rank + 1)) {
        if (ftc_set_has(known, rank))
            continue;
        ftc_progress_must(comm->process, ftc_member_notice(comm->member, rank));
        ftc_comm_outputs(comm);
    }
}

static void start_attempt(struct ftc_comm *comm)
{
    struct ftc_large_now here;

    ftc_comm_expect_delivery(comm); /* so that a step takes in more than one message */
    ftc_publish_ran(comm, FTC_CHOICE_RING);
    ftc_progress_failures(comm->process);
    tell_member(comm);
    here = now(comm);
    ftc_publish_called(comm, here.op);
    ftc_progress_must(comm->process, ftc_large_start(comm->large->core, &here,
                                                     ftc_member_agreed_failed(comm->member),
                                                     ftc_member_known_failed(comm->member)));
    put_out(comm);
    take_early(comm);
}

static void start_commit(struct ftc_comm *comm)
{
    struct ftc_large_run *run = comm->large;

    ftc_large_commit(run->core, ftc_member_known_failed(comm->member), &run->commit);
    ftc_request_start(comm, &run->inner, &run->commit, run->decided, FTC_CHOICE_RING + 1);
}

static enum ftc_large_verdict verdict_of_commit(struct ftc_comm *comm)
{
    enum ftc_large_verdict verdict;
    struct ftc_member_report report;

    ftc_member_report(comm->member, &report);
    ftc_progress_must(comm->process, ftc_large_decide(comm->large->core, comm->large->decided,
                                                      report.failed, &verdict));
    if (verdict != FTC_LARGE_COMMITTED)
        comm->lost = ftc_set_count(report.failed) - comm->large->before;
    return verdict;
}

/* The input is no longer lent to messages: the caller takes it back. */
static void settle(struct ftc_comm *comm)
{
    if (comm->large != NULL)
        ftc_progress_must(comm->process, ftc_large_settle(comm->large->core));
}

/* The call has ended with `status`. */
static bool end(struct ftc_comm *comm, struct ftc_request *request, int status)
{
    settle(comm);
    ftc_large_end(comm->large->core);
    request->status = status;
    ftc_publish_ran(comm, FTC_CHOICE_RING); /* ftc_request_start() has set the commit's */
    return true;
}

/* Follows the verdict of a commit. True: the request is done. */
static bool follow(struct ftc_comm *comm, struct ftc_request *request)
{
    struct ftc_large_run *run = comm->large;

    switch (verdict_of_commit(comm)) {
    case FTC_LARGE_AGAIN:
        request->stage = STARTS;
        return false;
    case FTC_LARGE_COMMITTED:
        ftc_large_deliver(run->core, request->receive);
        return end(comm, request, FTC_SUCCESS);
    case FTC_LARGE_PROTECTED:
        break;
    }
    ftc_large_end(run->core);
    ftc_request_start(comm, &run->inner, request->call, request->receive, FTC_CHOICE_RING + 1);
    request->stage = PROTECTED;
    return false;
}

static int reserve(void *arg, size_t offset, size_t size)
{
    const struct ftc_comm *comm = arg;
    return ftc_level_reserve_large(comm->levels->shared, offset, size);
}

/* The ranks of a node combine in the memory that two levels have. NULL: there are none. */
static const struct ftc_large_nodes *nodes_of(struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    if (levels == NULL)
        return NULL;
    struct ftc_level_large large = ftc_level_large(levels->shared);
    comm->large->nodes = (struct ftc_large_nodes){.first_ranks = levels->first_ranks,
                                                  .lowest = levels->first,
                                                  .areas = large.areas,
                                                  .stride = large.stride,
                                                  .room = large.room,
                                                  .apart = large.half,
                                                  .reserve = reserve,
                                                  .arg = comm};
    return &comm->large->nodes;
}

static void begin(struct ftc_comm *comm, struct ftc_request *request)
{
    struct ftc_large_run *run = comm->large;
    const struct ftc_call *call = request->call;

    ftc_large_begin(run->core, call, call->element, nodes_of(comm), request->receive);
    run->before = ftc_set_count(ftc_member_agreed_failed(comm->member));
    request->stage = STARTS;
}

static bool advance(struct ftc_comm *comm, struct ftc_request *request)
{
    struct ftc_large_run *run = comm->large;

    if (request->stage == BEGINS)
        begin(comm, request);
    while (request->stage != PROTECTED) {
        if (request->stage == STARTS) {
            if (!ftc_comm_begin(comm))
                return false;
            start_attempt(comm);
            request->stage = EXCHANGES;
        }
        if (request->stage == EXCHANGES) {
            if (ftc_large_state(run->core) == FTC_LARGE_UNDER_WAY)
                return false;
            start_commit(comm);
            request->stage = COMMITS;
        }
        if (!ftc_request_advance(comm, &run->inner))
            return false;
        if (run->inner.status != FTC_SUCCESS)
            return end(comm, request, run->inner.status);
        if (follow(comm, request))
            return true;
    }
    if (!ftc_request_advance(comm, &run->inner))
        return false;
    request->status = run->inner.status;
    return true;
}

const struct ftc_algorithm ftc_algorithm_ring = {
    .advance = advance,
    .open = ring_open,
    .close = ring_close,
    .frame = FTC_FRAME_RING,
    .receive = receive_message,
    .awaits = awaits,
    .called = called,
    .looks = look,
    .notice = notice,
    .revoked = settle,
    .activity = activity_of,
};
