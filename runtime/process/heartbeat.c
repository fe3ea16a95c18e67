/* The heartbeat of a process, also while its progress thread runs an operator of the program. */
#include "runtime/process/heartbeat.h"

#include <string.h>

#include "base/clock.h"
#include "node/system/futex.h"
#include "runtime/process/lease.h"

static _Thread_local struct ftc_process *own; /* in a progress thread: its process */

void ftc_heartbeat_beat(struct ftc_process *process)
{
    atomic_fetch_add_explicit(&process->slot->heartbeat, 1, memory_order_relaxed);
    ftc_lease_check(process);
}

void ftc_heartbeat_check_launcher(struct ftc_process *process)
{
    if (ftc_segment_launcher(process->segment) == FTC_LIFE_GONE)
        ftc_process_leave(process, FTC_EXIT_ORPHANED, "the launcher is gone");
}

/* The second thread. An operator that began just after a look waits a period for its first beat, as
 * it would for that of the progress thread. */
static void *run(void *arg)
{
    struct ftc_process *process = arg;
    struct ftc_heartbeat *heart = &process->heartbeat;
    uint64_t period = (uint64_t)process->config.heartbeat_period_ms * FTC_NS_PER_MS;

    pthread_setname_np(pthread_self(), "ftcoll-beat");
    while (atomic_load(&heart->stop) == 0) {
        if (atomic_load_explicit(&heart->in_operator, memory_order_relaxed)) {
            ftc_heartbeat_beat(process);
            ftc_heartbeat_check_launcher(process);
        }
        ftc_futex_wait(&heart->stop, 0, period);
    }
    return NULL;
}

/* The thread inherits that all signals are blocked. */
static void start(struct ftc_process *process)
{
    struct ftc_heartbeat *heart = &process->heartbeat;
    int rc = pthread_create(&heart->id, NULL, run, process);

    heart->tried = true;
    heart->running = rc == 0;
    if (rc != 0)
        FTC_LOG(&process->log, FTC_LOG_WARN,
                "cannot start a thread for the heartbeat: %s; a rank whose operator takes longer "
                "than detector.heartbeat_timeout_ms will be killed",
                strerror(rc));
}

void ftc_heartbeat_begin(struct ftc_process *process)
{
    own = process;
}

void ftc_heartbeat_operator(bool runs)
{
    if (own == NULL)
        return;
    if (!own->heartbeat.tried)
        start(own);
    atomic_store_explicit(&own->heartbeat.in_operator, runs, memory_order_relaxed);
}

void ftc_heartbeat_stop(struct ftc_process *process)
{
    struct ftc_heartbeat *heart = &process->heartbeat;

    if (!heart->running)
        return;
    atomic_store(&heart->stop, 1);
    ftc_futex_wake(&heart->stop, 1);
    pthread_join(heart->id, NULL);
    heart->running = false;
}
