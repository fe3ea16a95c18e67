/* Messages between the agents of a job (docs/design/nodes.md): encoding and decoding, without
 * I/O. */
#ifndef FTC_LAUNCHER_AGENT_WIRE_H
#define FTC_LAUNCHER_AGENT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "node/segment/segment.h"

enum ftc_agent_kind {
    /* `bytes` is a message of detector/lease/lease.h. */
    FTC_AGENT_LEASE,
    /* `rank`, of the sender's node, has joined. `value` is its pid, `bytes` are its endpoints. */
    FTC_AGENT_JOINED,
    /* `rank` has set its mark (agreement.md, finalize). */
    FTC_AGENT_MARKED,
    /* `rank` has ended. `value` is the status of waitpid(), `bytes` are its counters
     * (launcher/counters.h). */
    FTC_AGENT_ENDED,
    /* Notice: `rank` has failed by `cause`, with detail `value`. `seen_by` saw it. `took_ns` is
     * the time from the first sign to the declaration. */
    FTC_AGENT_FAILED,
    /* `rank`, of the receiver's node, sent damaged data to rank `value`. */
    FTC_AGENT_ACCUSED,
    /* `bytes` tell what ranks of the sender do (launcher/agent/activity.h). */
    FTC_AGENT_ACTIVITY,
    /* Node `value`, which every node refuses, is declared (nodes.md, rule 7). `rank` is any rank of
     * the node that says so. */
    FTC_AGENT_LOST,
    /* Kill the job. Its exit code is `value`. */
    FTC_AGENT_END,
    /* The sender has told the end of each of its ranks by `number` news, and leaves. */
    FTC_AGENT_LEFT,
    /* The sender has all news of the receiver, and its LEFT (nodes.md, N8). */
    FTC_AGENT_SEEN,
    /* The sender has only `number` news of the receiver, which has sent LEFT (N8). */
    FTC_AGENT_WANT,
    /* `bytes` say how many news of each node the sender has, as u32. `value`: it asks (N5). */
    FTC_AGENT_VECTOR,
    FTC_AGENT_KINDS
};

struct ftc_agent_message {
    enum ftc_agent_kind kind;
    int rank, value;
    uint32_t number; /* of news: 1, 2, ... for each node that has news */
    enum ftc_failure_cause cause;
    int seen_by; /* a rank; -1: its agent */
    uint64_t took_ns;
    const unsigned char *bytes; /* not owned; without a NUL in JOINED */
    size_t size;
};

/* News are numbered by the node that has them, and spread along trees (detector/notices.h). */
bool ftc_agent_is_news(enum ftc_agent_kind kind);

/* Encode `message`. The buffer has one reference. NULL: out of memory. */
struct ftc_buffer *ftc_agent_encode(const struct ftc_agent_message *message);

/* Decode a message; the job has `ranks` ranks. message->bytes points into the buffer.
 * FTC_ERR_PROTO: the message is malformed. */
int ftc_agent_decode(struct ftc_agent_message *message, const struct ftc_buffer *buffer, int ranks);

#endif
