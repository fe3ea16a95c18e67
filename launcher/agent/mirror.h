/*
 * Ranks of other nodes, in this node's segment and table of processes: their agents tell, this
 * writes down. So ranks, verdict, report and ftcoll-status see a rank of another node as they see
 * one of this node.
 */
#ifndef FTC_LAUNCHER_AGENT_MIRROR_H
#define FTC_LAUNCHER_AGENT_MIRROR_H

#include "launcher/agent/wire.h"
#include "launcher/ranks.h"
#include "node/bell.h"
#include "node/segment/segment.h"

struct ftc_mirror {
    struct ftc_segment *segment;
    struct ftc_ranks *ranks;
    struct ftc_bell *bell;
};

/* All ignore what they were told before. */
void ftc_mirror_joined(struct ftc_mirror *mirror, const struct ftc_agent_message *message);
void ftc_mirror_marked(struct ftc_mirror *mirror, int rank);
void ftc_mirror_ended(struct ftc_mirror *mirror, const struct ftc_agent_message *message);
/* True: it is news. */
bool ftc_mirror_failed(struct ftc_mirror *mirror, const struct ftc_agent_message *message);

/* From now on nothing is taken in of what the node's ranks send. */
void ftc_mirror_refuse(struct ftc_mirror *mirror, int node);
/* The node is lost, or its agent has left: whoever of its ranks has not ended after its mark has
 * failed. How many of them were not known to have. */
int ftc_mirror_lost(struct ftc_mirror *mirror, int node);
void ftc_mirror_left(struct ftc_mirror *mirror, int node);

/* Is everybody's outcome settled: has each rank its mark, or ended, or failed? Then no cut can make
 * anybody differ any more. */
bool ftc_mirror_settled(const struct ftc_mirror *mirror);
/* Has each rank of the node failed? */
bool ftc_mirror_all_failed(const struct ftc_mirror *mirror, int node);
/* Has each rank of each node ended? Of this one? */
bool ftc_mirror_over(const struct ftc_mirror *mirror);
bool ftc_mirror_ended_here(const struct ftc_mirror *mirror);
/* Are all ranks of the node in the agreed set of one of this node's ranks? Read from shared memory,
 * where it only grows. */
bool ftc_mirror_agreed_gone(const struct ftc_mirror *mirror, int node);

#endif
