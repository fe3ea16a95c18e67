/*
 * Which rank waits for which, and for which rank all of them wait in the end. This is shown to
 * people (ftcoll-status, ftrun --timeout); no protocol reads it.
 *
 * Each rank that waits names one rank for which it waits. These links make chains, and some chains
 * run into a cycle. A cycle whose ranks are in calls of different communicators is a deadlock of
 * the program, if it stands: it calls operations of these communicators in different orders.
 */
#ifndef FTC_NODE_SEGMENT_CHAIN_H
#define FTC_NODE_SEGMENT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "node/segment/segment.h"

#define FTC_CHAIN_PAUSE_NS (10 * FTC_NS_PER_MS)

struct ftc_chain_link {
    int next;    /* the rank for which this one waits; -1: none, or the chain is to end here */
    bool passes; /* it waits in a send or a receive */
    /* Two looks, FTC_CHAIN_PAUSE_NS apart, saw the same wait in the same call. */
    bool stands;
    uint64_t communicator;            /* of the call that the rank is in; 0: it is in none */
    char name[FTC_COMMUNICATOR_NAME]; /* of this communicator, to be shown */
    /* ftc_chain_follow() sets the rest. */
    int end;       /* the rank where the chain ends; the lowest of a cycle. -1: it waits for none */
    int waiters;   /* how many ranks wait for this one in the end */
    int cycle;     /* > 0: so many ranks wait for each other, and this one is the lowest of them */
    bool deadlock; /* with `cycle`: it goes through several communicators, and stands */
};

#define FTC_SHOWN_NODES 8 /* a node shows its ranks to so many others at a time, in turn */

/* How often a node does so: seldom where nodes have many ranks, to keep the cost the same. */
static inline uint64_t ftc_shown_every_ns(int ranks, int nodes)
{
    return (1 + (uint64_t)(ranks / nodes) / 256) * FTC_NS_PER_S;
}

/* The ranks of a job of several nodes are shown elsewhere late: all nodes have had their turn, and
 * the words take as long again. There a wait stands only if its call is that old. `passes`: it
 * waits in a send or a receive. These have no numbers, so only their age tells a long wait from
 * several short ones. */
static inline uint64_t ftc_chain_least_age_ns(int ranks, int nodes, bool passes)
{
    uint64_t turns = nodes > 1 ? (uint64_t)(nodes - 2) / FTC_SHOWN_NODES + 1 : 0;
    uint64_t age_ns = 2 * turns * ftc_shown_every_ns(ranks, nodes);

    return passes && age_ns == 0 ? FTC_NS_PER_S : age_ns;
}

/*
 * Follow the chains of `count` ranks. A link to a rank that is in a call of another communicator,
 * and a link of a send or a receive to a rank that is in any call, count only if they stand: there
 * are no numbers of operations to compare, so the awaited message may be under way. `next` becomes
 * -1 for a link that does not count.
 */
void ftc_chain_follow(struct ftc_chain_link *links, int count);

/* The communicator of a call as it is shown: its name, or else its number, and " (revoked)" for an
 * agreement after a revoke. The name is untrusted: only its printable ASCII is taken. */
char *ftc_chain_communicator(const struct ftc_activity *activity, uint64_t number,
                             char text[FTC_COMMUNICATOR_NAME]);

/* The send, receive, probe, or wait for such requests that a rank shows. */
struct ftc_chain_message {
    int kind;          /* enum ftc_history_kind; 0: it shows no such call, and all else is 0 */
    uint32_t role;     /* FTC_WAIT_MESSAGE, _RECEIVER or _REST; nonsense counts as the first */
    int rank;          /* the other end, a rank of the job; -1: any */
    int tag;           /* -1: any */
    uint32_t requests; /* > 1: it waits for any of so many, and names no message */
    uint64_t bytes;    /* size of the caller's buffer; UINT64_MAX: it has none */
};
/* Copies what the activity says. Any value in it will do. */
void ftc_chain_look(const struct ftc_activity *activity, struct ftc_chain_message *message);
/* What follows the name of the call: "from 3, tag 7, 4096 B". */
#define FTC_CHAIN_MESSAGE 96
char *ftc_chain_message_words(const struct ftc_chain_message *message,
                              char text[FTC_CHAIN_MESSAGE]);

/* A deadlock in words: "ranks 3 and 5 wait for each other: rank 3 in rows for rank 5, rank 5 in
 * columns for rank 3". `lowest` is its lowest rank. A long cycle is cut. */
#define FTC_CHAIN_TEXT 1024
char *ftc_chain_words(const struct ftc_chain_link *links, int lowest, char text[FTC_CHAIN_TEXT]);

#endif
