/*
 * Exhaustive exploration of small communicators: every interleaving and every crash point of the
 * product's own members. Every promise of docs/design/agreement.md ("What the simulator must
 * establish") is checked in each state.
 *
 * A global state is: the state of each member (sim/explore/local.h), the messages on the way in
 * each channel, the deaths that each rank has still to be told of, the timers, and the number of
 * crashes left. The events are those of the model: a rank outside the library makes its next call,
 * the first message of a channel arrives, a rank is told of a death, a timer fires, a rank crashes.
 * Messages of a dead sender may arrive at any later time or never. Messages to a dead rank vanish.
 * The search is depth-first. It remembers states by hash (sim/explore/visited.h).
 *
 * The search has four reductions. Each keeps every reachable violation. limits.plain turns all of
 * them off, for comparison.
 * - There is no crash between two outputs of one step. A death after output j of k is a special
 *   case of a death after output k: each of the remaining outputs is at the end of its channel, and
 *   may never arrive. Such runs are explored.
 * - A crash happens together with the first notice of it. Between crash and notice the rank took no
 *   step, and all others went on as if it were only slow. So the crash can be delayed: it commutes
 *   with their steps, and every promise asks more while the rank still lives. A terminal state has
 *   no notice left to tell, so no crash gets lost.
 * - An input that changes nothing (no output, the same state) is taken at once, before all other
 *   events. Such a message is stale or a duplicate. Ballots, epochs, L and operations only go
 *   forward, so it has no effect later either. (Only a PULL that is asked twice in one ballot would
 *   have one; rule 6 sends no such PULL.)
 * - The deliveries of an operation are forgotten once every running rank has delivered it. No
 *   promise looks back further than the slowest rank.
 */
#ifndef FTC_SIM_EXPLORE_EXPLORE_H
#define FTC_SIM_EXPLORE_EXPLORE_H

#include "collectives/agreement/member.h"
#include "sim/model/program.h"

struct ftc_explore_result;

#define FTC_EXPLORE_RANKS 8

struct ftc_explore_limits {
    int crashes;
    bool unfenced; /* mutation: a rank that was declared failed goes on acting */
    /* Mutations of two levels. late_word: a delegate returns before it has written the decision
     * word of its node. late_look: a rank takes in messages and notices without looking at the word
     * first. no_epoch: a post of another history counts. */
    bool late_word, late_look, no_epoch;
    /* mutation of two levels: a broadcast does not wait until its node has called the operation
     * before */
    bool far_ahead;
    /* mutation of two levels: a broadcast with a reduce does not wait until its node has called
     * it */
    bool no_gather;
    bool overwrites; /* mutation: a post is written over though its sum may still be needed */
    bool no_resend;  /* mutation: a new delegate sends no sum of a call that it has returned from */
    bool plain;      /* no reductions */
    bool outcomes;   /* count distinct outcomes, for comparisons */
    uint64_t states; /* 0: no limit */
    size_t bytes;    /* size of the set of states; 0: no limit */
    uint64_t shorten; /* most transitions to spend on the search for a shorter counter-example */
    /* A promise in addition to those of the product, for tests of the explorer itself. It returns a
     * text if `rank` must not deliver `op` with a decision of this ballot; else NULL. */
    const char *(*promise)(int rank, int op, struct ftc_ballot_id ballot);
    /* Called about every 2^16 states. May be NULL. */
    void (*progress)(void *arg, const struct ftc_explore_result *so_far);
    void *progress_arg;
};

struct ftc_explore_result {
    bool violated, exhausted; /* exhausted: all states were visited */
    uint64_t states, transitions, terminal;
    /* number of distinct ends (the dead ranks, and the states of the others), and their hash */
    uint64_t outcomes, outcome_sum;
    int depth; /* length of the longest path */
    uint32_t local_states, local_steps, messages, queues;
    uint32_t decisions; /* of members */
    uint32_t verdicts;  /* of processes: how often the judge was asked */
    size_t bytes;
    double collisions;    /* expected number */
    int length;           /* number of events of the counter-example */
    char violation[400];  /* the broken promise; "" */
    char incomplete[200]; /* why the search is not exhausted; "" */
    char *path;           /* the counter-example, a line for each event; NULL: none */
    char *replay;         /* the command that replays it; NULL: there is none */
};

/* 0 with a result, or FTC_ERR_ARG or FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_explore(const struct ftc_member_settings *settings, const struct ftc_program *program,
                const struct ftc_explore_limits *limits, struct ftc_explore_result *result);

/* The same for whole processes: each has all its communicators, and runs the program of `story`
 * over them (docs/design/communicators.md). Of the story, only settings, items, slots, threads,
 * owners and `refusing` count: deaths and the order of events are explored, with all promises that
 * the judge of the storms checks (sim/communicators/communicators.h).
 *
 * With limits.plain there is still no crash between two outputs of one step. An input that changes
 * nothing is taken at once only if it changes nothing at any later time either: once a communicator
 * is forgotten, some messages are answered. Deliveries are not forgotten. The mutations in `limits`
 * are ignored. */
struct ftc_comms_story;
int ftc_explore_communicators(const struct ftc_comms_story *story,
                              const struct ftc_explore_limits *limits,
                              struct ftc_explore_result *result);
void ftc_explore_result_fini(struct ftc_explore_result *result);

#endif
