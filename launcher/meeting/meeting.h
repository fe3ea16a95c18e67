/*
 * The meeting of the agents of a job. A launcher starts one agent on each node, and they meet once,
 * at the start, over the PMIx of that launcher. PMIx is for bootstrap only: when the meeting is
 * over, its client is finalized. So the death of an agent does not concern the engine, and this
 * process may become a PMIx server itself.
 */
#ifndef FTC_LAUNCHER_MEETING_MEETING_H
#define FTC_LAUNCHER_MEETING_MEETING_H

#include <stdbool.h>

#include "launcher/meeting/invitation.h"
#include "node/adoption.h"
#include "node/segment/segment.h"
#include "transport/tcp/endpoint.h"

struct ftc_meeting {
    int node, nodes;
    char cluster[FTC_JOB_NAME_SIZE];      /* the job's name on all nodes */
    unsigned char secret[FTC_JOB_SECRET]; /* node 0 drew it */
    struct ftc_node *members;
    char (*endpoints)[FTC_TCP_ENDPOINT_SIZE]; /* one for each agent */
    pid_t client;                             /* the child that is the PMIx client; 0: none */
    int fd;                                   /* socket to the client, or to the rank that tells */
    /* True: there is no PMIx client. The ranks run already, and one of this node tells what it
     * knows. */
    bool adopts;
    char job[FTC_JOB_NAME_SIZE]; /* if `adopts`: the job of this node, told to the rank */
    const struct ftc_invitation *invitation; /* of the front that started this agent; NULL: none */
    struct ftc_adopted *adopted;             /* if `adopts`: the processes of the ranks */
};

/*
 * Begin the meeting: find out which node this is, and which nodes there are. Ranks 0..ranks-1 are
 * spread evenly, and the ranks of a node are in a row. The call waits for all other agents, for
 * five minutes. FTC_ERR_STATE: no PMIx launcher has started this process. FTC_ERR_SYSTEM: PMIx
 * failed. FTC_ERR_ARG: there are more nodes than ranks.
 *
 * `leader` is the socket to a rank that runs already and speaks to PMIx for this agent; -1: there
 * is none. `invitation` is that of the front that started this agent; NULL: there is none. It must
 * live as long as the meeting.
 */
int ftc_meeting_begin(struct ftc_meeting *meeting, const char *host, int ranks, int leader,
                      const struct ftc_invitation *invitation);

/* Tell the endpoint of this agent, learn those of the others, and finalize PMIx. If `endpoint` is
 * NULL, this agent cannot go on, and ends the meeting for all agents with ftc_last_error().
 * FTC_ERR_SYSTEM: PMIx failed, or another agent cannot go on; the error says which, and why. */
int ftc_meeting_end(struct ftc_meeting *meeting, const char *endpoint);

void ftc_meeting_fini(struct ftc_meeting *meeting); /* legal when zeroed */

#endif
