/* One collective call: flow control, the call itself, waiting for its delivery. */
#include "runtime/api/call.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/probes.h"
#include "runtime/algorithms/table.h"
#include "runtime/api/user_operator.h"
#include "runtime/comm/engine.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/queue.h"
#include "runtime/comm/request.h"
#include "runtime/process/gate.h"
#include "runtime/process/lease.h"
#include "runtime/process/progress.h"
#include "runtime/process/thread.h"
#include "runtime/process/turn.h"

#define LEAVING_STEPS 16

void ftc_call_enter(struct ftc_comm *comm)
{
    bool first = ftc_turn_enter(comm->process);

    if (comm->process->alone || !first)
        return;
    ftc_bell_outside(&comm->process->bell, FTC_SLEEP_AWAKE);
    ftc_gate_enter(comm->process);
}

/* Is there something left to take in? If the gate stays shut, the sockets wait for the next call or
 * for the next tick of the thread. */
static bool has_rest(struct ftc_process *process)
{
    return ftc_gate_is_shut(process) ? ftc_progress_ready_but_sockets(process)
                                     : ftc_progress_ready(process);
}

/* Is there a timer for which the thread is not set? One that has fired is set no longer. */
static bool is_timer_unset(const struct ftc_process *process)
{
    uint64_t armed_ns = process->thread.armed_ns;

    return process->timer_ns != 0 &&
           (armed_ns == 0 || process->timer_ns < armed_ns || armed_ns <= ftc_clock_now());
}

/* The last caller leaves. Returns whether the thread must watch the sockets. *due: the thread has
 * work. */
static bool leave_to_thread(struct ftc_process *process, bool *due)
{
    /* What the thread has missed by now is looked for below. */
    atomic_store(&process->thread.missed, false);
    /* From here on rings go to the thread's socket. What came before is taken in here. */
    enum ftc_sleep sleep = ftc_progress_sleep(process);
    ftc_bell_outside(&process->bell, sleep);
    /* Gossip may go on for ever, so the thread does what is left after some steps. */
    bool rest = true;
    for (int steps = 0; steps < LEAVING_STEPS && (rest = has_rest(process)); steps++)
        if (!ftc_progress_step(process)) {
            rest = has_rest(process); /* the step may have found that nothing was left */
            break;
        }
    *due = rest || sleep != ftc_progress_sleep(process) || is_timer_unset(process);
    return ftc_gate_leave(process);
}

void ftc_call_leave_process(struct ftc_process *process)
{
    bool due = false, open = false, alone = process->alone;
    bool last = ftc_turn_leave(process);

    if (!alone && last)
        open = leave_to_thread(process, &due);
    else if (!last) /* it may have set a timer, or taken in a message that another one waits for */
        ftc_turn_changed(process);
    pthread_mutex_unlock(&process->lock);
    if (alone || !last)
        return;
    if (open)
        ftc_gate_open(process);
    /* After the unlock. Before it the thread could find the lock held and lose the nudge. */
    if (ftc_turn_missed(process) || due)
        ftc_thread_nudge(process);
    ftc_lease_before_return(process);
}

void ftc_call_leave(struct ftc_comm *comm)
{
    if (!comm->process->alone) {
        ftc_publish_activity(comm, FTC_WAIT_NOTHING);
        ftc_publish_multicast(comm);
    }
    comm->driven.waits = false;
    ftc_call_leave_process(comm->process);
}

void ftc_call_leave_unseen(struct ftc_comm *comm)
{
    comm->driven.waits = false;
    ftc_call_leave_process(comm->process);
}

int ftc_call_explain(struct ftc_comm *comm, const struct ftc_call *call, int rc)
{
    if (rc == FTC_ERR_ROOT_FAILED)
        return ftc_error_set(rc, "rank %d, the root of the %s, failed before it could finish",
                             (int)call->signature.root,
                             call->signature.kind == FTC_CALL_BCAST ? "broadcast" : "scatter");
    if (rc == FTC_ERR_TOO_MANY_FAILURES)
        return ftc_error_set(
            rc, "more than f = %d ranks failed at once in the reduce; repeat it, or use allreduce",
            (int)comm->process->config.f);
    if (rc == FTC_ERR_CORRUPT)
        return ftc_error_set(
            rc, "results that should be equal differ, and no majority of them agrees: memory or "
                "a message was damaged; call again");
    return rc;
}

FTC_HOT int ftc_call_check_comm(const struct ftc_comm *comm)
{
    if (comm == NULL)
        return ftc_error_set(FTC_ERR_ARG, "the communicator is NULL; call ftc_init() first");
    if (comm->process->guard->mine != 1)
        return ftc_error_set(FTC_ERR_STATE,
                             "a child made by fork() is not part of the job; only the process that "
                             "called ftc_init() may use the communicator");
    return 0;
}

