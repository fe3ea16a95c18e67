/*
 * Ranks that PMIx started without ftrun: what the first rank of a node and the agent that it starts
 * say to each other, over a pair of sockets that is the agent's standard input
 * (docs/design/nodes.md, "Adopted ranks"). In this order:
 *
 *   rank:  struct ftc_adoption_hello, ftc_adoption_member of each node, ftc_adopted of each rank of
 *   this node agent: struct ftc_adoption_answer; if it refuses, that is all rank:  struct
 *   ftc_adoption_verdict; if it is a success, the endpoint of each node's agent
 *
 * Both are of one machine, and of one user; they may be of two releases, so versions come first.
 */
#ifndef FTC_NODE_ADOPTION_H
#define FTC_NODE_ADOPTION_H

#include <stdint.h>

#include "node/segment/segment.h"

#define FTC_ADOPTION_MAGIC   0x61746366u
#define FTC_ADOPTION_VERSION 1
#define FTC_ADOPTION_TEXT    512 /* an endpoint, or why there is none */

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

/* A process, and when it started (ftc_process_start()). */
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
    int32_t met; /* 0: the nodes have not met; the rank knows why */
};

#endif
