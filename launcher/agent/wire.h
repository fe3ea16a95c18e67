/* What the agents of a job's nodes tell one another (docs/design/nodes.md): bytes, without I/O. */
#ifndef FTC_LAUNCHER_AGENT_WIRE_H
#define FTC_LAUNCHER_AGENT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "node/segment/segment.h"

enum ftc_agent_kind {
    FTC_AGENT_LEASE, /* detector/lease/lease.h: `bytes` */
    FTC_AGENT_JOINED, /* `rank` of the sender's node: its process `value`, and its endpoints, `bytes` */
    FTC_AGENT_MARKED, /* `rank` has set its mark (agreement.md, finalize) */
    FTC_AGENT_ENDED,  /* `rank` has ended: `value` of waitpid(), and its counters */
    FTC_AGENT_FAILED, /* the notice: `rank` has failed; `cause`, `value` in detail, `seen_by`, after `took_ns` */
    FTC_AGENT_ACCUSED,  /* `rank`, of the receiver's node, sent damaged data to `value` */
    FTC_AGENT_ACTIVITY, /* what `rank` does: launcher/agent/activity.h, `bytes` */
    FTC_AGENT_LOST,     /* node `value`, which everybody refuses, is declared: nodes.md rule 7 */
    FTC_AGENT_END,      /* kill the job; its exit code is `value` */
    FTC_AGENT_LEFT,     /* the sender has told the end of each of its ranks, and leaves */
    FTC_AGENT_KINDS
};

#define FTC_AGENT_COUNTERS (sizeof(struct ftc_counters) / sizeof(uint64_t))

struct ftc_agent_message {
    enum ftc_agent_kind kind;
    int rank, value;
    enum ftc_failure_cause cause;
    int seen_by; /* a rank, -1: its agent */
    uint64_t took_ns;
    const unsigned char *bytes; /* not owned; JOINED: without a NUL */
    size_t size;
    const struct ftc_counters *counters; /* to encode */
};

/* A buffer with one reference; NULL: out of memory. */
struct ftc_buffer *ftc_agent_encode(const struct ftc_agent_message *message);

/* `ranks` of the job. `bytes` points into the buffer. FTC_ERR_PROTO: malformed. */
int ftc_agent_decode(struct ftc_agent_message *message, const struct ftc_buffer *buffer, int ranks);

/* The counters of a decoded ENDED. */
void ftc_agent_counters(const struct ftc_agent_message *message, struct ftc_counters *counters);

#endif
