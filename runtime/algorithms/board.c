/* Collective calls on the node board. */
#include "runtime/algorithms/table.h"

#include <linux/membarrier.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "node/system/futex.h"
#include "runtime/comm/mismatch.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/peer_memory.h"
#include "runtime/process/progress.h"
#include "runtime/process/turn.h"

/* --- host --- */

static void look(void *arg)
{
    struct ftc_comm *comm = arg;

    if (ftc_drill_deaf(&comm->board_drill))
        return;
    ftc_board_take_failures(comm->board);
    comm->board_drill.heard_ns = 0;
    if (ftc_set_has(ftc_board_known(comm->board), comm->rank))
        ftc_process_leave(comm->process, FTC_EXIT_FENCED, "this process was declared failed");
}

/* With the lock, since a revoke in another thread replaces the member. */
static void look_for_mismatch(struct ftc_comm *comm)
{
    ftc_turn_lock(comm->process);
    ftc_job_look_for_mismatch(comm);
    ftc_turn_unlock(comm->process);
}

static void asleep(void *arg, bool asleep)
{
    struct ftc_comm *comm = arg;

    if (asleep)
        ftc_publish_shown(comm);
    else
        look_for_mismatch(comm);
    comm->shown = true;
}

_Noreturn static void mismatch(void *arg, int rank, const struct ftc_signature *theirs)
{
    struct ftc_comm *comm = arg;
    struct ftc_board_activity now;
    char words[FTC_MISMATCH_WORDS];

    ftc_board_activity(comm->board, &now);
    if (ftc_signature_equal(theirs, now.signature))
        snprintf(words, sizeof(words),
                 "before operation %llu, ranks %d and %d called different broadcasts or reduces",
                 (unsigned long long)now.op, rank, comm->rank);
    else
        ftc_mismatch_words(words, now.op, rank, theirs, comm->rank, now.signature);
    ftc_comm_end_mismatched(comm, words);
}

/* The launcher fences the accused rank, as it does with one that has damaged a ring of messages. */
static void accuse(void *arg, int rank, const char *what)
{
    struct ftc_comm *comm = arg;
    bool locked = comm->moves_locked;

    if (!locked)
        ftc_turn_lock(comm->process);
    ftc_comm_accuse(comm, rank, what);
    if (!locked)
        ftc_turn_unlock(comm->process);
}

_Noreturn static void damaged(void *arg, const char *what)
{
    struct ftc_comm *comm = arg;

    ftc_process_leave(comm->process, FTC_EXIT_CORRUPT, what);
}

/* An error of the system, such as a full /dev/shm, will hit every rank of the node: it ends the
 * job. A lack of memory may concern this rank alone: it ends this process. */
_Noreturn static void exhausted(void *arg, int error)
{
    struct ftc_comm *comm = arg;

    if (error == FTC_ERR_NOMEM)
        ftc_process_leave(comm->process, FTC_EXIT_INTERNAL, ftc_last_error());
    ftc_process_end_job(comm->process, FTC_EXIT_INTERNAL, ftc_last_error());
}

FTC_HOT static void pass(void *arg, enum ftc_board_point point)
{
    struct ftc_comm *comm = arg;

    /* The others' posts are on their way: time costs nothing here. A started operation has its own
     * record. */
    if (point == FTC_BOARD_POSTED && !ftc_mover_has_work(comm))
        ftc_publish_recorded(comm);
    ftc_drill_pass(&comm->process->drill,
                   point == FTC_BOARD_POSTED ? FTC_DRILL_SEND : FTC_DRILL_DELIVER);
}

static bool sleep_on(void *arg, _Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    (void)arg;
    return ftc_futex_wait(word, expected, timeout_ns);
}

static void wake(void *arg, _Atomic uint32_t *word, int count)
{
    (void)arg;
    ftc_futex_wake(word, count);
}

