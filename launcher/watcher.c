/*
 * Watching the ranks.
 *
 * The watcher first looks at a child's exit with WNOWAIT. While the child is a zombie, its process
 * group cannot be reused, so what is left of the group can be killed safely. Only then the child is
 * reaped.
 */
#include "launcher/watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/board/board.h"
#include "node/jobs.h"

#define ADOPTED_PATIENCE                                                                           \
    12 /* timeouts: it is in ftc_init(), and if it is stopped there, no report comes */

static struct ftc_slot *slot_of(const struct ftc_watcher *watcher, int rank)
{
    return ftc_segment_slot(watcher->segment, rank);
}

static struct ftc_standing *standing_of(const struct ftc_watcher *watcher, int rank)
{
    return ftc_segment_standing(watcher->segment, rank);
}

static bool finalized(const struct ftc_watcher *watcher, int rank)
{
    return ftc_ranks_marked(watcher->ranks, watcher->segment, rank);
}

/* Has the rank set its mark, so that no rank can need an answer of it any more (agreement.md,
 * finalize)? Then its end is no failure. A rank that is killed while others still lack the mark may
 * owe them the decision. */
static bool departed(const struct ftc_watcher *watcher, int rank)
{
    if (!finalized(watcher, rank))
        return false;
    for (int other = 0; other < watcher->ranks->count; other++)
        if (!watcher->ranks->at[other].failed && !finalized(watcher, other))
            return false;
    return true;
}

static bool killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* --- declaring --- */

static struct ftc_failure judge(const struct ftc_process *process, uint64_t now)
{
    struct ftc_failure failure = {.cause = FTC_CAUSE_EXIT,
                                  .detail = -1,
                                  .seen_by = -1,
                                  .suspected_ns = process->suspected_ns,
                                  .declared_ns = now};
    bool by_ftrun =
        process->reason != FTC_CAUSE_NONE && (!process->child_ended || killed(process->status));
    if (by_ftrun) {
        failure.cause = process->reason;
        failure.detail = SIGKILL;
        failure.seen_by = process->accuser;
    } else if (process->child_ended && WIFSIGNALED(process->status)) {
        failure.cause = FTC_CAUSE_SIGNAL;
        failure.detail = WTERMSIG(process->status);
    } else if (process->child_ended) {
        failure.detail = WEXITSTATUS(process->status);
    }
    return failure;
}

static void declare(struct ftc_watcher *watcher, int rank, const struct ftc_failure *failure)
{
    ftc_segment_declare(watcher->segment, rank, failure);
    ftc_bell_ring_all(watcher->bell);
    ftc_board_ring_all(watcher->segment);
    watcher->ranks->at[rank].failed = true;
    watcher->ranks->failed++;
    watcher->ranks->at[rank].failure = *failure;
    if (watcher->failed != NULL)
        watcher->failed(watcher->arg, rank);
}

/* The end of the rank is known. Decide whether it is a failure. */
static void conclude(struct ftc_watcher *watcher, int rank)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    bool failure = ftc_watch_exited(&watcher->watch, rank, departed(watcher, rank));
    if (!failure || watcher->ending)
        return;
    struct ftc_failure what = judge(process, ftc_clock_now());
    declare(watcher, rank, &what);
}

static void count_end(struct ftc_watcher *watcher, const struct ftc_process *process)
{
    if (process->ended && process->child_ended)
        watcher->ranks->running--;
}

/* No process of the rank can act any more. */
static void end_rank(struct ftc_watcher *watcher, int rank, uint64_t now)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    if (process->ended)
        return;
    process->ended = true;
    process->ended_ns = now;
    if (process->suspected_ns == 0)
        process->suspected_ns = now;
    process->silent = !process->joined && process->child_ended && WIFEXITED(process->status) &&
                      WEXITSTATUS(process->status) == 0;
    /* With detector.exit_notices = off, only the heartbeat that stands still makes the end known.
     * Tests try that way by it. */
    bool wait_for_heartbeat = !watcher->exit_notices && process->joined &&
                              process->reason == FTC_CAUSE_NONE && !departed(watcher, rank);
    if (!wait_for_heartbeat)
        conclude(watcher, rank);
    count_end(watcher, process);
}

/* --- joining --- */

static void on_joined_ended(struct ev_loop *loop, struct ev_io *io, int events)
{
    struct ftc_watcher *watcher = io->data;
    int rank = (int)(io - watcher->joined);
    struct ftc_process *process = &watcher->ranks->at[rank];
    (void)events;
    ev_io_stop(loop, io);
    process->joined_ended = true;
    close(process->joined_fd);
    process->joined_fd = -1;
    end_rank(watcher, rank, ftc_clock_now());
    if (watcher->changed != NULL)
        watcher->changed(watcher->arg);
}

