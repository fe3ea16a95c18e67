/*
 * The mirror holds the ranks of other nodes in the segment and table of processes of this node. The
 * agents of those nodes tell about them, and the mirror writes that down. So ranks, verdict, report
 * and ftcoll-status see a rank of another node as they see one of this node.
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
    /* Some rank has joined, or failed, and the ranks of this node have not been rung since. */
    bool rings, rings_boards;
    int settled; /* all ranks below it are settled, which is final; it begins at 0 */
};

/* All of these ignore what was told before. */
/* FTC_ERR_SYSTEM: /dev/shm has no room for its endpoint, so this node cannot reach it. */
int ftc_mirror_joined(struct ftc_mirror *mirror, const struct ftc_agent_message *message);
/* Wake ranks that wait for the endpoint of one that has joined, or for one that has failed. Call
 * this when all that has come is taken and passed on: at a start, and when a node is lost, there is
 * much of it. */
void ftc_mirror_ring(struct ftc_mirror *mirror);
void ftc_mirror_marked(struct ftc_mirror *mirror, int rank);
void ftc_mirror_ended(struct ftc_mirror *mirror, const struct ftc_agent_message *message);
/* True: the failure is news. */
bool ftc_mirror_failed(struct ftc_mirror *mirror, const struct ftc_agent_message *message);

/* From now on nothing that the ranks of the node send is taken in. */
void ftc_mirror_refuse(struct ftc_mirror *mirror, int node);
/* The node is lost, or its agent has left. Each of its ranks has failed, unless the rank has set
 * its mark and then ended. ftc_mirror_lost() returns how many of these failures are news. */
int ftc_mirror_lost(struct ftc_mirror *mirror, int node);
void ftc_mirror_left(struct ftc_mirror *mirror, int node);
/* Each rank that has not ended has failed. Returns how many these are. */
int ftc_mirror_give_up(struct ftc_mirror *mirror);

/* Is the outcome of each rank settled: has it set its mark, or ended, or failed? Then a cut cannot
 * give different results to two ranks any more. */
bool ftc_mirror_settled(struct ftc_mirror *mirror);
/* Has each rank of the node failed? */
bool ftc_mirror_all_failed(const struct ftc_mirror *mirror, int node);
/* Has each rank of each node ended? ftc_mirror_ended_here(): has each rank of this node ended? */
bool ftc_mirror_over(const struct ftc_mirror *mirror);
bool ftc_mirror_ended_here(const struct ftc_mirror *mirror);
/* Has one rank of this node all ranks of `node` in its G? G is read from shared memory, where it
 * only grows. */
bool ftc_mirror_agreed_gone(const struct ftc_mirror *mirror, int node);

#endif
