/*
 * Ranks that PMIx started without ftrun are adopted by an agent (docs/design/nodes.md, "Adopted
 * ranks"). The first rank of a node starts the agent, and talks with it over a pair of sockets that
 * is the standard input of the agent. They send, in this order:
 *
 *   rank    struct ftc_adoption_hello
 *           struct ftc_adoption_member, one for each node
 *           struct ftc_adopted, one for each rank of this node
 *   agent   struct ftc_adoption_answer; if it refuses, nothing follows
 *   rank    struct ftc_adoption_verdict
 *           the endpoint of each node's agent, if the verdict is a success
 *
 * Both run on one machine and for one user. They may be of two releases, so versions come first.
 */
#ifndef FTC_NODE_ADOPTION_H
#define FTC_NODE_ADOPTION_H

#include <stdint.h>

#include "node/segment/segment.h"

#define FTC_ADOPTION_MAGIC   0x61746366u
#define FTC_ADOPTION_VERSION 1
#define FTC_ADOPTION_TEXT    512 /* bytes of an endpoint, or of the reason why there is none */

struct ftc_adoption_hello {
    uint32_t magic, version, segment_version;
    int32_t node, nodes, ranks;
    char cluster[FTC_JOB_NAME_SIZE];
    unsigned char secret[FTC_JOB_SECRET];
};

struct ftc_adoption_member {
    char host[64];
    uint32_t first, count;
};

/* A process, with its start time (ftc_process_start()). */
struct ftc_adopted {
    int32_t pid;
    uint32_t unused;
    uint64_t start;
};

struct ftc_adoption_answer {
    int32_t able; /* 0: `text` says why not */
    char job[FTC_JOB_NAME_SIZE];
    char text[FTC_ADOPTION_TEXT];
};

struct ftc_adoption_verdict {
    int32_t met; /* 0: the nodes have not met; the rank reports why */
};

#endif