/* Where no pidfd can be opened, look_at_joined() tries again on every tick. */
static void open_joined(struct ftc_watcher *watcher, int rank)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    struct ev_io *io = &watcher->joined[rank];
    int fd = (int)syscall(SYS_pidfd_open, process->joined_pid, 0);
    if (fd < 0)
        return;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    /* The process has ended, so this may be a pidfd of another process. */
    if (ftc_process_life(process->joined_pid, process->joined_start) == FTC_LIFE_GONE) {
        close(fd);
        return;
    }
    /* The pid may have been believed only because nothing could be seen of the process. */
    if (!ftc_ranks_may_join(watcher->ranks, rank, process->joined_pid, process->joined_start)) {
        process->joined_pid = 0; /* nonsense: the child's end decides */
        close(fd);
        return;
    }
    process->joined_fd = fd;
    ev_io_init(io, on_joined_ended, fd, EV_READ);
    ev_set_priority(io, EV_MAXPRI);
    io->data = watcher;
    ev_io_start(watcher->loop, io);
}

/* A descendant of the child has joined. The end of the rank is the end of that process. */
static void adopt(struct ftc_watcher *watcher, int rank, pid_t pid, uint64_t start)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    if (start == 0) /* the process has not written its start time yet, or could not read it */
        start = ftc_process_start(pid);
    if (!ftc_ranks_may_join(watcher->ranks, rank, pid, start))
        return; /* nonsense: the child's end decides */
    process->joined_pid = pid;
    process->joined_start = start;
    open_joined(watcher, rank);
}

static void look_at_joining(struct ftc_watcher *watcher, int rank)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    struct ftc_slot *slot = slot_of(watcher, rank);
    struct ftc_standing *standing = standing_of(watcher, rank);
    if (process->joined ||
        atomic_load_explicit(&standing->phase, memory_order_acquire) == FTC_PHASE_SPAWNED)
        return;
    pid_t pid = atomic_load_explicit(&standing->pid, memory_order_relaxed);
    process->joined = true;
    watcher->ranks->any_joined = true;
    if (pid != process->child && !process->ended && !process->adopted)
        adopt(watcher, rank, pid, atomic_load_explicit(&slot->pid_start, memory_order_relaxed));
}

/* The status is known only where Linux tells it (ftc_process_status()). Otherwise others are told
 * only that the rank has ended. */
static void on_adopted_ended(struct ev_loop *loop, struct ev_io *io, int events)
{
    struct ftc_watcher *watcher = io->data;
    int rank = (int)(io - watcher->joined);
    struct ftc_process *process = &watcher->ranks->at[rank];
    bool known = ftc_process_status(process->joined_fd, process->joined_pid, &process->status);
    (void)events;
    ev_io_stop(loop, io);
    look_at_joining(watcher, rank);
    process->joined_ended = true;
    process->child_ended = known;
    close(process->joined_fd);
    process->joined_fd = -1;
    end_rank(watcher, rank, ftc_clock_now());
    if (!known) {
        process->child_ended = true;
        count_end(watcher, process);
    }
    ftc_ranks_publish_end(watcher->segment, rank, process->status);
    if (watcher->changed != NULL)
        watcher->changed(watcher->arg);
}

/* A process that joined has no pidfd: is it still there? It has ended only if it is known to be
 * gone. */
static void look_at_joined(struct ftc_watcher *watcher, int rank, uint64_t now)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    if (process->joined_pid == 0 || process->joined_ended || process->joined_fd >= 0)
        return;
    if (ftc_process_life(process->joined_pid, process->joined_start) != FTC_LIFE_GONE) {
        open_joined(watcher, rank);
        if (process->child_ended) /* the SIGKILL at the end of the child came too early for it */
            ftc_ranks_signal(watcher->ranks, rank, SIGKILL);
        return;
    }
    process->joined_ended = true;
    /* ftrun did not see it end, so another process may be the one that joined. The end of the child
     * decides. */
    if (!process->child_ended && process->child > 0 && !finalized(watcher, rank))
        (void)kill(-process->child, SIGKILL);
    else
        end_rank(watcher, rank, now);
}

/* A descendant that left the group may be about to join. From here on it cannot join. A descendant
 * that is joining just now counts as joined: it must be seen to be gone before the rank is
 * declared. */
