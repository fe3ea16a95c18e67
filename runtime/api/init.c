/* ftc_init(), ftc_finalize() and ftc_abort(). */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "runtime/algorithms/table.h"
#include "runtime/api/call.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/engine.h"
#include "runtime/process/connect.h"
#include "runtime/process/join.h"
#include "runtime/process/thread.h"
#include "runtime/process/turn.h"

#define ABORT_GRACE_NS (10 * FTC_NS_PER_S)

/* --- init --- */

/* The thread is stopped first, since it drives the communicator. */
static void destroy(struct ftc_process *process)
{
    ftc_thread_stop(process);
    ftc_comm_engine_close(process);
    ftc_process_close(process);
}

static int start(struct ftc_comm *world)
{
    struct ftc_process *process = world->process;

    if (process->alone)
        return 0;
    int rc = ftc_thread_start(process);
    if (rc == 0)
        ftc_connect_announce(process);
    return rc;
}

FTC_API int ftc_init(const ftc_options *options, ftc_comm **world)
{
    struct ftc_process *process;
    struct ftc_comm *comm;

    if (world == NULL)
        return ftc_error_set(FTC_ERR_ARG, "world is NULL");
    if (options != NULL && options->struct_size < sizeof(options->struct_size))
        return ftc_error_set(FTC_ERR_ARG, "set options.struct_size to sizeof(ftc_options)");
    int rc = ftc_process_join(&process, options);
    if (rc != 0)
        return rc;
    rc = ftc_comm_engine_open(&comm, process, ftc_algorithms);
    if (rc != 0) {
        ftc_process_close(process);
        return rc;
    }
    rc = start(comm);
    if (rc != 0) {
        destroy(process);
        return rc;
    }
    ftc_drill_pass(&process->drill, FTC_DRILL_JOINED);
    *world = comm;
    return 0;
}

/* --- finalize --- */

/* agreement.md, finalize: p goes on answering until each other process has the mark or has failed.
 * A rank has failed here if the launcher has put it into the segment, as it does with a rank that
 * exits too early. L is not asked: on several nodes a decision may name a failed rank earlier. */
static bool nobody_needs_me(struct ftc_comm *comm, void *arg)
{
    int *from = arg; /* all ranks below it have the mark or have failed; both are final */

    ftc_comm_engine_free_revoked(
        comm); /* a rank that was in FINALIZE may have learnt of it first */
    for (int rank = *from; rank < comm->size; rank++, ++*from) {
        const struct ftc_standing *standing = ftc_segment_standing(comm->process->segment, rank);
        if (atomic_load_explicit(&standing->phase, memory_order_acquire) != FTC_PHASE_FINALIZED &&
            !ftc_segment_failed(comm->process->segment, rank))
            return false;
    }
    return true;
}

/* header->finalized is a hint that spares a scan of all standings. The rank that completes the
 * count wakes the others. If a ring gets lost, they look after a heartbeat period anyway. */
static void set_mark(struct ftc_comm *comm)
{
    struct ftc_segment_header *header = ftc_segment_header(comm->process->segment);

    ftc_drill_pass(&comm->process->drill, FTC_DRILL_MARK);
    atomic_store_explicit(&comm->process->standing->phase, FTC_PHASE_FINALIZED,
                          memory_order_release);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_MARKED);
    if (ftc_segment_nodes(comm->process->segment) > 1)
        ftc_bell_ring_launcher(&comm->process->bell); /* it tells the ranks of other nodes */
    uint32_t marks = atomic_fetch_add(&header->finalized, 1) + 1;
    if (marks + atomic_load(&header->failures) >= (uint32_t)comm->size)
        ftc_bell_ring_all(&comm->process->bell);
    if (ftc_segment_nodes(comm->process->segment) > 1) /* again, after the count */
        ftc_bell_ring_launcher(&comm->process->bell);
}

/* docs/design/tcp.md, "Leaving". */
static bool has_settled(struct ftc_comm *comm, void *arg)
{
    const uint64_t *until = arg;

    return comm->process->transport->ops->settled(comm->process->transport) ||
           ftc_clock_now() >= *until;
}

