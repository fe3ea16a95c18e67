/*
 * Exploration of two levels (docs/design/nodes.md): the board of each node, as words of a global
 * state.
 *
 * A rank posts. When all ranks of its node have posted or are known failed, it gathers: its member
 * takes the call. A delegate that has delivered writes the decision word of its node, and returns
 * only then. The other ranks of the node take the decision from that word.
 *
 * Posts and words stay when a rank dies. Each of these steps is an event of its own, because a rank
 * may die between any two.
 */
#ifndef FTC_SIM_EXPLORE_BOARD_H
#define FTC_SIM_EXPLORE_BOARD_H

#include "sim/explore/state.h"

/* A state ends with FTC_EXPLORE_BOARD_WORDS words for the boards:
 * - posts, 4 bits for each rank;
 * - which ranks are about to write, 1 bit each;
 * - the two latest decision words of each node, 16 bits each: number + 1;
 * - L as posted for a validate, 8 bits for each rank;
 * - the two latest posts of each rank, 16 bits each: 256 times (operation + 1), plus the epoch;
 * - for each dead rank what it last delivered before it posted, 16 bits: number + 1;
 * - for each rank the operations whose sum it has sent, 8 bits;
 * - for each node those whose sum is known to be taken, 8 bits. */

/* Is there a board, and does operation `op` use it? */
bool ftc_explore_board_is(const struct ftc_exploration *x, int op);
/* Does the next operation of `rank` use it, with the G that `rank` has? */
bool ftc_explore_board_takes(const struct ftc_exploration *x, const struct ftc_state *state,
                             int rank);

/* Which of these steps can `rank` take? Its member takes no other input before ADOPT or WRITE. */
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

/* The input (local.h) that its member then gets. */
uint32_t ftc_explore_board_gathered(const struct ftc_exploration *x, const struct ftc_state *state,
                                    int rank);
uint32_t ftc_explore_board_adopted(const struct ftc_exploration *x, const struct ftc_state *state,
                                   int rank);

/* Does `rank` go on at once when it posts for its next operation (nodes.md, S2)? */
bool ftc_explore_board_goes_on(const struct ftc_exploration *x, const struct ftc_state *state,
                               int rank);
/* Can `rank` send the sum of its node for `op` (S3, S4)? The input that its member then gets. */
bool ftc_explore_board_sums(const struct ftc_exploration *x, const struct ftc_state *state,
                            int rank, int op);
uint32_t ftc_explore_board_sum(const struct ftc_exploration *x, const struct ftc_state *state,
                               int rank, int op);
void ftc_explore_board_sent(const struct ftc_exploration *x, struct ftc_state *state, int rank,
                            int op);
/* `rank` writes that the sums of its node for `op` and earlier reduces are taken (S6). */
void ftc_explore_board_taken(const struct ftc_exploration *x, struct ftc_state *state, int rank,
                             int op);

void ftc_explore_board_post(const struct ftc_exploration *x, struct ftc_state *state, int rank);
void ftc_explore_board_write(struct ftc_exploration *x, struct ftc_state *state, int rank);
/* `rank` has delivered by its own member, not from the decision word. */
void ftc_explore_board_delivered(const struct ftc_exploration *x, struct ftc_state *state, int rank,
                                 const struct ftc_local_delivery *delivery);
void ftc_explore_board_dies(const struct ftc_exploration *x, struct ftc_state *state, int rank);
/* Clear words that no rank will look at any more, so that states that differ only in such words are
 * the same. */
void ftc_explore_board_tidy(const struct ftc_exploration *x, struct ftc_state *state);

/* Has `rank` posted for `op`? */
bool ftc_explore_board_has_posted(const struct ftc_exploration *x, const struct ftc_state *state,
                                  int rank, int op);
/* Check that a value counts only ranks that went on from the same decision as the rank that
 * delivers it. */
void ftc_explore_board_check_counted(struct ftc_exploration *x, const struct ftc_state *state,
                                     int rank, const struct ftc_local_delivery *delivery,
                                     uint32_t to);

#endif
