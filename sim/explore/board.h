/*
 * Two levels (docs/design/nodes.md) while exploring: what the ranks of a node have on their board,
 * as words of a global state. A rank posts; when all of its node have posted or are known failed it
 * gathers, that is, its member takes the call; a delegate that has delivered writes its node's
 * decision word, and returns only then; the others of the node take the decision from there.
 *
 * What was posted and written stays when a rank dies. Each of these steps is an event of its own: a
 * rank may die between any two.
 */
#ifndef FTC_SIM_EXPLORE_BOARD_H
#define FTC_SIM_EXPLORE_BOARD_H

#include "sim/explore/state.h"

/* The FTC_EXPLORE_BOARD_WORDS words of a state behind the others: posts (4 bits each), who is about
 * to write; the two latest decision words of each node, in 16 bits: number + 1; L as posted for a
 * validate and the epoch of a post, in 8 bits each; of the dead what they last delivered before
 * they posted, in 16 bits: number + 1. */

/* Is there a board, and does operation `op` go over it? */
bool ftc_explore_board_is(const struct ftc_exploration *x, int op);
/* ... and the next one of `rank`, with the G that it has? */
bool ftc_explore_board_takes(const struct ftc_exploration *x, const struct ftc_state *state,
                             int rank);

/* Which of these can `rank` do? No other input of its member comes before ADOPT or WRITE. */
bool ftc_explore_board_posts(const struct ftc_exploration *x, const struct ftc_state *state,
                             int rank);
bool ftc_explore_board_gathers(const struct ftc_exploration *x, const struct ftc_state *state,
                               int rank);
bool ftc_explore_board_adopts(const struct ftc_exploration *x, const struct ftc_state *state,
                              int rank);
bool ftc_explore_board_writes(const struct ftc_exploration *x, const struct ftc_state *state,
                              int rank);
bool ftc_explore_board_busy(const struct ftc_exploration *x, const struct ftc_state *state,
                            int rank);

/* What its member is told then (local.h). */
uint32_t ftc_explore_board_gathered(const struct ftc_exploration *x, const struct ftc_state *state,
                                    int rank);
uint32_t ftc_explore_board_adopted(const struct ftc_exploration *x, const struct ftc_state *state,
                                   int rank);

void ftc_explore_board_post(const struct ftc_exploration *x, struct ftc_state *state, int rank);
void ftc_explore_board_write(struct ftc_exploration *x, struct ftc_state *state, int rank);
/* By its own part, not from the word. */
void ftc_explore_board_delivered(const struct ftc_exploration *x, struct ftc_state *state, int rank,
                                 const struct ftc_local_delivery *delivery);
void ftc_explore_board_dies(const struct ftc_exploration *x, struct ftc_state *state, int rank);
/* Words that nobody will look at any more are cleared: states that differ in them only are the
 * same. */
void ftc_explore_board_tidy(const struct ftc_exploration *x, struct ftc_state *state);

/* Has it posted for `op`? */
bool ftc_explore_board_has_posted(const struct ftc_exploration *x, const struct ftc_state *state,
                                  int rank, int op);
/* A value counts ranks that went on from the same decision as who delivers it. */
void ftc_explore_board_check_counted(struct ftc_exploration *x, const struct ftc_state *state,
                                     int rank, const struct ftc_local_delivery *delivery,
                                     uint32_t to);

#endif
