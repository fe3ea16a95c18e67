/*
 * How the agents of a job's nodes meet: over the PMIx of whoever started them, one on each node,
 * once, at the start. PMIx is for bootstrap only: when the meeting is over its client is finalized,
 * so that no agent's death is the engine's business, and this process may become a PMIx server
 * itself.
 */
#ifndef FTC_LAUNCHER_MEETING_MEETING_H
#define FTC_LAUNCHER_MEETING_MEETING_H

#include <stdbool.h>

#include "node/adoption.h"
#include "node/segment/segment.h"
#include "transport/tcp/endpoint.h"

struct ftc_meeting {
    int node, nodes;
    char cluster[FTC_JOB_NAME_SIZE];      /* the job's name on all nodes */
    unsigned char secret[FTC_JOB_SECRET]; /* node 0 drew it */
    struct ftc_node *members;
    char (*endpoints)[FTC_TCP_ENDPOINT_SIZE]; /* of the agents */
    pid_t client;                             /* the child that is the PMIx client; 0: none */
    int fd;                                   /* to it */
    bool adopts; /* no such child: a rank of this node tells, which runs already as the others do */
    char job[FTC_JOB_NAME_SIZE]; /* ... and is told: this node's job */
    struct ftc_adopted *adopted; /* ... their processes */
};

/*
 * Meet: who are we? Ranks 0..ranks-1 are spread evenly, nodes hold ranks in a row. Waits for all
 * other agents, for five minutes. FTC_ERR_STATE: nobody started this process with PMIx;
 * FTC_ERR_SYSTEM: PMIx failed; FTC_ERR_ARG: more nodes than ranks.
 *
 * `leader`: socket to a rank that runs already, and speaks to PMIx for this agent; -1: none.
 */
int ftc_meeting_begin(struct ftc_meeting *meeting, const char *host, int ranks, int leader);

/* Tell one's endpoint, learn those of the others, and be done with PMIx. `endpoint` NULL: this
 * agent cannot go on, and ends the meeting for all of them, with ftc_last_error(). FTC_ERR_SYSTEM:
 * PMIx failed, or another agent could not go on: which, and why. */
int ftc_meeting_end(struct ftc_meeting *meeting, const char *endpoint);

void ftc_meeting_fini(struct ftc_meeting *meeting); /* legal when zeroed */

#endif
