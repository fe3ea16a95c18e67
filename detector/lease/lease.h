/*
 * Which nodes go on when some are silent (docs/design/nodes.md): the part of one node's agent,
 * without I/O. A leader that a quorum backs grants leases; who has none ends itself; a silent node
 * is declared failed only when everyone else has stopped to listen to it and its lease has run out.
 * So no two nodes that are heard ever disagree about who is alive, whatever is cut, paused or late.
 *
 * Use. ftc_lease_start(); then ftc_lease_receive() for each message, and ftc_lease_tick() at
 * ftc_lease_due() or earlier; after each of them ftc_lease_next_output() until there is none.
 * Messages may be lost or doubled, but must come in order between two nodes. All times are ns of
 * this node's monotonic clock; the clocks of different nodes may differ by anything, and run at
 * rates that differ by 1 %.
 *
 * With T the timeout and P the period: E = T/5 is how long a promise and a leader's backing hold, L
 * = T/2 how long a lease. A node that dies, or is cut off, is declared failed within T + 2P, the
 * leader as well, where messages take less than P/2 and nodes are not paused. Of two nodes that
 * cannot reach each other, while both reach the leader, one is declared failed within 1.5 T + 2P
 * (detector/apart.h). Nobody is ended by a cut that heals, or a pause that is over, within T/5.
 *
 * Belongs to one thread. Messages are untrusted as far as their bytes go: ftc_lease_decode() checks
 * them.
 */
#ifndef FTC_DETECTOR_LEASE_LEASE_H
#define FTC_DETECTOR_LEASE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/set.h"

enum ftc_lease_kind {
    FTC_LEASE_BEAT, /* leader -> node: rule 1 */
    FTC_LEASE_ECHO, /* node -> leader */
    FTC_LEASE_PROBE, /* would you vote? changes nothing, so that a node that was cut off for a moment disturbs nobody */
    FTC_LEASE_WOULD,
    FTC_LEASE_ASK, /* vote for me in this term */
    FTC_LEASE_VOTE,
    FTC_LEASE_HELLO, /* to everybody, each T/10: rule 8 */
    FTC_LEASE_KINDS
};

struct ftc_lease_message {
    enum ftc_lease_kind kind;
    uint64_t term;
    uint64_t
        leader_ns; /* by the leader's clock. BEAT: when it was sent; ECHO: of the beat that it answers */
    uint64_t
        node_ns; /* by the node's. ECHO, VOTE: when it was sent; BEAT: of the last of these, 0: it grants nothing */
    const struct ftc_set *refused, *declared, *unheard; /* of the sender; not owned */
};

struct ftc_lease_settings {
    int self, nodes;
    uint64_t timeout_ns, period_ns; /* timeout >= 20 periods */
};

struct ftc_lease;

enum ftc_lease_output_kind {
    FTC_LEASE_SEND,   /* message to node */
    FTC_LEASE_FENCE,  /* this node has lost: kill the ranks and end; nothing comes after it */
    FTC_LEASE_REFUSE, /* take in nothing that this node's agent or ranks send, from now to the end */
    FTC_LEASE_DECLARE, /* all ranks of this node have failed */
};
struct ftc_lease_output {
    enum ftc_lease_output_kind kind;
    int node;
    struct ftc_lease_message message; /* SEND; its sets are valid until the next input */
};

/* FTC_ERR_NOMEM; FTC_ERR_ARG with cause and remedy: timeout and period do not fit. */
int ftc_lease_create(struct ftc_lease **out, const struct ftc_lease_settings *settings);
void ftc_lease_destroy(struct ftc_lease *lease); /* NULL is legal */

/* Once, when all nodes have been met: node 0 leads. */
void ftc_lease_start(struct ftc_lease *lease, uint64_t now_ns);
void ftc_lease_receive(struct ftc_lease *lease, int from, const struct ftc_lease_message *message,
                       uint64_t now_ns);
void ftc_lease_tick(struct ftc_lease *lease, uint64_t now_ns);
/* This node has stopped for certain, or all its ranks are in G: it counts for no quorum any more.
 * This node itself: it has no rank left and takes part in nothing from now on, without FENCE;
 * nobody may be told of its last exit before. */
void ftc_lease_left(struct ftc_lease *lease, int node, uint64_t now_ns);
/* This node's ranks cannot reach ranks of that one, or can again: rule 8. */
void ftc_lease_reach(struct ftc_lease *lease, int node, bool reached);
bool ftc_lease_next_output(struct ftc_lease *lease, struct ftc_lease_output *output);

/* Call tick() then at the latest; UINT64_MAX: it takes part in nothing any more. */
uint64_t ftc_lease_due(const struct ftc_lease *lease);
/* Ranks return from no call after this time; 0: there is no lease yet. */
uint64_t ftc_lease_until(const struct ftc_lease *lease);
int ftc_lease_leader(const struct ftc_lease *lease); /* that this node follows; -1: nobody yet */
const struct ftc_set *ftc_lease_refused(const struct ftc_lease *lease);
const struct ftc_set *
ftc_lease_unheard(const struct ftc_lease *lease); /* who cannot reach this node: rule 8 */

/* The bytes of a message; at most FTC_LEASE_BYTES(nodes). Returns their number. */
#define FTC_LEASE_BYTES(nodes) (25 + 3 * (4 + (size_t)(nodes) / 8 + 8))
size_t ftc_lease_encode(const struct ftc_lease_message *message, unsigned char *bytes, size_t size);
/* The sets are initialised for the number of nodes; the message points to them. FTC_ERR_PROTO. */
int ftc_lease_decode(struct ftc_lease_message *message, struct ftc_set *refused,
                     struct ftc_set *declared, struct ftc_set *unheard, const unsigned char *bytes,
                     size_t size);

#endif
