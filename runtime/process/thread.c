/* The progress thread, on libev. */
#include "runtime/process/thread.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/jobs.h"
#include "runtime/process/gate.h"
#include "runtime/process/heartbeat.h"
#include "runtime/process/progress.h"
#include "runtime/process/reach.h"
#include "runtime/process/turn.h"

/* A step takes in a message, and up to 64 datagrams. After so many steps the heartbeat has its
 * turn. */
#define STEPS_PER_DRIVE 4

#define MOVE_S      .001 /* between two looks at what is under way on boards */
#define QUIET_TICKS 100  /* so many looks in vain, before the thread looks no more */

/* Sets the loop's timer to process->timer_ns, which the caller may have changed. With the lock
 * held. */
static void arm_due(struct ftc_process *process)
{
    struct ftc_thread *t = &process->thread;
    uint64_t now = ftc_clock_now();

    ev_timer_stop(t->loop, &t->due);
    t->armed_ns = process->timer_ns;
    if (process->timer_ns == 0)
        return;
    double after = process->timer_ns > now ? (double)(process->timer_ns - now) / 1e9 : 0.;
    ev_now_update(t->loop);
    ev_timer_set(&t->due, after, 0.);
    ev_timer_start(t->loop, &t->due);
}

static bool is_wanted(struct ftc_process *process)
{
    return atomic_load_explicit(&process->turn.wanted, memory_order_relaxed) > 0;
}

/* If the caller is in the library it does all this itself. When it gives back the lock it sees
 * `missed`, and nudges the thread. The thread must not wait for the lock: that would stop the
 * heartbeat. */
static void drive(struct ftc_process *process)
{
    if (!ftc_turn_try(process)) {
        atomic_store(&process->thread.missed, true);
        if (!ftc_turn_try(process))
            return;
    }
    atomic_store(&process->thread.missed, false);
    enum ftc_sleep sleep = ftc_progress_sleep(process);
    ftc_bell_outside(&process->bell, sleep);
    int steps = 0;
    while (steps < STEPS_PER_DRIVE && !is_wanted(process) && ftc_progress_step(process))
        steps++;
    if (is_wanted(process)) /* there may be more: the one that takes the lock nudges this thread */
        atomic_store(&process->thread.missed, true);
    for (struct ftc_driven *driven = process->driven; driven != NULL; driven = driven->next)
        driven->ops->rests(driven);
    ftc_reach_publish(process);
    arm_due(process);
    bool again = steps == STEPS_PER_DRIVE || sleep != ftc_progress_sleep(process);
    pthread_mutex_unlock(&process->lock);
    if (again)
        ftc_thread_nudge(process);
}

/* Without waiting for the lock: a caller that holds it shows by itself what it does. */
static void beat(struct ftc_process *process)
{
    if (pthread_mutex_trylock(&process->lock) != 0)
        return;
    for (struct ftc_driven *driven = process->driven; driven != NULL; driven = driven->next)
        driven->ops->beat(driven);
    pthread_mutex_unlock(&process->lock);
}

static void on_beat(struct ev_loop *loop, ev_timer *watcher, int events)
{
    struct ftc_process *process = watcher->data;

    (void)loop;
    (void)events;
    ftc_heartbeat_beat(process);
    beat(process);
    if (process->thread.launcher_fd < 0)
        ftc_heartbeat_check_launcher(process);
    drive(process); /* in case a ring got lost */
}

static void on_due(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop;
    (void)events;
    drive(watcher->data);
}

static void on_bell(struct ev_loop *loop, ev_io *watcher, int events)
{
    struct ftc_process *process = watcher->data;

    (void)loop;
    (void)events;
    ftc_bell_drain(&process->bell);
    drive(process);
}

static void on_launcher(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    ftc_process_leave(watcher->data, FTC_EXIT_ORPHANED, "the launcher is gone");
}

/* --- operations on boards --- */

/* Also while callers are in the library: the driver may be asleep, and the others wait for it. */
static void move(struct ftc_process *process)
{
    if (pthread_mutex_trylock(&process->lock) != 0)
        return; /* its holder moves them on */
    bool any = process->engine_ops->after(process);
    if (any)
        ftc_turn_changed(process);
    pthread_mutex_unlock(&process->lock);
    if (any)
        drive(process);
}

static bool have_boards_work(struct ftc_process *process)
{
    return atomic_load(&process->on_boards) > 0;
}

static void start_moving(struct ftc_process *process)
{
    struct ftc_thread *t = &process->thread;

    if (ev_is_active(&t->move) || !have_boards_work(process))
        return;
    t->quiet = 0;
    atomic_store(&t->moves, true);
    ev_now_update(t->loop);
    ev_timer_again(t->loop, &t->move);
}

