/*
 * Several nodes in virtual time. Each node has an agent with a lease (detector/lease/lease.h),
 * ranks, and a clock of its own. All ranks are members of one communicator
 * (collectives/agreement/member.h). Messages between nodes are delayed, and channels are cut.
 * Nodes, agents and ranks are paused or die between any two steps.
 *
 * A run checks the promises of docs/design/nodes.md and, by the ledger, those of agreement.md:
 * - a rank that may still return from a call, or is still heard, is not declared failed;
 * - a node that lost ends;
 * - a quorum whose nodes can talk goes on and finishes;
 * - a node to which nothing has happened does not end while a backed leader can renew its lease;
 * - no rank hangs.
 *
 * A run follows from its seed and frame alone, bit for bit.
 */
#ifndef FTC_SIM_NODES_NODES_H
#define FTC_SIM_NODES_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/storm/storm.h"

#define FTC_NODES_MOST    12
#define FTC_NODES_USUAL   7 /* most nodes of nearly all runs */
#define FTC_NODES_RANKS   3 /* most ranks of a node */
#define FTC_NODES_STRIKES 24
#define FTC_NODES_PERIOD  (UINT64_C(50) * 1000 * 1000) /* heartbeat period P, ns */
#define FTC_NODES_TIMEOUT (20 * FTC_NODES_PERIOD)      /* heartbeat timeout T */
#define FTC_NODES_WORDS   400

/* Deliberate faults of the code that drives the objects; the simulator must find them. Those of the
 * objects are in detector/mutation.h. */
enum ftc_nodes_fault {
    FTC_NODES_SOUND,
    FTC_NODES_UNCHECKED, /* a rank returns from a call without a look at its lease */
    FTC_NODES_STAYS, /* an agent goes on for a while after it has told the exit of its last rank */
    FTC_NODES_BY_L,  /* harmless: a node leaves the base when all its ranks are in L, not in G */
    FTC_NODES_FAULTS
};
const char *ftc_nodes_fault_name(enum ftc_nodes_fault fault); /* "sound", "unchecked", ... */

struct ftc_nodes_frame {
    int least, most; /* number of nodes; 0, 0: 2 to FTC_NODES_USUAL, seldom FTC_NODES_MOST */
    enum ftc_nodes_fault fault;
};

enum ftc_nodes_strike_kind {
    FTC_NODES_KILL_RANK,
    FTC_NODES_KILL_RANKS, /* all ranks of a node, one after the other */
    FTC_NODES_KILL_AGENT, /* its ranks follow */
    FTC_NODES_KILL_HOST,  /* agent and ranks at once */
    FTC_NODES_PAUSE_RANK,
    FTC_NODES_PAUSE_AGENT,
    FTC_NODES_PAUSE_HOST,
    FTC_NODES_CUT,   /* from a to b, one way */
    FTC_NODES_PAIR,  /* both ways */
    FTC_NODES_SPLIT, /* the nodes of `side` from all others, both ways */
    FTC_NODES_DEAF,  /* a hears no node of `side` */
    FTC_NODES_STRIKES_KINDS
};

#define FTC_NODES_LEADER (-1) /* in place of a node: the leader at that moment */
#define FTC_NODES_LOWEST (-2) /* ... the lowest node whose agent is alive */

struct ftc_nodes_strike {
    enum ftc_nodes_strike_kind kind;
    uint64_t at_ns;
    /* for pauses and deaths: it strikes after so many more outputs of the victim */
    uint64_t delay_outputs;
    uint64_t span_ns; /* length of a pause or cut */
    int a, b;         /* nodes, or a rank */
    unsigned side;    /* set of nodes, as bits */
};

/* A run before it begins. It must not be moved, because its parts point to each other. */
struct ftc_nodes_story {
    uint64_t seed, random;
    enum ftc_nodes_fault fault;
    struct ftc_storm storm;               /* settings and program */
    int greetings;                        /* most nodes that a node greets in a round */
    int arity;                            /* most children in the tree of a leader */
    int nodes, first[FTC_NODES_MOST + 1]; /* the ranks of node i are first[i] .. first[i + 1] - 1 */
    int64_t offset_ns[FTC_NODES_MOST], rate_ppm[FTC_NODES_MOST]; /* offset and drift of its clock */
    uint64_t start_ns[FTC_NODES_MOST];
    uint64_t delay_ns; /* longest delay of a message */
    uint64_t think_ns; /* longest time between two calls */
    /* no node dies, and pauses and cuts are short and far apart: no node may be refused */
    bool gentle;
    struct ftc_nodes_strike strike[FTC_NODES_STRIKES];
    int strikes;
    /* From here on no strike comes. When the pauses are over, the only cuts left are those of
     * `side` and `apart`. */
    uint64_t calm_ns;
    unsigned side; /* 0: none */
    /* the nodes from which it stays cut off, both ways; only where `side` is 0 */
    unsigned apart[FTC_NODES_MOST];
    /* the node that is in all of these pairs; -1: there are no pairs, or they have no common
     * node */
    int centre;
};

/* Sums over runs. */
struct ftc_nodes_sums {
    uint64_t runs, nodes, ranks;
    /* leaders: elections that were won; the others count nodes */
    uint64_t leaders, refused, declared, fenced;
    uint64_t ranks_died, ranks_ended; /* ended: by their own look at the lease, or by their agent */
    uint64_t cuts, pauses;
    uint64_t decided; /* operations that at least one rank delivered */
    /* of those: a decision died with all ranks that had it, and another decision took its place */
    uint64_t forgotten;
    uint64_t late; /* messages dropped because their node was refused */
    /* Numbers of runs. went_on: a quorum had to go on. lost: some nodes had to end. cut: the run
     * ended cut in two. none: no rank was left. */
    uint64_t went_on, lost, cut, none;
    uint64_t apart; /* runs that ended with cut pairs of nodes */
    uint64_t events;
};

void ftc_nodes_draw(struct ftc_nodes_story *story, const struct ftc_nodes_frame *frame,
                    uint64_t seed);

/* Run the story. Returns whether all promises were kept; the first broken one is in `violation`.
 * Adds to *sums. `log` gets each step that matters; it may be NULL. */
bool ftc_nodes_run(const struct ftc_nodes_story *story, struct ftc_nodes_sums *sums, FILE *log,
                   char violation[FTC_NODES_WORDS]);

#endif