static void close_joining(struct ftc_watcher *watcher, int rank)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    int32_t nobody = 0;
    if (process->joined ||
        atomic_compare_exchange_strong(&standing_of(watcher, rank)->pid, &nobody, FTC_PID_CLOSED))
        return;
    if (nobody > 0 && nobody != process->child)
        adopt(watcher, rank, nobody, 0);
}

/* --- children --- */

static void child_ended(struct ftc_watcher *watcher, int rank, int status)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    pid_t child = process->child;
    uint64_t now = ftc_clock_now();
    bool ended_before = process->ended; /* the process that joined ended before the child */
    process->child_ended = true;
    process->status = status;
    look_at_joining(watcher, rank);
    (void)kill(-child, SIGKILL); /* descendants must not outlive the rank, or join in its place */
    close_joining(watcher, rank);
    look_at_joined(watcher, rank, now);
    bool elsewhere = process->joined_pid != 0 && !process->joined_ended;
    if (elsewhere)
        ftc_ranks_signal(watcher->ranks, rank, SIGKILL); /* its pidfd tells when it is gone */
    ftc_ranks_publish_end(watcher->segment, rank, status);
    if (ended_before)
        count_end(watcher, process);
    else if (!elsewhere)
        end_rank(watcher, rank, now);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    process->child = 0;
}

static int wait_status(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return W_EXITCODE(info->si_status, 0);
    return W_EXITCODE(0, info->si_status);
}

/* Take the news of one child. False: there is none. */
static bool next_child(struct ftc_watcher *watcher)
{
    siginfo_t info = {.si_pid = 0};
    int events = WEXITED | WSTOPPED | WCONTINUED | WNOHANG;
    if (waitid(P_ALL, 0, &info, events | WNOWAIT) != 0 || info.si_pid == 0)
        return false;
    int rank = ftc_ranks_find(watcher->ranks, info.si_pid);
    if (rank >= 0 &&
        (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)) {
        child_ended(watcher, rank, wait_status(&info));
        return true;
    }
    if (rank >= 0) {
        uint64_t now = ftc_clock_now();
        ftc_watch_stopped(&watcher->watch, rank, info.si_code == CLD_STOPPED, now);
        if (info.si_code == CLD_STOPPED)
            watcher->ranks->at[rank].stopped_ns = now;
    }
    /* Take the news, so that waitid() does not report it again. Take that of a stranger, too: a
     * child that this process had before its exec. */
    (void)waitid(P_PID, (id_t)info.si_pid, &info, events);
    return true;
}

static void on_child(struct ev_loop *loop, struct ev_signal *signal, int events)
{
    struct ftc_watcher *watcher = signal->data;
    (void)loop;
    (void)events;
    while (next_child(watcher))
        continue;
    if (watcher->changed != NULL)
        watcher->changed(watcher->arg);
}

/* --- suspicion --- */

static enum ftc_failure_cause cause_of(enum ftc_suspicion suspicion)
{
    switch (suspicion) {
    case FTC_SUSPECT_STOPPED:
        return FTC_CAUSE_STOPPED;
    case FTC_SUSPECT_ACCUSED:
        return FTC_CAUSE_ACCUSED;
    default:
        return FTC_CAUSE_STALLED;
    }
}

/* For ftcoll-status. Ranks read this cache line with each message that comes, so it is written only
 * when the count has changed. */
static void publish_suspicions(struct ftc_watcher *watcher, int rank)
{
    struct ftc_slot *slot = slot_of(watcher, rank);
    uint32_t count = watcher->watch.entry[rank].suspicions;
    if (atomic_load_explicit(&slot->suspicions, memory_order_relaxed) != count)
        atomic_store_explicit(&slot->suspicions, count, memory_order_relaxed);
}

static void count_fencing(struct ftc_watcher *watcher, int rank)
{
    uint32_t count = ++watcher->ranks->at[rank].fencings;
    atomic_store_explicit(&slot_of(watcher, rank)->fencings, count, memory_order_relaxed);
}

static void fence(struct ftc_watcher *watcher, int rank)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    const struct ftc_watch_entry *entry = &watcher->watch.entry[rank];
    if (process->reason == FTC_CAUSE_NONE) {
        process->reason = cause_of(entry->suspicion);
        process->accuser = entry->suspicion == FTC_SUSPECT_ACCUSED ? entry->accuser : -1;
    }
    process->suspected_ns = entry->suspected_ns;
    publish_suspicions(watcher, rank);
    if (process->ended) { /* exit_notices = off: its heartbeat now tells that it is dead */
        struct ftc_failure failure = judge(process, ftc_clock_now());
        failure.cause = FTC_CAUSE_STALLED;
        failure.detail = 0;
        if (ftc_watch_exited(&watcher->watch, rank, false) && !watcher->ending)
            declare(watcher, rank, &failure);
        return;
    }
    count_fencing(watcher, rank); /* count it before its end can be seen */
    ftc_ranks_signal(watcher->ranks, rank, SIGKILL);
}

