/*
 * The agent: the part of one node's ftrun in a job of several nodes. It tells the other agents
 * about the ranks of this node, and takes in what they tell. It keeps the lease of this node, and
 * stops listening to nodes that are silent (docs/design/nodes.md; the rules are in
 * detector/lease/lease.h). Links are TCP connections between agents. Everything runs in the loop of
 * ftrun.
 */
#ifndef FTC_LAUNCHER_AGENT_AGENT_H
#define FTC_LAUNCHER_AGENT_AGENT_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/set.h"
#include "config/config.h"
#include "detector/lease/lease.h"
#include "detector/notices.h"
#include "launcher/agent/mirror.h"
#include "launcher/meeting/meeting.h"
#include "launcher/watcher.h"
#include "transport/transport.h"

struct ftc_agent {
    struct ftc_meeting meeting;
    struct ftc_transport *links;
    struct ftc_lease *lease;
    struct ftc_log log;
    uint64_t timeout_ns, period_ns;

    struct ev_loop *loop; /* NULL: not started */
    struct ev_io readable;
    struct ev_prepare before_sleep;
    struct ev_timer due;

    struct ftc_mirror mirror;
    struct ftc_watcher *watcher;
    unsigned char *told; /* per rank: what the others were told (bits) */
    bool *gone;          /* per node: left, refused or lost */
    bool *closed;        /* per node: its link is closed: nothing is sent or taken any more */
    bool *awaited;       /* per node: has got this node's LEFT, and not answered with SEEN */
    bool *owed;          /* per node: it has left, and is still to get SEEN */
    uint32_t *last;      /* per node: 1 + the number of its news, by its LEFT; 0: none has come */
    bool *heard;         /* per node: refused though heard here, since others could not reach it */
    bool *left;          /* per node: it left by itself, with LEFT */
    uint64_t *left_ns;   /* per node: when it left */
    uint64_t lost_ns;    /* when the last node was refused or lost; 0: none was */
    uint64_t *agreed_ns; /* per node: since when all of its ranks are in G; 0: they are not */
    struct ftc_lease_box box; /* of the lease message that is being read */
    struct ftc_notices notices;
    uint64_t base_looked_ns, shown_ns, cared_ns;
    int shown;           /* the last node that was shown the ranks of this one */
    uint64_t leaving_ns; /* when this node's LEFT went out; 0: not yet */
    uint64_t seen_ns;    /* when all others had this node's news; 0: not yet */
    bool owes_seen;      /* some node is owed SEEN */
    bool apart;          /* cut off when a cut could do no harm any more: goes on by itself */
    bool fenced;
    bool ending; /* the ranks of this node are being killed: it leads on for nobody */
    bool idle;   /* all ranks of this node have ended: it takes part in no lease any more */

    /* Called from the loop. */
    void (*granted)(void *arg); /* the first lease has come, so ranks may start */
    void (*fence)(void *arg);   /* this node is cut off: kill its ranks and end */
    /* `ranks` ranks of a lost node have failed with it. `heard`: this node heard it, but other
     * nodes could not reach it. */
    void (*lost)(void *arg, int node, int ranks, bool heard);
    void (*end)(void *arg, int node, int code); /* another node ends the job */
    void (*changed)(void *arg);                 /* anything has changed: look at the job again */
    void *arg;
    bool has_lease;
};

/* Make links and lease, and begin the meeting with the other agents. Call it before there are
 * threads. `leader` and `invitation` are those of ftc_meeting_begin(). ftc_agent_fini() of a zeroed
 * struct is legal. FTC_ERR_*. */
int ftc_agent_meet(struct ftc_agent *agent, const char *host, int ranks,
                   const struct ftc_config *config, int leader,
                   const struct ftc_invitation *invitation);
/* End the meeting. If `able` is false, this node cannot go on, because of ftc_last_error(). Then no
 * node goes on. */
int ftc_agent_met(struct ftc_agent *agent, bool able);

/* Start the agent. The caller has set the callbacks. FTC_ERR_NOMEM. */
int ftc_agent_start(struct ftc_agent *agent, struct ev_loop *loop, const struct ftc_mirror *mirror,
                    struct ftc_watcher *watcher);
void ftc_agent_fini(struct ftc_agent *agent);

/* Tell the other agents what is new about the ranks of this node. If all of them have ended, the
 * node leaves its base first. An agent that must lead on tells of no failure or end. */
void ftc_agent_look(struct ftc_agent *agent);
/* Look at the lease. Afterwards this node may be apart or fenced. */
void ftc_agent_keep_lease(struct ftc_agent *agent);
/* `accuser`, a rank of this node, had damaged data from `rank` of another node. */
void ftc_agent_accuse(struct ftc_agent *agent, int rank, int accuser);
/* This node ends the job. Tell the other agents to end it, too. */
void ftc_agent_end(struct ftc_agent *agent, int code);

/* Call it when all ranks of this node have ended: the agent says so, and leaves. True: each agent
 * that is still there knows all that this node had to tell, or does not answer any more. Until
 * then, call it again at each change and from time to time. */
bool ftc_agent_leave(struct ftc_agent *agent);

/* How long the other agents may still take to end when the job has ended. Agents of lost hosts do
 * not count. If a host was lost, only agents that left before that need long: they may still wait
 * for the lost host to acknowledge their LEFT. */
uint64_t ftc_agent_longest_end(const struct ftc_agent *agent, uint64_t now_ns);

/* Is this the lowest node that has not left and was not refused or lost? Its agent prints what
 * concerns the whole job. */
bool ftc_agent_speaks(const struct ftc_agent *agent);
/* Does this node tell how the job ended? If the job was killed, all nodes know its end, also those
 * that have left. Otherwise nodes that have left may not have known it. */
bool ftc_agent_sums_up(const struct ftc_agent *agent, bool killed);

#endif
