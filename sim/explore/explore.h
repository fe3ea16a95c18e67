/*
 * Exhaustive exploration of small communicators: every interleaving and every crash point over the
 * product's own members, with every promise of docs/design/agreement.md ("What the simulator must
 * establish") checked in each state.
 *
 * A global state is: the state of each member (sim/explore/local.h), the messages on the way in
 * each channel, the deaths not yet told to whom, timers, and the number of crashes left. Events are
 * those of the model: a rank outside makes its next call, the first message of a channel arrives, a
 * death is told, a timer fires, a rank crashes. Messages of a dead sender may arrive at any later
 * time or never; those to a dead rank vanish. The search is depth-first; states are remembered by
 * hash (sim/explore/visited.h).
 *
 * Reductions; each keeps every reachable violation (limits.plain turns all of them off, for
 * comparison):
 * - No crash between two outputs of one step. Dying after the j-th of k outputs is no more than
 *   dying after the last one when the rest of them, each at the end of its channel, never arrives:
 *   such runs are explored.
 * - A crash happens together with the first notice of it. Between the two the rank took no step and
 *   everyone else went on as if it were merely slow; a crash delayed commutes with their steps, and
 *   every promise asks more while the rank still lives. A terminal state has no notice left to
 *   tell, so no crash gets lost.
 * - An input that changes nothing (no output, the same state) is taken at once, before anything
 *   else. Such a message is stale or a duplicate; ballots, epochs, L and operations only go
 *   forward, so it has no effect later either. (A PULL that is asked twice in one ballot is the one
 *   message that would; rule 6 sends none.)
 * - What members delivered is forgotten of operations that every running rank has delivered: no
 *   promise looks back further than the slowest one.
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
    /* mutations of two levels: a delegate returns before it has written its node's decision word; a
     * rank takes in messages and notices without a look at the word before */
    bool late_word, late_look, no_epoch; /* ...; a post of another history counts */
    bool
        far_ahead; /* ...; a broadcast does not wait until its node has called the operation before */
    bool no_gather;   /* ...; nor one with a reduce until its node has called it */
    bool plain;       /* no reductions */
    bool outcomes;    /* count distinct outcomes, for comparisons */
    uint64_t states;  /* 0: no limit */
    size_t bytes;     /* of the set of states; 0: no limit */
    uint64_t shorten; /* transitions to spend on a shorter counter-example */
    /* A promise on top of the product's, for tests of the explorer itself: words if `rank` must not
     * deliver `op` as it was decided in this ballot, else NULL. */
    const char *(*promise)(int rank, int op, struct ftc_ballot_id ballot);
    /* Called every 2^16 states or so; NULL: not. */
    void (*progress)(void *arg, const struct ftc_explore_result *so_far);
    void *progress_arg;
};

struct ftc_explore_result {
    bool violated, exhausted; /* exhausted: all states were seen */
    uint64_t states, transitions, terminal;
    uint64_t outcomes,
        outcome_sum; /* distinct ways to end (who is dead, states of the others), and their hash */
    int depth;       /* of the longest path */
    uint32_t local_states, local_steps, messages, queues, decisions;
    size_t bytes;
    double collisions;    /* expected */
    int length;           /* events of the counter-example */
    char violation[400];  /* the broken promise; "" */
    char incomplete[200]; /* why not exhausted; "" */
    char *path;           /* the counter-example, a line for each event; NULL: none */
    char *replay;         /* the command that replays it; NULL: there is none */
};

/* 0 with a result, or FTC_ERR_ARG or FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_explore(const struct ftc_member_settings *settings, const struct ftc_program *program,
                const struct ftc_explore_limits *limits, struct ftc_explore_result *result);
void ftc_explore_result_fini(struct ftc_explore_result *result);

#endif
