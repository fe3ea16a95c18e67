/*
 * Leases decide which nodes go on when some nodes are silent (docs/design/nodes.md, "Leader, terms,
 * leases"). One object is the part of one node's agent. It does no I/O.
 *
 * A leader that a quorum backs grants leases. A node without a lease ends itself. A silent node is
 * declared failed only when all other nodes have stopped to listen to it and its lease has run out.
 * So two nodes that are heard never disagree about who is alive, whatever is cut, paused or late.
 *
 * Use. Call ftc_lease_start() first. Then call ftc_lease_receive() for each message, and
 * ftc_lease_tick() at ftc_lease_due() or earlier. After each of these three calls, call
 * ftc_lease_next_output() until it returns false. Messages may be lost or doubled, but those from
 * one node to another must come in order. All times are ns of this node's monotonic clock. The
 * clocks of different nodes may show any time, but their rates may differ by 1 % at most.
 *
 * Bounds, with T the timeout, P the period, E = T/5 and L = T/2. A promise, and the backing of a
 * leader, hold for E. A lease holds for L.
 *
 * - A node that dies or is cut off is declared failed within T + 2P, the leader, too, if messages
 *   take less than P/2 and no node is paused.
 * - Of two nodes that cannot reach each other, while both reach the leader, one is declared failed
 *   within 1.5 T + 2P (detector/apart.h).
 * - A cut that heals within T/5, or a pause that is over within T/5, ends no node.
 *
 * An object belongs to one thread. The bytes of messages are untrusted: ftc_lease_decode() checks
 * them.
 */
#ifndef FTC_DETECTOR_LEASE_LEASE_H
#define FTC_DETECTOR_LEASE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

enum ftc_lease_kind {
    FTC_LEASE_BEAT, /* from the leader, down its tree: rule 1 */
    FTC_LEASE_ECHO, /* the answer to a beat, up the tree: of all nodes below that have answered */
    FTC_LEASE_WANT, /* "No beat comes from my parent: send me yours." */
    /* "Would you vote for me?" (rule 5). A probe changes no term, so that a node that was cut off
     * for a moment does not disturb the others. */
    FTC_LEASE_PROBE,
    FTC_LEASE_WOULD, /* "yes", the answer to a probe */
    FTC_LEASE_ASK,   /* "Vote for me in this term." */
    FTC_LEASE_VOTE,  /* the vote, as an answer */
    FTC_LEASE_HELLO, /* the greeting, to some nodes each T/10: rule 8 */
    FTC_LEASE_KINDS
};

#define FTC_LEASE_LAGS                                                                             \
    8 /* a beat names the nodes whose echo is of one of so many beats before it */
#define FTC_LEASE_PAIRS 256 /* in an echo */

struct ftc_lease_pair {
    int node, unheard; /* `node` calls `unheard` unheard: rule 8 */
};

/* Sets and pairs are those of the sender, and not owned. */
struct ftc_lease_message {
    enum ftc_lease_kind kind;
    uint64_t term;
    int leader;      /* BEAT, WANT: the leader of the term */
    uint32_t beat;   /* BEAT, ECHO: number of the beat in the term. WANT: that of the last one;
                      * 0: answer in any case */
    uint32_t rounds; /* HELLO: after so many rounds the next one comes at the latest */
    const struct ftc_set *refused, *declared; /* not in an ECHO */
    const struct ftc_set *silent; /* BEAT: nodes that were refused since they were silent */
    const struct ftc_set *nodes;  /* BEAT: the nodes of its tree. ECHO: those that answer */
    /* BEAT: FTC_LEASE_LAGS sets. named[i] has the nodes whose latest echo is of beat - 1 - i. */
    const struct ftc_set *named;
    bool grants;                       /* BEAT: the names grant leases (rule 2) */
    const struct ftc_lease_pair *pair; /* ECHO */
    int pairs;
};

/* Memory for what a message points to. */
struct ftc_lease_box {
    struct ftc_set refused, declared, silent, nodes, named[FTC_LEASE_LAGS];
    struct ftc_lease_pair pair[FTC_LEASE_PAIRS];
};