static bool fence_all(void *arg)
{
    (void)arg;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

static bool allow_copies(void *arg, int rank)
{
    struct ftc_comm *comm = arg;

    return ftc_peer_allow(comm->process, &comm->peers, ftc_comm_job_rank(comm, rank));
}

static enum ftc_board_copied copy_from(void *arg, int rank, void *to, uint64_t address, size_t size)
{
    struct ftc_comm *comm = arg;

    return ftc_peer_copy_from(comm->process, &comm->peers, ftc_comm_job_rank(comm, rank), to,
                              address, size);
}

static enum ftc_board_copied copy_to(void *arg, int rank, uint64_t address, const void *from,
                                     size_t size)
{
    struct ftc_comm *comm = arg;

    return ftc_peer_copy_to(comm->process, &comm->peers, ftc_comm_job_rank(comm, rank), address,
                            from, size);
}

/* --- life --- */

static int check_nodes(const struct ftc_comm *comm)
{
    int nodes = comm->choice.nodes;

    if (nodes == 1)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_CONFIG,
                         "collectives.algorithm is board, in memory that ranks of one node share, "
                         "and this job has %d "
                         "nodes: set it to auto or corrected",
                         nodes);
}

static int board_open(struct ftc_comm *comm)
{
    if (ftc_config_algorithm(&comm->process->config, comm->choice.nodes) ==
            FTC_ALGORITHM_CORRECTED ||
        (comm->job_ranks != NULL && (comm->file == NULL || comm->choice.nodes > 1)))
        return FTC_SUCCESS;
    int rc = check_nodes(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    comm->board_drill = comm->process->drill;
    struct ftc_board_setup setup = {
        .segment = comm->process->segment,
        .file = comm->file,
        .ranks = comm->size,
        .rank_of = comm->rank_of,
        .communicator = comm->driven.number,
        .rank = comm->rank,
        .share = comm->process->config.share,
        .spins = comm->process->patience.spins,
        .yields = comm->process->patience.board_yields,
        .longest_ns = (uint64_t)comm->process->config.heartbeat_period_ms * FTC_NS_PER_MS,
        .light = comm->size <= comm->process->processors,
        .fenced_by_others =
            syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0,
        .host = {.arg = comm,
                 .look = look,
                 .asleep = asleep,
                 .mismatch = mismatch,
                 .accuse = accuse,
                 .damaged = damaged,
                 .exhausted = exhausted,
                 .pass = pass,
                 .allow_copies = allow_copies,
                 .copy_from = copy_from,
                 .copy_to = copy_to,
                 .sleep = sleep_on,
                 .wake = wake,
                 .fence_all = fence_all}};
    comm->shown = true; /* so a rank that never sleeps has published a call, too */
    rc = ftc_board_open(&comm->board, &setup);
    if (rc == FTC_SUCCESS && comm->job_ranks != NULL) /* a child begins with a G: C4 */
        ftc_board_decided(comm->board, 0, ftc_member_agreed_failed(comm->member));
    return rc;
}

FTC_HOT int ftc_board_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_CALL);
    ftc_publish_ran(comm, FTC_CHOICE_BOARD);
    ftc_publish_called(comm, ftc_board_operations(comm->board) + 1);
    int rc = ftc_board_call(comm->board, call, receive);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_DELIVER);
    ftc_publish_counted(comm);
    if (comm->shown)
        ftc_publish_shown(comm);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_RETURN);
    return rc;
}

static void board_close(struct ftc_comm *comm)
{
    ftc_board_close(comm->board);
    comm->board = NULL;
    ftc_peers_free(&comm->peers);
}

/* agreement.md, "Damaged posts". A rank looks at its own marks on the board before it sleeps, also
 * if it waits for something beside the board. */
static void sleeps(struct ftc_comm *comm)
{
    bool leave;

    if (comm->board == NULL)
        return;
    if (ftc_mover_peek(comm, &leave))
        ftc_board_check_own(comm->board);
    ftc_mover_end_peek(comm, leave);
}

const struct ftc_algorithm ftc_algorithm_board = {
    .open = board_open,
    .close = board_close,
    .sleeps = sleeps,
};