static void feed(struct ftc_watcher *watcher, int rank, uint64_t now)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    struct ftc_slot *slot = slot_of(watcher, rank);
    if (process->adopted && !process->joined && watcher->watch.fence &&
        now - process->beat_ns > ADOPTED_PATIENCE * watcher->watch.timeout_ns)
        (void)ftc_watcher_kill(watcher, rank, FTC_CAUSE_STALLED);
    if (!process->joined)
        return;
    uint64_t heartbeat = atomic_load_explicit(&slot->heartbeat, memory_order_relaxed);
    if (process->beat_ns == 0 || process->heartbeat != heartbeat)
        process->beat_ns = now;
    process->heartbeat = heartbeat;
    ftc_watch_heartbeat(&watcher->watch, rank, heartbeat, now);
    int accused = ftc_slot_names(atomic_load_explicit(&slot->accused, memory_order_acquire),
                                 watcher->ranks->count);
    if (accused < 0 || accused == rank || process->failed)
        return;
    if (ftc_segment_is_local(watcher->segment, accused))
        ftc_watch_accused(&watcher->watch, accused, rank, now);
    else if (!watcher->ranks->at[accused].failed)
        watcher->accused_elsewhere(watcher->arg, accused, rank);
}

/* When all ranks that live have finalized, no rank needs an answer any more. So a program may take
 * its time to exit. */
static void release_finalized(struct ftc_watcher *watcher)
{
    for (int rank = 0; rank < watcher->ranks->count; rank++)
        if (!watcher->ranks->at[rank].failed && !finalized(watcher, rank))
            return;
    for (int rank = watcher->watch.first; rank < watcher->watch.end; rank++)
        ftc_watch_released(&watcher->watch, rank);
}

static void report_suspects(struct ftc_watcher *watcher)
{
    for (int rank = watcher->watch.first; rank < watcher->watch.end; rank++) {
        publish_suspicions(watcher, rank);
        struct ftc_process *process = &watcher->ranks->at[rank];
        bool suspect = ftc_watcher_suspects(watcher, rank);
        if (suspect && !process->warned && watcher->suspected != NULL)
            watcher->suspected(watcher->arg, rank);
        process->warned = suspect;
    }
}

/* Steps in the order that detector/watch.h asks for. */
static void look(struct ftc_watcher *watcher)
{
    uint64_t now = ftc_clock_now();
    ftc_segment_restore_failures(watcher->segment);
    ftc_watch_tick(&watcher->watch, now);
    for (int rank = watcher->watch.first; rank < watcher->watch.end; rank++) {
        if (!watcher->ranks->at[rank].started)
            continue;
        look_at_joining(watcher, rank);
        look_at_joined(watcher, rank, now);
        feed(watcher, rank, now);
    }
    release_finalized(watcher);
    for (int rank; (rank = ftc_watch_next_to_fence(&watcher->watch, now)) >= 0;)
        fence(watcher, rank);
    if (!watcher->watch.fence)
        report_suspects(watcher);
    if (watcher->changed != NULL)
        watcher->changed(watcher->arg);
}

static void on_rung(struct ev_loop *loop, struct ev_io *io, int events)
{
    struct ftc_watcher *watcher = io->data;
    (void)loop;
    (void)events;
    ftc_bell_drain(watcher->bell);
    look(watcher);
}

static void on_tick(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct ftc_watcher *watcher = timer->data;
    (void)loop;
    (void)events;
    while (next_child(watcher)) /* in case a SIGCHLD was lost */
        continue;
    look(watcher);
}

/* --- interface --- */

