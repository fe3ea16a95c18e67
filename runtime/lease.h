/* The lease of this node (docs/design/nodes.md, rule 4): on several nodes nothing is returned to a
 * program after it has run out, since the other nodes may have declared this one by then. The
 * launcher renews it, and may be stopped: so each rank looks. */
#ifndef FTC_RUNTIME_LEASE_H
#define FTC_RUNTIME_LEASE_H

#include "runtime/comm.h"

void ftc_lease_look(struct ftc_comm *comm, uint64_t lease_ns);
void ftc_lease_await(struct ftc_comm *comm);

/* Leaves the process if the lease has run out, or none came in time. No clock is read in a job of
 * one node. Any thread. */
static inline void ftc_lease_check(struct ftc_comm *comm)
{
    uint64_t lease_ns =
        atomic_load_explicit(&ftc_segment_header(comm->segment)->lease_ns, memory_order_acquire);

    if (lease_ns != UINT64_MAX && ftc_segment_nodes(comm->segment) > 1)
        ftc_lease_look(comm, lease_ns);
}

/* The same where a call is about to return: it waits for the first lease,
 * detector.heartbeat_timeout_ms at most. */
static inline void ftc_lease_before_return(struct ftc_comm *comm)
{
    if (atomic_load_explicit(&ftc_segment_header(comm->segment)->lease_ns, memory_order_relaxed) ==
            0 &&
        ftc_segment_nodes(comm->segment) > 1)
        ftc_lease_await(comm);
    ftc_lease_check(comm);
}

#endif
