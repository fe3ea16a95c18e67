/* Large allreduces round a ring (collectives/ring/large.h): their messages, waits and commits. */
#include "runtime/algorithms/table.h"

#include <stdlib.h>

#include "base/error.h"
#include "collectives/ring/large.h"
#include "collectives/values/types.h"
#include "runtime/comm/call.h"
#include "runtime/comm/mismatch.h"
#include "runtime/process/progress.h"
#include "runtime/comm/publish.h"

/* docs/design/nodes.md, "Large values" */
#define BLOCK_LEAST ((size_t)16 << 10)
#define BLOCK_MOST  ((size_t)256 << 10)

struct ftc_large_run {
    struct ftc_large *core;
    unsigned char *decided; /* the value that the commit has decided */
};

static int ring_open(struct ftc_comm *comm)
{
    struct ftc_large_run *run = calloc(1, sizeof(*run));
    struct ftc_large_settings settings = {.self = comm->rank,
                                          .ranks = comm->size,
                                          .attempts = (int)comm->config.f + 1,
                                          .block_least = BLOCK_LEAST,
                                          .block_most = BLOCK_MOST,
                                          .pool = comm->pool};

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
    return (struct ftc_large_now){.op = ftc_member_next_op(comm->member),
                                  .epoch = ftc_member_epoch(comm->member),
                                  .under_way = comm->under_way};
}

/* --- out --- */

static void put_out(struct ftc_comm *comm)
{
    struct ftc_large_output output;

    while (ftc_large_next_output(comm->large->core, &output)) {
        if (output.head == NULL)
            ftc_progress_must(comm, FTC_ERR_NOMEM);
        ftc_publish_bytes(comm, output.head->size + output.value.size);
        ftc_progress_must(comm, comm->transport->ops->send(comm->transport, output.to, output.head,
                                                           &output.value, false));
        ftc_drill_pass(&comm->drill, FTC_DRILL_SEND);
    }
}

/* --- in --- */

/* A mismatch ends the job. Other results are returned. */
static int judged(struct ftc_comm *comm, int rc)
{
    if (rc == FTC_ERR_MISMATCH)
        ftc_comm_end_job(comm, FTC_EXIT_MISMATCH, ftc_large_mismatch(comm->large->core));
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
            ftc_progress_accuse(comm, from, "sent a damaged message");
        else if (rc != 1)
            ftc_progress_must(comm, rc);
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

static bool is_over(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return ftc_large_state(comm->large->core) != FTC_LARGE_UNDER_WAY;
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
        ftc_progress_must(comm, ftc_member_notice(comm->member, rank));
        ftc_progress_outputs(comm);
    }
}

static void run_attempt(struct ftc_comm *comm)
{
    struct ftc_large_now here;

    comm->delivered = false; /* so that a step takes in more than one message */
    ftc_progress_failures(comm);
    tell_member(comm);
    here = now(comm);
    ftc_publish_called(comm, here.op);
    ftc_progress_must(comm, ftc_large_start(comm->large->core, &here,
                                            ftc_member_agreed_failed(comm->member),
                                            ftc_member_known_failed(comm->member)));
    put_out(comm);
    take_early(comm);
    ftc_progress_until(comm, &(struct ftc_until){.done = is_over});
}

static int commit(struct ftc_comm *comm, enum ftc_large_verdict *verdict)
{
    struct ftc_large_run *run = comm->large;
    struct ftc_member_report report;
    struct ftc_call call;

    ftc_large_commit(run->core, ftc_member_known_failed(comm->member), &call);
    int rc = ftc_call_wait(comm, &call, run->decided, FTC_CHOICE_RING + 1);
    comm->receive = NULL;
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_member_report(comm->member, &report);
    ftc_progress_must(comm, ftc_large_decide(run->core, run->decided, report.failed, verdict));
    return FTC_SUCCESS;
}

static int run_call(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    struct ftc_large_run *run = comm->large;
    enum ftc_large_verdict verdict = FTC_LARGE_AGAIN;
    int rc = FTC_SUCCESS;

    ftc_large_begin(run->core, call, ftc_type_size((ftc_type)call->signature.type), receive);
    while (rc == FTC_SUCCESS && verdict == FTC_LARGE_AGAIN) {
        run_attempt(comm);
        rc = commit(comm, &verdict);
    }
    if (rc == FTC_SUCCESS && verdict == FTC_LARGE_COMMITTED)
        ftc_large_copy(run->core, receive);
    ftc_large_end(run->core);
    if (rc == FTC_SUCCESS && verdict == FTC_LARGE_PROTECTED)
        return ftc_call_wait(comm, call, receive, FTC_CHOICE_RING + 1);
    comm->ran = ftc_choices[FTC_CHOICE_RING].name; /* ftc_call_wait() has set that of the commit */
    return rc;
}

static bool owns(const struct ftc_comm *comm, const struct ftc_buffer *message)
{
    (void)comm;
    return ftc_large_is_message(message);
}

const struct ftc_algorithm ftc_algorithm_ring = {
    .run = run_call,
    .open = ring_open,
    .close = ring_close,
    .owns = owns,
    .receive = receive_message,
    .awaits = awaits,
    .called = called,
    .looks = look,
    .notice = notice,
    .activity = activity_of,
};
