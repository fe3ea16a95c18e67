/* A node's lease, as its ranks see it. */
#include "runtime/process/lease.h"

#include <time.h>

#include "base/clock.h"

#define AWAIT_LOOK_NS FTC_NS_PER_MS /* pause between looks, which are only at the start of a job */

static bool too_late_for_one(const struct ftc_process *process)
{
    return ftc_clock_now() - process->started_ns >
           (uint64_t)process->config.heartbeat_timeout_ms * FTC_NS_PER_MS;
}

void ftc_lease_look(struct ftc_process *process, uint64_t lease_ns)
{
    if (lease_ns == 0 && too_late_for_one(process))
        ftc_process_leave(
            process, FTC_EXIT_FENCED,
            "this node has got no lease: it cannot reach enough of the others, or ftrun "
            "was stopped");
    if (lease_ns != 0 && ftc_clock_now() > lease_ns)
        ftc_process_leave(process, FTC_EXIT_FENCED,
                          "this node has lost its lease: it cannot reach enough of the others, or "
                          "ftrun was stopped");
}

void ftc_lease_await(struct ftc_process *process)
{
    const struct timespec pause = {.tv_nsec = AWAIT_LOOK_NS};

    while (atomic_load_explicit(&ftc_segment_header(process->segment)->lease_ns,
                                memory_order_acquire) == 0 &&
           !too_late_for_one(process))
        nanosleep(&pause, NULL);
}
