/*
 * A job of several nodes, as one node's ftrun takes part in it: tells the other agents about its
 * ranks, takes in what they tell, keeps this node's lease, and stops listening to nodes that are
 * silent (docs/design/nodes.md; the rules are detector/lease/lease.h's). Links are TCP connections
 * of the agents' own. All in ftrun's loop.
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
    unsigned char *told; /* per rank: bits of what the others were told */
    bool *gone;          /* per node: left, refused or lost: nothing goes there, nothing is taken */
    bool *heard;         /* per node: refused though this one heard it: others could not */
    bool *left;          /* per node: it left by itself */
    uint64_t *left_ns;   /* ... then */
    uint64_t lost_ns;    /* when the last node was refused or lost; 0: none was */
    uint64_t
        *agreed_ns; /* per node: since when a decision has all of its ranks in G; 0: none has */
    struct ftc_set refused, declared, unheard; /* of the message that is being read */
    struct ftc_notices notices;
    uint64_t base_looked_ns, shown_ns;
    uint64_t leaving_ns; /* when this node's LEFT went out; 0: not yet */
    bool apart;          /* cut off when that did no harm any more: it goes on by itself */
    bool fenced;
    bool idle; /* all ranks of this node have ended: it takes part in no lease any more */

    /* Called from the loop. */
    void (*granted)(void *arg); /* the first lease has come: ranks may start */
    void (*fence)(void *arg);   /* this node is cut off: kill its ranks and end */
    /* This many of a lost node's ranks have failed with it. `heard`: it was not silent, but others
     * could not reach it. */
    void (*lost)(void *arg, int node, int ranks, bool heard);
    void (*end)(void *arg, int node, int code); /* another node ends the job */
    void (*changed)(void *arg);                 /* anything: look at the job again */
    void *arg;
    bool has_lease;
};

/* Meet the others: links, lease and meeting. Before there are threads. `leader`: as in
 * ftc_meeting_begin(). FTC_ERR_*; fini() of a zeroed struct is legal. */
int ftc_agent_meet(struct ftc_agent *agent, const char *host, int ranks,
                   const struct ftc_config *config, int leader);
/* The end of the meeting. `able` false: this node cannot go on, because of ftc_last_error(), and so
 * nobody does. */
int ftc_agent_met(struct ftc_agent *agent, bool able);

/* Begin. The callbacks are set. FTC_ERR_NOMEM. */
int ftc_agent_start(struct ftc_agent *agent, struct ev_loop *loop, const struct ftc_mirror *mirror,
                    struct ftc_watcher *watcher);
void ftc_agent_fini(struct ftc_agent *agent);

/* Tell the others what is new of this node's ranks. */
void ftc_agent_look(struct ftc_agent *agent);
/* Look at the lease: this node may be apart, or fenced, afterwards. */
void ftc_agent_keep_lease(struct ftc_agent *agent);
/* A rank of this node had damaged data from one of another node. */
void ftc_agent_accuse(struct ftc_agent *agent, int rank, int accuser);
/* This node ends the job: the others shall, too. */
void ftc_agent_end(struct ftc_agent *agent, int code);

/* All ranks of this node have ended: say so and leave. True: everybody who is there knows all that
 * this node had to tell, or does not answer any more; call again until then, at each change and now
 * and then. */
bool ftc_agent_leave(struct ftc_agent *agent);

/* How long the agents that are there, or have left, may take to end when the job has ended. Those
 * of hosts that were lost do not, so then nobody waits for long, but for those that left before:
 * they may still wait for the lost ones to acknowledge it. */
uint64_t ftc_agent_longest_end(const struct ftc_agent *agent, uint64_t now_ns);

/* Is this the lowest node that is there? It prints what concerns the whole job. */
bool ftc_agent_speaks(const struct ftc_agent *agent);
/* Does it tell how the job ended? When it was killed all know it, also those that have left; else
 * those that left may not have known. */
bool ftc_agent_sums_up(const struct ftc_agent *agent, bool killed);

#endif