/* Who starts an operation when `moves` is false nudges the thread. */
static void stop_moving(struct ftc_process *process)
{
    struct ftc_thread *t = &process->thread;

    atomic_store(&t->moves, false);
    if (have_boards_work(process))
        atomic_store(&t->moves, true);
    else
        ev_timer_stop(t->loop, &t->move);
}

static void on_move(struct ev_loop *loop, ev_timer *watcher, int events)
{
    struct ftc_process *process = watcher->data;
    struct ftc_thread *t = &process->thread;
    uint64_t started = atomic_load_explicit(&t->started, memory_order_relaxed);

    (void)loop;
    (void)events;
    if (have_boards_work(process)) {
        t->quiet = 0;
        move(process);
    } else if (started != t->started_seen) {
        t->quiet = 0;
    } else if (++t->quiet > QUIET_TICKS) {
        stop_moving(process);
    }
    t->started_seen = started;
}

static void on_nudge(struct ev_loop *loop, ev_async *watcher, int events)
{
    struct ftc_process *process = watcher->data;

    (void)events;
    if (atomic_load(&process->thread.stop))
        ev_break(loop, EVBREAK_ALL);
    else
        drive(process);
    start_moving(process);
    ftc_gate_nudged(process);
}

static void *run(void *arg)
{
    struct ftc_process *process = arg;

    pthread_setname_np(pthread_self(), "ftcoll");
    ftc_heartbeat_begin(process);
    ev_run(process->thread.loop, 0);
    return NULL;
}

/* A pidfd tells of the launcher's end at once. It needs the launcher's pid to be valid in this pid
 * namespace. Otherwise each beat looks for the launcher. */
static void watch_launcher(struct ftc_process *process)
{
    struct ftc_thread *t = &process->thread;
    const struct ftc_segment_header *header = ftc_segment_header(process->segment);

    if (header->pid_namespace == 0 || header->pid_namespace != ftc_process_namespace())
        return;
    t->launcher_fd = (int)syscall(SYS_pidfd_open, header->launcher_pid, 0);
    if (t->launcher_fd < 0)
        return;
    /* The pid may have been reused before pidfd_open(). Not so if the launcher is still alive. */
    ftc_heartbeat_check_launcher(process);
    ev_io_init(&t->launcher, on_launcher, t->launcher_fd, EV_READ);
    t->launcher.data = process;
    ev_io_start(t->loop, &t->launcher);
}

static void watch(struct ftc_process *process)
{
    struct ftc_thread *t = &process->thread;
    double period = (double)process->config.heartbeat_period_ms / 1e3;

    ev_timer_init(&t->beat, on_beat, 0., period);
    ev_timer_init(&t->due, on_due, 0., 0.);
    ev_io_init(&t->bell, on_bell, process->bell.fd, EV_READ);
    ev_timer_init(&t->move, on_move, 0., MOVE_S);
    ev_async_init(&t->nudge, on_nudge);
    t->beat.data = t->due.data = t->bell.data = t->nudge.data = t->move.data = process;
    ev_timer_start(t->loop, &t->beat);
    ev_io_start(t->loop, &t->bell);
    ev_async_start(t->loop, &t->nudge);
    watch_launcher(process);
}

/* The thread blocks all signals: they belong to the application, whose own threads take them. */
static int spawn(struct ftc_process *process)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&process->thread.id, NULL, run, process);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void drop(struct ftc_process *process)
{
    struct ftc_thread *t = &process->thread;

    if (t->launcher_fd >= 0)
        close(t->launcher_fd);
    ftc_gate_drop(process);
    ev_loop_destroy(t->loop);
}

int ftc_thread_start(struct ftc_process *process)
{
    struct ftc_thread *t = &process->thread;

    atomic_store(&t->stop, false);
    t->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (t->loop == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot make an event loop: %m; is the limit on open files reached?");
    t->launcher_fd = -1;
    int rc = ftc_gate_make(process, drive);
    if (rc != 0) {
        drop(process);
        return rc;
    }
    watch(process);
    rc = spawn(process);
    if (rc != 0) {
        drop(process);
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot start the progress thread: %s; raise the limit on processes",
                             strerror(rc));
    }
    t->running = true;
    return 0;
}

void ftc_thread_stop(struct ftc_process *process)
{
    struct ftc_thread *t = &process->thread;

    if (!t->running)
        return;
    atomic_store(&t->stop, true);
    ftc_thread_nudge(process);
    pthread_join(t->id, NULL);
    ftc_heartbeat_stop(process);
    drop(process);
    t->running = false;
}
