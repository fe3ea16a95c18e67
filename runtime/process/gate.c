/* Decides whether the caller or the progress thread watches the transport's descriptor. */
#include "runtime/process/gate.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "runtime/process/thread.h"
#include "runtime/process/turn.h"

#define SOON_NS     50000 /* calls follow one another closely if the pause between is shorter */
#define CLOSE_CALLS 100   /* after so many close calls in a row the gate stays shut */
#define TICK_NS     (2 * FTC_NS_PER_MS)
#define TICK_SLOW   .1 /* the tick in seconds while a call takes long */

static void set(struct ftc_process *process, bool open)
{
    struct epoll_event event = {.events = open ? EPOLLIN : 0};

    epoll_ctl(process->thread.gate.fd, EPOLL_CTL_MOD,
              process->transport->ops->descriptor(process->transport), &event);
}

/* --- the caller --- */

void ftc_gate_enter(struct ftc_process *process)
{
    struct ftc_gate *gate = &process->thread.gate;

    if (gate->fd < 0)
        return;
    atomic_fetch_add_explicit(&gate->calls, 1, memory_order_relaxed);
    /* Where ranks share cores, some calls seem not to be close, since another rank ran between. */
    gate->close = ftc_clock_now() - gate->left_ns < SOON_NS ? gate->close + 1 : gate->close / 2;
    if (atomic_load_explicit(&gate->stays_shut, memory_order_relaxed))
        return;
    set(process, false);
    if (gate->close < CLOSE_CALLS)
        return;
    atomic_store_explicit(&gate->stays_shut, true, memory_order_relaxed);
    ftc_thread_nudge(process); /* the thread starts its tick */
}

bool ftc_gate_leave(struct ftc_process *process)
{
    struct ftc_gate *gate = &process->thread.gate;

    if (gate->fd < 0)
        return false;
    gate->left_ns = ftc_clock_now();
    return !atomic_load_explicit(&gate->stays_shut, memory_order_relaxed);
}

bool ftc_gate_is_shut(const struct ftc_process *process)
{
    const struct ftc_gate *gate = &process->thread.gate;

    return gate->fd >= 0 && atomic_load_explicit(&gate->stays_shut, memory_order_relaxed);
}

void ftc_gate_open(struct ftc_process *process)
{
    set(process, true);
}

/* --- the thread --- */

static void tick_every(struct ftc_process *process, double seconds)
{
    struct ftc_thread *t = &process->thread;

    if (ev_is_active(&t->gate.tick) && t->gate.tick.repeat == seconds)
        return;
    ev_now_update(t->loop);
    t->gate.tick.repeat = seconds;
    ev_timer_again(t->loop, &t->gate.tick);
}

/* A call takes long: the ticks become slow. The thread would look too late for what comes after the
 * call, so the caller nudges it then (ftc_turn_missed()). True: the call is over. */
static bool turn_slow(struct ftc_process *process)
{
    atomic_store(&process->thread.gate.slow, true);
    if (!ftc_turn_try(process)) { /* a caller that gives back the lock after this sees `slow` */
        tick_every(process, TICK_SLOW);
        return false;
    }
    atomic_store(&process->thread.gate.slow, false);
    return true;
}

/* If no call came since the last tick, this opens the gate and stops the tick. It does so only with
 * the lock: without it a call could begin at the same time and rely on the tick. */
static void on_tick(struct ev_loop *loop, ev_timer *watcher, int events)
{
    struct ftc_process *process = watcher->data;
    struct ftc_gate *gate = &process->thread.gate;
    uint64_t calls = atomic_load_explicit(&gate->calls, memory_order_relaxed);
    bool quiet = calls == gate->calls_at_tick;

    (void)events;
    gate->calls_at_tick = calls;
    if (!ftc_turn_try(process)) {
        if (!quiet)
            tick_every(process, TICK_NS / 1e9);
        if (!quiet || !turn_slow(process))
            return;
    }
    bool over = quiet || !atomic_load_explicit(&gate->stays_shut, memory_order_relaxed);
    if (over) {
        atomic_store_explicit(&gate->stays_shut, false, memory_order_relaxed);
        set(process, true);
        ev_timer_stop(loop, watcher);
    }
    pthread_mutex_unlock(&process->lock);
    if (!over)
        tick_every(process, TICK_NS / 1e9);
}

void ftc_gate_nudged(struct ftc_process *process)
{
    if (atomic_load_explicit(&process->thread.gate.stays_shut, memory_order_relaxed))
        tick_every(process, TICK_NS / 1e9);
}

static void on_sockets(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    struct ftc_process *process = watcher->data;

    process->thread.gate.drive(process);
}

int ftc_gate_make(struct ftc_process *process, void (*drive)(struct ftc_process *process))
{
    struct ftc_gate *gate = &process->thread.gate;
    int fd = process->transport->ops->descriptor(process->transport);
    struct epoll_event event = {.events = EPOLLIN};

    *gate = (struct ftc_gate){.fd = -1, .drive = drive};
    ev_timer_init(&gate->tick, on_tick, 0., 0.);
    gate->tick.data = process;
    if (fd < 0)
        return 0;
    gate->fd = epoll_create1(EPOLL_CLOEXEC);
    if (gate->fd < 0 || epoll_ctl(gate->fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot watch the transport: %m; is the limit on open files reached?");
    ev_io_init(&gate->sockets, on_sockets, gate->fd, EV_READ);
    gate->sockets.data = process;
    ev_io_start(process->thread.loop, &gate->sockets);
    return 0;
}

void ftc_gate_drop(struct ftc_process *process)
{
    struct ftc_gate *gate = &process->thread.gate;

    if (gate->fd >= 0)
        close(gate->fd);
    gate->fd = -1;
}
