/*
 * Reduces over two levels whose senders go on (docs/design/nodes.md, S1 to S8): what this rank has
 * posted and may still be needed, and the sums that it owes. levels.c runs the calls.
 */
#ifndef FTC_RUNTIME_ALGORITHMS_SUMS_H
#define FTC_RUNTIME_ALGORITHMS_SUMS_H

#include "runtime/algorithms/posts.h"

/* Is this rank the one that sends the sums of its node, by its L? */
bool ftc_sums_is_delegate(const struct ftc_comm *comm);
/* May this rank write a post of so many bytes for its next round (S7)? */
bool ftc_sums_has_room(const struct ftc_comm *comm, size_t size);
/* The round under way writes over the one that was W before. */
void ftc_sums_overwritten(struct ftc_levels *levels);
/* This rank has posted for such a reduce, which is its next operation, and is not its root. */
void ftc_sums_posted(struct ftc_comm *comm, const struct ftc_call *call);
/* Sends the sums that this rank owes and whose posts are there. */
void ftc_sums_send(struct ftc_comm *comm);
/* Does this rank owe a sum? Is one complete? */
bool ftc_sums_owed(const struct ftc_comm *comm);
bool ftc_sums_ready(const struct ftc_comm *comm);
/* Must this rank, the root of the round under way, answer at the delivery (S6)? */
bool ftc_sums_must_answer(const struct ftc_levels *levels, size_t size);
/* The roots have the sums of this node for `op` and earlier ones (S6). */
void ftc_sums_taken(struct ftc_comm *comm, uint64_t op);
/* Writes the taken word of a round, and rings the ranks of the node. */
void ftc_sums_write_word(struct ftc_comm *comm, uint64_t round,
                         const struct ftc_signature *signature);
/* This rank has delivered an operation that gathered from all nodes. */
void ftc_sums_collected(struct ftc_comm *comm);

#endif