int ftc_watcher_init(struct ftc_watcher *watcher, struct ev_loop *loop, struct ftc_ranks *ranks,
                     struct ftc_segment *segment, struct ftc_bell *bell,
                     const struct ftc_config *config)
{
    *watcher = (struct ftc_watcher){
        .ranks = ranks, .segment = segment, .bell = bell, .exit_notices = config->exit_notices};
    watcher->joined = calloc((size_t)ranks->count, sizeof(*watcher->joined));
    if (watcher->joined == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d ranks", ranks->count);
    int rc = ftc_watch_init(&watcher->watch, ranks->count,
                            (uint64_t)config->heartbeat_period_ms * FTC_NS_PER_MS,
                            (uint64_t)config->heartbeat_timeout_ms * FTC_NS_PER_MS, config->fence);
    if (rc != FTC_SUCCESS)
        return rc;
    watcher->loop = loop;
    double period = (double)config->heartbeat_period_ms / 2000;
    ev_signal_init(&watcher->child, on_child, SIGCHLD);
    ev_io_init(&watcher->rung, on_rung, bell->fd, EV_READ);
    ev_timer_init(&watcher->tick, on_tick, period, period);
    ev_set_priority(&watcher->child, EV_MAXPRI);
    ev_set_priority(&watcher->rung, EV_MAXPRI);
    ev_set_priority(&watcher->tick, EV_MAXPRI);
    watcher->child.data = watcher->rung.data = watcher->tick.data = watcher;
    ev_signal_start(loop, &watcher->child);
    ev_io_start(loop, &watcher->rung);
    ev_timer_start(loop, &watcher->tick);
    return FTC_SUCCESS;
}

void ftc_watcher_fini(struct ftc_watcher *watcher)
{
    if (watcher->loop != NULL) {
        ev_signal_stop(watcher->loop, &watcher->child);
        ev_io_stop(watcher->loop, &watcher->rung);
        ev_timer_stop(watcher->loop, &watcher->tick);
        for (int rank = 0; rank < watcher->ranks->count; rank++)
            if (ev_is_active(&watcher->joined[rank]))
                ev_io_stop(watcher->loop, &watcher->joined[rank]);
        ftc_watch_fini(&watcher->watch);
    }
    free(watcher->joined);
    *watcher = (struct ftc_watcher){0};
}

void ftc_watcher_started(struct ftc_watcher *watcher, int rank, pid_t child)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    uint64_t now = ftc_clock_now();
    process->child = process->group = child;
    process->child_start = ftc_process_start(child);
    process->started = true;
    watcher->ranks->running++;
    ftc_ranks_publish_start(watcher->segment, rank, child, process->child_start, now);
    ftc_watch_started(&watcher->watch, rank, now);
}

void ftc_watcher_adopted(struct ftc_watcher *watcher, int rank, pid_t pid, uint64_t start, int fd)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    struct ev_io *io = &watcher->joined[rank];
    uint64_t now = ftc_clock_now();
    process->adopted = process->started = true;
    process->joined_pid = pid;
    process->joined_start = process->child_start = start;
    process->joined_fd = fd;
    process->beat_ns = now;
    watcher->ranks->running++;
    ftc_ranks_publish_start(watcher->segment, rank, pid, start, now);
    ftc_watch_started(&watcher->watch, rank, now);
    ev_io_init(io, on_adopted_ended, fd, EV_READ);
    ev_set_priority(io, EV_MAXPRI);
    io->data = watcher;
    ev_io_start(watcher->loop, io);
}

void ftc_watcher_not_started(struct ftc_watcher *watcher, int rank, int error)
{
    uint64_t now = ftc_clock_now();
    struct ftc_failure failure = {.cause = FTC_CAUSE_LAUNCH,
                                  .detail = error,
                                  .seen_by = -1,
                                  .suspected_ns = now,
                                  .declared_ns = now};
    watcher->ranks->at[rank].ended_ns = now;
    declare(watcher, rank, &failure);
}

bool ftc_watcher_kill(struct ftc_watcher *watcher, int rank, enum ftc_failure_cause cause)
{
    struct ftc_process *process = &watcher->ranks->at[rank];
    if (!process->started || process->ended)
        return false;
    if (process->reason == FTC_CAUSE_NONE) {
        process->reason = cause;
        process->suspected_ns = ftc_clock_now();
    }
    return ftc_ranks_signal(watcher->ranks, rank, SIGKILL);
}

void ftc_watcher_accused(struct ftc_watcher *watcher, int rank, int accuser)
{
    ftc_watch_accused(&watcher->watch, rank, accuser, ftc_clock_now());
}

void ftc_watcher_settle(struct ftc_watcher *watcher)
{
    for (int rank = 0; rank < watcher->ranks->count; rank++)
        if (watcher->ranks->at[rank].started && watcher->ranks->at[rank].ended)
            conclude(watcher, rank);
}

bool ftc_watcher_suspects(const struct ftc_watcher *watcher, int rank)
{
    return !watcher->watch.fence && watcher->watch.entry[rank].state == FTC_WATCH_SUSPECTED;
}