FTC_HOT int ftc_call_check(const struct ftc_comm *comm)
{
    int rc = ftc_call_check_comm(comm);

    if (rc == 0 && ftc_user_operator_runs())
        return ftc_error_set(FTC_ERR_STATE,
                             "the function of an operator must not call the library; take what it "
                             "needs from its argument");
    return rc;
}

FTC_HOT int ftc_call_begin(const struct ftc_comm *comm)
{
    int rc = ftc_call_check(comm);

    if (rc != 0 ||
        atomic_exchange_explicit((atomic_int *)&comm->busy, 1, memory_order_acquire) == 0)
        return rc;
    return ftc_error_set(
        FTC_ERR_STATE,
        "another call on this communicator is under way, of another thread; make one call at a "
        "time, by a lock of your own");
}

FTC_HOT int ftc_call_end(const struct ftc_comm *comm, int rc)
{
    atomic_store_explicit((atomic_int *)&comm->busy, 0, memory_order_release);
    return rc;
}

int ftc_call_revoked(struct ftc_comm *comm)
{
    ftc_call_enter(comm);
    ftc_comm_engine_told(comm);
    ftc_call_leave(comm);
    return ftc_error_set(FTC_ERR_REVOKED,
                         "communicator %s was revoked: call ftc_comm_shrink() to go on without the "
                         "failed ranks, or ftc_comm_free()",
                         comm->name);
}

FTC_HOT void ftc_call_moved(struct ftc_comm *comm)
{
    if (ftc_mover_has_work(comm) || !ftc_comm_has_queue(comm))
        return;
    ftc_call_enter(comm);
    ftc_comm_engine_settle(comm->process);
    ftc_call_leave(comm);
}

void ftc_call_drain(struct ftc_comm *comm)
{
    ftc_publish_queued(comm);
    while (ftc_mover_has_work(comm) || ftc_comm_has_queue(comm)) {
        ftc_mover_wait(comm, NULL);
        ftc_call_enter(comm);
        ftc_queue_drain(comm);
        ftc_call_leave(comm);
    }
}

int ftc_call_detour(struct ftc_comm *comm)
{
    ftc_call_drain(comm);
    ftc_call_enter(comm);
    ftc_finished_show(comm, NULL);
    ftc_publish_record(comm);
    ftc_call_leave(comm);
    return ftc_comm_is_revoked(comm) ? ftc_call_revoked(comm) : FTC_SUCCESS;
}

static FTC_HOT int run(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    int rc = atomic_load_explicit(&comm->detour, memory_order_acquire) == 0 ? FTC_SUCCESS
                                                                            : ftc_call_detour(comm);

    if (rc != FTC_SUCCESS)
        return rc;
    if (comm->board != NULL) {
        rc = ftc_board_run(comm, call, receive);
    } else {
        ftc_call_enter(comm);
        ftc_publish_record(comm);
        rc = ftc_request_run(comm, call, receive, FTC_CHOICE_BOARD + 1);
        ftc_drill_pass(&comm->process->drill, FTC_DRILL_RETURN);
        ftc_call_leave(comm);
    }
    if (rc == 0)
        return rc;
    return rc == FTC_ERR_REVOKED ? ftc_call_revoked(comm) : ftc_call_explain(comm, call, rc);
}

static FTC_ONE_PLACE void probe_start(int kind, uint64_t number, uint64_t size)
{
    FTC_PROBE_OPERATION_START(kind, number, size);
}

static FTC_ONE_PLACE void probe_end(int kind, uint64_t number, uint64_t size, int status)
{
    FTC_PROBE_OPERATION_END(kind, number, size, status);
}

FTC_HOT uint64_t ftc_call_starts(struct ftc_comm *comm, const struct ftc_signature *signature)
{
    /* Without the lock: a revoke may replace the member at this moment. */
    uint64_t number = FTC_PROBES ? atomic_load_explicit(&comm->called, memory_order_relaxed) : 0;

    if (FTC_PROBES)
        probe_start(signature->kind, number, signature->size);
    if (comm->history.store != NULL)
        comm->history.call = signature;
    return number;
}

FTC_HOT int ftc_call_ends(struct ftc_comm *comm, const struct ftc_signature *signature,
                          uint64_t number, int rc)
{
    if (comm->history.store != NULL)
        ftc_publish_resulted(comm, rc);
    if (FTC_PROBES)
        probe_end(signature->kind, number, signature->size, rc);
    return rc;
}

FTC_HOT int ftc_call_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    uint64_t number = ftc_call_starts(comm, &call->signature);

    return ftc_call_ends(comm, &call->signature, number, run(comm, call, receive));
}
