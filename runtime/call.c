/* One collective call: flow control, the call itself, waiting for its delivery. */
#include "runtime/call.h"

#include "base/cpu.h"
#include "base/error.h"
#include "runtime/lease.h"
#include "runtime/node_board.h"
#include "runtime/progress.h"
#include "runtime/publish.h"
#include "runtime/thread.h"

/* Plain reduces and broadcasts do not wait for their receivers: a sender may be this many operations ahead of them
 * (agreement.md, "plain reduce": flow control may delay the start of a later op). */
#define OPERATIONS_AHEAD 64
#define TARGETS          128
#define ROOM_LOOK_NS     200000ull /* nobody rings for room: look again after this long */
#define LEAVING_STEPS    16

void ftc_call_enter(struct ftc_comm *comm)
{
    atomic_store_explicit(&comm->thread.wanted, true, memory_order_relaxed);
    pthread_mutex_lock(&comm->lock);
    atomic_store_explicit(&comm->thread.wanted, false, memory_order_relaxed);
    if (comm->alone)
        return;
    ftc_bell_outside(&comm->bell, false);
    ftc_thread_gate(comm, false);
}

void ftc_call_leave(struct ftc_comm *comm)
{
    bool due = false; /* the thread has something to do */

    if (!comm->alone) {
        ftc_publish_activity(comm, FTC_WAIT_NOTHING);
        /* From here on rings go to the thread's socket; what came before is still ours. */
        ftc_bell_outside(&comm->bell, true);
        /* Gossip may go on for ever: the rest is the thread's. */
        bool rest = true;
        for (int steps = 0; steps < LEAVING_STEPS && (rest = ftc_progress_ready(comm)); steps++)
            if (!ftc_progress_step(comm))
                break;
        ftc_publish_multicast(comm);
        uint64_t armed_ns = comm->thread.armed_ns;
        due = rest || (comm->timer_ns != 0 && (armed_ns == 0 || comm->timer_ns < armed_ns));
    }
    pthread_mutex_unlock(&comm->lock);
    if (comm->alone)
        return;
    ftc_thread_gate(comm, true);
    /* After the unlock, or the thread could find the lock held and lose it. */
    if (atomic_exchange(&comm->thread.missed, false) || due)
        ftc_thread_nudge(comm);
    ftc_lease_before_return(comm);
}

static bool has_room(struct ftc_comm *comm, void *arg)
{
    const struct ftc_call *call = arg;
    int ranks[TARGETS];
    int count = ftc_member_targets(comm->member, call->signature.kind, call->signature.root, ranks, TARGETS);
    uint64_t k = ftc_member_next_op(comm->member);

    for (int i = 0; i < count; i++) {
        struct ftc_slot *slot = ftc_segment_slot(comm->segment, ranks[i]);
        if (atomic_load_explicit(&slot->called, memory_order_relaxed) + OPERATIONS_AHEAD < k &&
            !ftc_segment_failed(comm->segment, ranks[i]))
            return false;
    }
    return true;
}

static void wait_for_room(struct ftc_comm *comm, const struct ftc_call *call)
{
    int kind = call->signature.kind;
    bool unbounded = kind == FTC_CALL_REDUCE || (kind == FTC_CALL_BCAST && comm->config.settle_every == 0);

    struct ftc_until room = {has_room, (void *)call, FTC_WAIT_ROOM, ROOM_LOOK_NS};

    if (unbounded && !comm->alone)
        ftc_progress_until(comm, &room);
}

static bool is_delivered(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return comm->delivered;
}

int ftc_call_wait(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    comm->delivered = false;
    comm->receive = receive;
    wait_for_room(comm, call);
    ftc_progress_failures(
        comm); /* before anything is sent: a process that was declared failed must not act */
    ftc_drill_pass(&comm->drill, FTC_DRILL_CALL);
    int rc = ftc_member_call(comm->member, call);
    if (rc == FTC_ERR_NOMEM)
        ftc_comm_leave(comm, FTC_EXIT_INTERNAL, "out of memory");
    if (rc != 0)
        return rc;
    ftc_publish_called(comm, ftc_member_next_op(comm->member));
    ftc_progress_outputs(comm);
    ftc_progress_until(comm, &(struct ftc_until){.done = is_delivered});
    ftc_publish_returned(comm);
    return comm->status;
}

static int explain(struct ftc_comm *comm, const struct ftc_call *call, int rc)
{
    if (rc == FTC_ERR_ROOT_FAILED)
        return ftc_error_set(rc, "rank %d, the root of the broadcast, failed before it could finish",
                             (int)call->signature.root);
    if (rc == FTC_ERR_TOO_MANY_FAILURES)
        return ftc_error_set(rc,
                             "more than f = %d ranks failed during the reduce; repeat it, or use allreduce",
                             (int)comm->config.f);
    if (rc == FTC_ERR_CORRUPT)
        return ftc_error_set(rc,
                             "results that should be equal differ, and no majority of them agrees: memory or "
                             "a message was damaged; call again");
    return rc;
}

FTC_HOT int ftc_call_check(const struct ftc_comm *comm)
{
    if (comm == NULL)
        return ftc_error_set(FTC_ERR_ARG, "the communicator is NULL; call ftc_init() first");
    if (*comm->mine != 1)
        return ftc_error_set(FTC_ERR_STATE,
                             "a child made by fork() is not part of the job; only the process that "
                             "called ftc_init() may use the communicator");
    return 0;
}

FTC_HOT int ftc_call_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    if (comm->board != NULL) {
        int rc = ftc_node_board_call(comm, call, receive);
        return rc == 0 ? rc : explain(comm, call, rc);
    }
    ftc_call_enter(comm);
    int rc = ftc_call_wait(comm, call, receive);
    comm->receive = NULL;
    ftc_drill_pass(&comm->drill, FTC_DRILL_RETURN);
    ftc_call_leave(comm);
    return explain(comm, call, rc);
}
