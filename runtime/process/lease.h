/* The lease of this node (docs/design/nodes.md, rule 4), in jobs of several nodes. Once the lease
 * has run out, the other nodes may have declared this one; so no call may return to the program any
 * more. The launcher renews the lease. The launcher itself may be stopped, so each rank looks. */
#ifndef FTC_RUNTIME_PROCESS_LEASE_H
#define FTC_RUNTIME_PROCESS_LEASE_H

#include "runtime/process/process.h"

void ftc_lease_look(struct ftc_process *process, uint64_t lease_ns);
void ftc_lease_await(struct ftc_process *process);

/* Ends the process if the lease has run out, or if no lease came in time. Reads no clock in a job
 * of one node. Any thread may call it. */
static inline void ftc_lease_check(struct ftc_process *process)
{
    uint64_t lease_ns =
        atomic_load_explicit(&ftc_segment_header(process->segment)->lease_ns, memory_order_acquire);

    if (lease_ns != UINT64_MAX && ftc_segment_nodes(process->segment) > 1)
        ftc_lease_look(process, lease_ns);
}

/* The same, for a call that is about to return. It also waits for the first lease, for
 * detector.heartbeat_timeout_ms at most. */
static inline void ftc_lease_before_return(struct ftc_process *process)
{
    if (atomic_load_explicit(&ftc_segment_header(process->segment)->lease_ns,
                             memory_order_relaxed) == 0 &&
        ftc_segment_nodes(process->segment) > 1)
        ftc_lease_await(process);
    ftc_lease_check(process);
}

#endif
