/*
 * What the ranks of a node have in shared memory while operations go over two levels
 * (docs/design/nodes.md, "Two levels"): posts, and the decision words of delegates. levels.c runs
 * the operations.
 */
#ifndef FTC_RUNTIME_ALGORITHMS_POSTS_H
#define FTC_RUNTIME_ALGORITHMS_POSTS_H

#include "collectives/values/blocks.h"
#include "collectives/values/types.h"
#include "node/board/level.h"
#include "runtime/algorithms/doze.h"
#include "runtime/comm/comm.h"

/* A reduce whose senders go on: the post of this rank for it, which is in place round mod W. */
struct ftc_sum {
    bool sent; /* this rank has sent the sum */
    uint64_t round, op;
    struct ftc_signature signature;
    struct ftc_epoch epoch; /* of the post */
    struct ftc_reduction reduction;
};

struct ftc_levels {
    struct ftc_level *shared;
    int *first_ranks; /* the lowest rank of each node, and then the size of the communicator */
    int first, end;   /* this node has the ranks first .. end - 1 */
    uint64_t round;   /* number of the round under way, or of the next */
    struct ftc_request *waiting; /* the member has not got its call yet; NULL: none waits */
    bool leads; /* this rank is the delegate, and its member has got the call for the node */
    /* The call under way; else NULL. */
    const struct ftc_call *call;
    int root;               /* root of the call if it is on this node; else -1 */
    bool compared;          /* the delegate was found to be in the same call */
    bool gathers;           /* the delegate waits for all posts of this round */
    int posted;             /* the delegate waits for the post of this rank and those behind it */
    struct ftc_set missing; /* ranks of the node that have failed without a post */
    struct ftc_doze doze;   /* of waits for broadcasts in a row */
    int writer;             /* the rank whose decision word was found; -1: none was found yet */
    struct ftc_sum sum[FTC_LEVEL_PLACES]; /* by round */
    uint64_t needed; /* bits: the posts of these sums may still be needed (nodes.md, S7) */
    int wants;       /* this rank waits for room until this root has a sum; -1: it does not */
    struct ftc_set missing_of_sum; /* while a sum is made: the same for its round */
    unsigned char *input;          /* the combined input of the node, or the set of a validate */
    struct ftc_block *block;       /* one for each rank of the node: their inputs that stay apart */
    struct ftc_value list;         /* these blocks, as the input of the node */
};

/* --- of this rank --- */

/* Writes the post of this rank for the round under way, or for the next one. */
void ftc_posts_write(struct ftc_comm *comm, const struct ftc_call *call);
/* Writes the post for the call under way, and rings the delegate if it may wait for the post. */
void ftc_posts_post(struct ftc_comm *comm, const struct ftc_call *call);
/* Rings the ranks of the node from `first` to `end` - 1. */
void ftc_posts_ring(struct ftc_comm *comm, int first, int end);

/* --- waiting --- */

bool ftc_posts_knows_failed(const struct ftc_comm *comm, int rank); /* is it in this rank's L? */
/* The delegate by this rank's L: the root if it is here and not in L, else the lowest rank of the
 * node outside of L. */
int ftc_posts_delegate(const struct ftc_comm *comm);
/* Is the wait of this rank over? The decision word is there (levels->writer >= 0), or this rank is
 * the delegate, and has the posts or the room that it needs. */
bool ftc_posts_ready(struct ftc_comm *comm);

/* --- records of others. One that cannot be, or that is of another call, ends the job --- */

/* The size of what each rank posts: its input, or the greatest one where contributions stay apart;
 * L for a validate; nothing for a broadcast. */
size_t ftc_posts_size(const struct ftc_comm *comm, const struct ftc_call *call);
void ftc_posts_read(struct ftc_comm *comm, enum ftc_level_kind kind, int rank,
                    struct ftc_level_record *record);
/* The data of a post or a word, which must be of `size` bytes, or of no more where contributions
 * stay apart. */
const unsigned char *ftc_posts_data(struct ftc_comm *comm, const struct ftc_level_record *record,
                                    size_t size);
/* `rank` calls another operation number `op` than `own`, by its post or its word. */
_Noreturn void ftc_posts_mismatch(struct ftc_comm *comm, uint64_t op,
                                  const struct ftc_signature *own, int rank,
                                  const struct ftc_signature *theirs);
/* The post of `rank` is damaged ("Damage"): accuses the rank once. If it is this rank, ends it. */
void ftc_posts_accuse(struct ftc_comm *comm, int rank);
_Noreturn void ftc_posts_damaged(struct ftc_comm *comm, const char *what);

#endif
