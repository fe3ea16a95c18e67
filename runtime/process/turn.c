/* Whose turn it is to take steps. */
#include "runtime/process/turn.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/process/thread.h"

#define YIELDS 1000 /* for a caller that wants the lock and is not scheduled for long */

void ftc_turn_init(struct ftc_turn *turn)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&turn->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void ftc_turn_fini(struct ftc_turn *turn)
{
    pthread_cond_destroy(&turn->changed);
}

void ftc_turn_lock(struct ftc_process *process)
{
    if (pthread_mutex_trylock(&process->lock) == 0)
        return;
    atomic_fetch_add_explicit(&process->turn.wanted, 1, memory_order_relaxed);
    pthread_mutex_lock(&process->lock);
    atomic_fetch_sub_explicit(&process->turn.wanted, 1, memory_order_relaxed);
}

static bool take(atomic_bool *flag)
{
    return atomic_load(flag) && atomic_exchange(flag, false);
}

bool ftc_turn_missed(struct ftc_process *process)
{
    bool missed = take(&process->thread.missed);

    return take(&process->thread.gate.slow) || missed;
}

void ftc_turn_unlock(struct ftc_process *process)
{
    bool threads_turn = process->turn.inside == 0;

    pthread_mutex_unlock(&process->lock);
    if (threads_turn && ftc_turn_missed(process))
        ftc_thread_nudge(process);
}

bool ftc_turn_enter(struct ftc_process *process)
{
    ftc_turn_lock(process);
    return process->turn.inside++ == 0;
}

bool ftc_turn_leave(struct ftc_process *process)
{
    return --process->turn.inside == 0;
}

bool ftc_turn_try(struct ftc_process *process)
{
    if (atomic_load_explicit(&process->turn.wanted, memory_order_relaxed) > 0 ||
        pthread_mutex_trylock(&process->lock) != 0)
        return false;
    if (process->turn.inside == 0)
        return true;
    pthread_mutex_unlock(&process->lock); /* the driver has given it up for a moment */
    return false;
}

/* The heartbeat period is a backstop, as for every sleep. */
static void wait_for_change(struct ftc_process *process, uint64_t longest_ns)
{
    uint64_t ns = (uint64_t)process->config.heartbeat_period_ms * FTC_NS_PER_MS;
    uint64_t end_ns = ftc_clock_now() + (longest_ns > 0 && longest_ns < ns ? longest_ns : ns);
    struct timespec end = {.tv_sec = (time_t)(end_ns / FTC_NS_PER_S),
                           .tv_nsec = (long)(end_ns % FTC_NS_PER_S)};

    process->turn.waiting++;
    (void)pthread_cond_timedwait(&process->turn.changed, &process->lock, &end);
    process->turn.waiting--;
}

static void wake_driver(struct ftc_process *process)
{
    if (process->turn.asleep)
        ftc_bell_ring(&process->bell, process->rank, true);
}

bool ftc_turn_wait(struct ftc_process *process, uint64_t longest_ns)
{
    struct ftc_turn *turn = &process->turn;

    if (!turn->driven) {
        turn->driven = true;
        return false;
    }
    /* What this caller has started may have set a timer that the driver does not know. */
    wake_driver(process);
    wait_for_change(process, longest_ns);
    return true;
}

void ftc_turn_yield(struct ftc_process *process, bool changed)
{
    struct ftc_turn *turn = &process->turn;

    bool wakes = changed && turn->waiting > 0;
    if (!wakes && atomic_load_explicit(&turn->wanted, memory_order_relaxed) == 0)
        return;
    if (wakes)
        pthread_cond_broadcast(&turn->changed);
    pthread_mutex_unlock(&process->lock);
    for (int i = 0; i < YIELDS && atomic_load_explicit(&turn->wanted, memory_order_relaxed) > 0;
         i++)
        sched_yield();
    pthread_mutex_lock(&process->lock);
}

void ftc_turn_changed(struct ftc_process *process)
{
    wake_driver(process);
    if (process->turn.waiting > 0)
        pthread_cond_broadcast(&process->turn.changed);
}

void ftc_turn_pass(struct ftc_process *process)
{
    process->turn.driven = false;
    if (process->turn.waiting > 0)
        pthread_cond_broadcast(&process->turn.changed);
}

static void show(const struct ftc_process *process, bool gives_way)
{
    atomic_store_explicit(&process->slot->gives_way, gives_way, memory_order_relaxed);
}

void ftc_turn_give_way(struct ftc_process *process)
{
    show(process, true);
    sched_yield();
    show(process, false);
}

void ftc_turn_sleep(struct ftc_process *process)
{
    process->turn.asleep = true;
    show(process, true);
    pthread_mutex_unlock(&process->lock);
}

void ftc_turn_awake(struct ftc_process *process)
{
    pthread_mutex_lock(&process->lock);
    show(process, false);
    process->turn.asleep = false;
}
