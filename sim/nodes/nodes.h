/*
 * Several nodes in virtual time: an agent with a lease (detector/lease/lease.h) on each, its ranks,
 * all members of one communicator (collectives/agreement/member.h), between them channels that are
 * late or cut, and clocks of their own. Nodes, agents and ranks are paused and die between any two
 * steps. Judged are the promises of docs/design/nodes.md and, by the ledger, those of agreement.md:
 * nobody is declared failed who may still return from a call or is heard; who lost ends; a quorum
 * that can talk goes on and finishes; nobody hangs.
 *
 * A run follows from its seed and frame alone, bit for bit.
 */
#ifndef FTC_SIM_NODES_NODES_H
#define FTC_SIM_NODES_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/storm/storm.h"

#define FTC_NODES_MOST    7
#define FTC_NODES_RANKS   3 /* of a node, at most */
#define FTC_NODES_STRIKES 24
#define FTC_NODES_PERIOD  (UINT64_C(50) * 1000 * 1000) /* P, ns */
#define FTC_NODES_TIMEOUT (20 * FTC_NODES_PERIOD)      /* T */
#define FTC_NODES_WORDS   400

/* Faults of who drives the objects, to be found; those of the objects are in
 * detector/mutation.h. */
enum ftc_nodes_fault {
    FTC_NODES_SOUND,
    FTC_NODES_UNCHECKED, /* ranks return from calls without a look at their lease */
    FTC_NODES_STAYS, /* an agent goes on for a while when it has told the exit of its last rank */
    FTC_NODES_BY_L, /* harmless: the base shrinks by L, when all ranks of a node are known failed */
    FTC_NODES_FAULTS
};
const char *ftc_nodes_fault_name(enum ftc_nodes_fault fault); /* "sound", "unchecked", ... */

struct ftc_nodes_frame {
    int least, most; /* nodes; 0, 0: 2 to FTC_NODES_MOST */
    enum ftc_nodes_fault fault;
};

enum ftc_nodes_strike_kind {
    FTC_NODES_KILL_RANK,
    FTC_NODES_KILL_RANKS, /* all of a node, one after the other */
    FTC_NODES_KILL_AGENT, /* its ranks follow */
    FTC_NODES_KILL_HOST,  /* agent and ranks at once */
    FTC_NODES_PAUSE_RANK,
    FTC_NODES_PAUSE_AGENT,
    FTC_NODES_PAUSE_HOST,
    FTC_NODES_CUT,   /* from a to b, one way */
    FTC_NODES_PAIR,  /* both ways */
    FTC_NODES_SPLIT, /* `side` from all others, both ways */
    FTC_NODES_DEAF,  /* a hears nobody in `side` */
    FTC_NODES_STRIKES_KINDS
};

#define FTC_NODES_LEADER (-1) /* as a node: who leads at that moment */

struct ftc_nodes_strike {
    enum ftc_nodes_strike_kind kind;
    uint64_t at_ns;
    uint64_t delay_outputs; /* pauses and deaths: so many outputs of the victim later */
    uint64_t span_ns;       /* of pauses and cuts */
    int a, b;               /* nodes, or a rank */
    unsigned side;          /* nodes, as bits */
};

/* A run before it begins. Must not be moved: its parts point to each other. */
struct ftc_nodes_story {
    uint64_t seed, random;
    enum ftc_nodes_fault fault;
    struct ftc_storm storm;               /* settings and program */
    int nodes, first[FTC_NODES_MOST + 1]; /* the ranks of node i are first[i] .. first[i + 1] - 1 */
    int64_t offset_ns[FTC_NODES_MOST], rate_ppm[FTC_NODES_MOST]; /* of its clock */
    uint64_t start_ns[FTC_NODES_MOST];
    uint64_t delay_ns; /* of a message, at most */
    uint64_t think_ns; /* between two calls, at most */
    bool gentle; /* no node dies; pauses and cuts are short and apart: nobody may be refused */
    struct ftc_nodes_strike strike[FTC_NODES_STRIKES];
    int strikes;
    uint64_t
        calm_ns; /* no strike comes any more; when pauses are over no cut is left but `side` from the others */
    unsigned side; /* 0: none */
    unsigned
        apart[FTC_NODES_MOST]; /* who stays cut off from whom, both ways, where there is no side */
    int centre; /* in all of these pairs; -1: there are none, or they have none in common */
};

/* Sums over runs. */
struct ftc_nodes_sums {
    uint64_t runs, nodes, ranks;
    uint64_t leaders, refused, declared, fenced; /* elections that were won; nodes */
    uint64_t ranks_died, ranks_ended; /* ended: by their look at the lease, or by their agent */
    uint64_t cuts, pauses;
    uint64_t decided; /* operations that somebody delivered */
    uint64_t
        forgotten; /* ... of which a decision died with all who had it, and another took its place */
    uint64_t late; /* messages dropped since their node was refused */
    uint64_t went_on, lost, cut,
        none; /* runs: a quorum had to go on; some side had to end; ended cut in two; no rank was left */
    uint64_t apart; /* runs that ended with pairs that are cut */
    uint64_t events;
};

void ftc_nodes_draw(struct ftc_nodes_story *story, const struct ftc_nodes_frame *frame,
                    uint64_t seed);

/* Run it: were all promises kept? The first broken one in `violation`. Adds to *sums. `log`: each
 * step that matters, or NULL. */
bool ftc_nodes_run(const struct ftc_nodes_story *story, struct ftc_nodes_sums *sums, FILE *log,
                   char violation[FTC_NODES_WORDS]);

#endif
