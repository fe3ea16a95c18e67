/* Moves on the operations that were started on a board. */
#include "runtime/comm/mover.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "base/cpu.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/publish.h"
#include "runtime/process/progress.h"
#include "runtime/process/thread.h"
#include "runtime/process/turn.h"

#define PAUSES 100 /* while another thread moves; then this one gives way */

/* --- one mover --- */

/* The other one only does what can be done at once. */
FTC_HOT static void become_mover(struct ftc_comm *comm)
{
    for (int pauses = 0; !ftc_mover_try(comm); pauses++) {
        if (pauses < PAUSES)
            ftc_cpu_relax();
        else
            sched_yield();
    }
}

/* --- starting --- */

static void watch(struct ftc_comm *comm)
{
    ftc_turn_lock(comm->process);
    comm->process->engine_ops->watch(comm);
    ftc_turn_unlock(comm->process);
}

/* The first of several. Steps, and the thread of the library, stop to look for work only if they
 * have found none after they have stored that they stop. So this looks for them after it has stored
 * that there is work. */
static void begin(struct ftc_comm *comm)
{
    struct ftc_process *process = comm->process;

    atomic_store(&comm->on_board, 1);
    atomic_fetch_add(&process->on_boards, 1);
    if (!atomic_load(&comm->watched)) /* one that has a queue is */
        watch(comm);
    if (!atomic_load(&process->thread.moves))
        ftc_thread_nudge(process);
}

FTC_HOT static void start(struct ftc_comm *comm, struct ftc_queued_operation *operation)
{
    int count = atomic_load_explicit(&comm->on_board, memory_order_relaxed);

    if (count == 0)
        begin(comm);
    else
        atomic_store_explicit(&comm->on_board, count + 1, memory_order_release);
    atomic_store_explicit(&operation->state, FTC_QUEUED_ON_BOARD, memory_order_release);
    ftc_board_start(comm->board, &operation->on_board);
    ftc_publish_called(comm, ftc_board_operations(comm->board));
    ftc_publish_request_posted(comm, operation);
}

FTC_HOT void ftc_mover_start(struct ftc_comm *comm, struct ftc_queued_operation *operation)
{
    atomic_ulong *started = &comm->process->thread.started;

    ftc_drill_pass(&comm->process->drill, FTC_DRILL_CALL);
    become_mover(comm);
    if (!ftc_finished_is_kept(comm)) /* what the board would tell of is soon another operation */
        ftc_finished_hold(comm);
    start(comm, operation);
    ftc_mover_leave(comm);
    atomic_store_explicit(started, atomic_load_explicit(started, memory_order_relaxed) + 1,
                          memory_order_relaxed); /* it only needs to change */
}

/* Until all are started the caller must not become the mover, which may wait for the lock. */
void ftc_mover_start_queued(struct ftc_comm *comm)
{
    become_mover(comm);
    while (comm->queue.first != NULL && comm->queue.first->by_board)
        start(comm, ftc_queue_take_first(comm));
    ftc_mover_leave(comm);
}

/* --- moving --- */

FTC_HOT static void keep(const struct ftc_comm *comm, struct ftc_finished *finished)
{
    struct ftc_board_report report;

    ftc_board_report(comm->board, &report);
    if (finished->failed.size == 0)
        ftc_progress_must(comm->process, ftc_set_init(&finished->failed, comm->size));
    ftc_set_copy(&finished->failed, report.failed);
    finished->report = (struct ftc_member_report){
        .write_offs = report.write_offs, .ballots = report.starts, .retries = report.restarts};
    finished->report.failed = &finished->failed;
    finished->signature = report.signature;
    finished->ran = FTC_CHOICE_BOARD;
    finished->lost = 0;
    finished->paired = false;
}

static struct ftc_queued_operation *of_board(struct ftc_board_operation *on_board)
{
    return (void *)((char *)on_board - offsetof(struct ftc_queued_operation, on_board));
}

/* The operation has ended. After the last one the board may be in a call, so nothing of it is
 * touched. */
FTC_HOT static void end(struct ftc_comm *comm, struct ftc_board_operation *on_board)
{
    struct ftc_queued_operation *operation = of_board(on_board);
    int left = atomic_load_explicit(&comm->on_board, memory_order_relaxed) - 1;

    keep(comm, operation->finished);
    operation->status = on_board->status;
    ftc_publish_ran(comm, FTC_CHOICE_BOARD);
    ftc_publish_counted(comm);
    if (on_board->status != FTC_ERR_REVOKED)
        ftc_publish_request_decided(comm, operation);
    if (left == 0)
        atomic_fetch_sub(&comm->process->on_boards, 1);
    atomic_store_explicit(&comm->on_board, left, memory_order_release);
    atomic_store_explicit(&operation->state, FTC_QUEUED_ENDED, memory_order_release);
}

/* True: one has ended. */
FTC_HOT static bool advance(struct ftc_comm *comm)
{
    struct ftc_board_operation *ended = NULL;
    bool any = false;

    while (ftc_mover_has_work(comm) && (ended = ftc_board_advance(comm->board)) != NULL) {
        end(comm, ended);
        any = true;
    }
    if (ended == NULL && ftc_mover_has_work(comm) && !any)
        ftc_board_check_own(comm->board);
    return any;
}

bool ftc_mover_step(struct ftc_comm *comm)
{
    if (!ftc_mover_has_work(comm) || !ftc_mover_try(comm))
        return false;
    comm->moves_locked = true;
    bool any = advance(comm);
    comm->moves_locked = false;
    ftc_mover_leave(comm);
    return any;
}

void ftc_mover_test(struct ftc_comm *comm)
{
    if (!ftc_mover_try(comm))
        return;
    advance(comm);
    ftc_mover_leave(comm);
}

FTC_HOT static bool has_ended(const struct ftc_comm *comm,
                              const struct ftc_queued_operation *operation)
{
    return operation != NULL ? ftc_queued_has_ended(operation) : !ftc_mover_has_work(comm);
}

/* Its record shows for whom it waits. */
FTC_HOT static struct ftc_board_operation *wait_for_first(struct ftc_comm *comm)
{
    comm->recording = of_board(ftc_board_under_way(comm->board))->record;
    struct ftc_board_operation *first = ftc_board_wait(comm->board);
    comm->recording = &comm->history;
    return first;
}

FTC_HOT void ftc_mover_wait(struct ftc_comm *comm, const struct ftc_queued_operation *operation)
{
    if (has_ended(comm, operation))
        return;
    become_mover(comm);
    while (!has_ended(comm, operation))
        end(comm, wait_for_first(comm));
    (void)advance(comm);
    ftc_mover_leave(comm);
    if (comm->shown)
        ftc_publish_shown(comm);
}

void ftc_mover_close(struct ftc_comm *comm)
{
    become_mover(comm);
    comm->moves_locked = true;
    while (ftc_mover_has_work(comm))
        (void)advance(comm);
    ftc_board_close(comm->board);
    comm->board = NULL;
    ftc_peers_free(&comm->peers);
    comm->moves_locked = false;
    ftc_mover_leave(comm);
}