static void settle(struct ftc_comm *comm)
{
    uint64_t period = (uint64_t)comm->process->config.heartbeat_period_ms * FTC_NS_PER_MS;
    uint64_t until = ftc_clock_now() + period;

    if (comm->process->transport->ops->settled != NULL)
        ftc_comm_wait(comm, &(struct ftc_until){has_settled, &until, FTC_WAIT_MARKS, period, NULL});
}

/* communicators.md, C12: the closings of the children, and that of a world that was revoked. */
static bool all_are_closed(struct ftc_comm *world, void *arg)
{
    (void)arg;
    ftc_comm_engine_free_revoked(world);
    return ftc_comm_is_revoked(world) ? ftc_comm_engine_is_over(world->process)
                                      : ftc_comm_engine_is_world_alone(world->process);
}

static void linger(struct ftc_comm *comm)
{
    int from = 0;

    ftc_call_enter(comm);
    ftc_comm_wait(comm, &(struct ftc_until){all_are_closed, NULL, FTC_WAIT_MARKS, 0, NULL});
    set_mark(comm);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_LINGER);
    ftc_comm_wait(comm, &(struct ftc_until){nobody_needs_me, &from, FTC_WAIT_MARKS, 0, NULL});
    settle(comm);
    ftc_call_leave(comm);
}

/* Takes the children from other threads, for good. With the lock, since the thread of the library
 * may forget communicators meanwhile. FTC_ERR_STATE: they are in use, and none is taken. */
static int take_children(struct ftc_process *process)
{
    struct ftc_comm *busy;
    int rc = FTC_SUCCESS;

    ftc_turn_lock(process);
    if (ftc_comm_engine_has_requests(process))
        rc = ftc_error_set(FTC_ERR_STATE, "wait for all requests before ftc_finalize()");
    else if ((busy = ftc_comm_engine_take_children(process)) != NULL)
        rc = ftc_error_set(FTC_ERR_STATE,
                           "another thread is in a call on communicator %s: wait for it before "
                           "ftc_finalize()",
                           busy->name);
    ftc_turn_unlock(process);
    return rc;
}

FTC_API int ftc_finalize(ftc_comm *world)
{
    struct ftc_call call = {.signature = {.kind = FTC_CALL_FINALIZE, .root = -1}};

    int rc = ftc_call_check(world);
    if (rc == 0 && world != ftc_comm_engine_world(world->process))
        rc = ftc_error_set(FTC_ERR_ARG, "communicator %s is not the world", world->name);
    if (rc == 0)
        rc = ftc_call_begin(world); /* destroy() frees the communicator, without ftc_call_end() */
    if (rc != 0)
        return rc;
    rc = take_children(world->process);
    if (rc != 0)
        return ftc_call_end(world, rc);
    struct ftc_process *process = world->process;
    ftc_call_enter(world);
    ftc_comm_engine_free(process, NULL);
    ftc_call_leave(world);
    if (!ftc_comm_is_revoked(world))
        rc = ftc_call_run(world, &call, NULL);
    if (rc == FTC_ERR_REVOKED)
        rc = FTC_SUCCESS;
    if (rc == 0 && !process->alone)
        linger(world);
    destroy(process);
    return rc;
}

/* --- abort --- */

FTC_API int ftc_abort(ftc_comm *comm, int code)
{
    uint64_t none = 0;

    int rc = ftc_call_check_comm(comm);

    if (rc != 0)
        return rc;
    code = code >= 1 && code <= 255 ? code : 1;
    if (comm->process->alone)
        exit(code);
    FTC_LOG(&comm->process->log, FTC_LOG_ERROR, "ftc_abort: ending the job with code %d", code);
    atomic_compare_exchange_strong(&ftc_segment_header(comm->process->segment)->abort, &none,
                                   FTC_ABORT(comm->process->rank, code));
    ftc_bell_ring_launcher(&comm->process->bell);
    /* The launcher kills all ranks. If it does not, this rank at least fails. */
    struct timespec grace = {.tv_sec = ABORT_GRACE_NS / FTC_NS_PER_S};
    nanosleep(&grace, NULL);
    _exit(code);
}