int ftc_lease_box_init(struct ftc_lease_box *box, int nodes); /* FTC_ERR_NOMEM */
void ftc_lease_box_fini(struct ftc_lease_box *box);           /* a zeroed one is legal */

#define FTC_LEASE_GREETINGS 8
#define FTC_LEASE_ARITY     4

struct ftc_lease_settings {
    int self, nodes;
    int greetings; /* most nodes that it greets in a round; at least 3; 0: FTC_LEASE_GREETINGS */
    int arity;     /* most children in the tree of a leader; 0: FTC_LEASE_ARITY */
    uint64_t timeout_ns, period_ns; /* timeout >= 20 periods */
};

struct ftc_lease;

enum ftc_lease_output_kind {
    FTC_LEASE_SEND, /* send `message` to `node` */
    /* This node is cut off: kill its ranks and end. No output comes after this one. */
    FTC_LEASE_FENCE,
    /* Take in nothing more that the agent or the ranks of `node` send, for good. */
    FTC_LEASE_REFUSE,
    FTC_LEASE_DECLARE, /* all ranks of `node` have failed */
};
struct ftc_lease_output {
    enum ftc_lease_output_kind kind;
    int node;
    struct ftc_lease_message message; /* for SEND; its sets are valid until the next input */
};

/* FTC_ERR_ARG, with cause and remedy: the node numbers or the times do not fit. FTC_ERR_NOMEM. */
int ftc_lease_create(struct ftc_lease **out, const struct ftc_lease_settings *settings);
void ftc_lease_destroy(struct ftc_lease *lease); /* NULL is legal */

/* Call this once, when all nodes have met. Node 0 leads first. */
void ftc_lease_start(struct ftc_lease *lease, uint64_t now_ns);
void ftc_lease_receive(struct ftc_lease *lease, int from, const struct ftc_lease_message *message,
                       uint64_t now_ns);
void ftc_lease_tick(struct ftc_lease *lease, uint64_t now_ns);
/* `node` leaves the base: it has certainly stopped, or all its ranks are in G. If it is this node,
 * the lease takes part in nothing from now on, and there is no FENCE; an agent calls this when none
 * of its ranks is left, before it tells anybody of the last exit. */
void ftc_lease_left(struct ftc_lease *lease, int node, uint64_t now_ns);
/* Rule 4h: do nodes wait for a lease that only this node can give? Then it must not leave yet. A
 * node that has been silent for T/2 does not wait. */
bool ftc_lease_awaited(const struct ftc_lease *lease, uint64_t now_ns);
/* Rule 8. False: a rank of this node cannot connect to a rank of `node`. True: it can again. */
void ftc_lease_reach(struct ftc_lease *lease, int node, bool reached);
/* Take the next output. False: there is none. */
bool ftc_lease_next_output(struct ftc_lease *lease, struct ftc_lease_output *output);

/* The time by which ftc_lease_tick() must be called. UINT64_MAX: never again. */
uint64_t ftc_lease_due(const struct ftc_lease *lease);
/* The end of the lease: ranks return from no call after this time. 0: there is no lease yet. */
uint64_t ftc_lease_until(const struct ftc_lease *lease);
int ftc_lease_leader(const struct ftc_lease *lease); /* the node that it follows; -1: none yet */
const struct ftc_set *ftc_lease_refused(const struct ftc_lease *lease);
/* The nodes that this node calls unheard: rule 8. */
const struct ftc_set *ftc_lease_unheard(const struct ftc_lease *lease);
/* Was the refused node silent, to a leader and to this node? Otherwise others cannot reach it. */
bool ftc_lease_silent(const struct ftc_lease *lease, int node);

/* The number of bytes of a message. */
size_t ftc_lease_size(const struct ftc_lease_message *message);
/* Write the bytes of a message. Returns their number; 0: `size` is too small. */
size_t ftc_lease_encode(const struct ftc_lease_message *message, unsigned char *bytes, size_t size);
/* Read a message. The box is initialised for the number of nodes, and the message points to it.
 * FTC_ERR_PROTO: the bytes are damaged. */
int ftc_lease_decode(struct ftc_lease_message *message, struct ftc_lease_box *box,
                     const unsigned char *bytes, size_t size);

#endif
