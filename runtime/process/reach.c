/* Finds a rank that this rank cannot reach. */
#include "runtime/process/reach.h"

#include <stdatomic.h>

#include "base/clock.h"

/* A rank counts as unreachable after so many heartbeat timeouts. One is not enough: a rank that
 * stands still answers nobody, and is fenced after one timeout. Its node must not be declared for
 * that. */
#define TIMEOUTS 2

/* A rank that has the mark may be gone, and needs no message any more. */
static bool has_mark(const struct ftc_process *process, int rank)
{
    const struct ftc_standing *standing = ftc_segment_standing(process->segment, rank);
    return atomic_load_explicit(&standing->phase, memory_order_acquire) == FTC_PHASE_FINALIZED;
}

void ftc_reach_publish(struct ftc_process *process)
{
    const struct ftc_transport_ops *ops = process->transport->ops;
    uint64_t now = ftc_clock_now(),
             long_ns = TIMEOUTS * (uint64_t)process->config.heartbeat_timeout_ms * FTC_NS_PER_MS;
    int rank = -1;

    if (ops->unreachable == NULL || now < long_ns ||
        now - process->reached_ns < (uint64_t)process->config.heartbeat_period_ms * FTC_NS_PER_MS)
        return;
    process->reached_ns = now;
    do
        rank = ops->unreachable(process->transport, rank + 1, now - long_ns);
    while (rank >= 0 && has_mark(process, rank));
    atomic_store_explicit(&process->slot->unreachable, rank + 1, memory_order_relaxed);
}
