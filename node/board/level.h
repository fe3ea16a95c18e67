/*
 * Two levels on one node (docs/design/nodes.md, "Two levels"): what a rank posts for an operation,
 * and the decision word of its node. Each rank has FTC_LEVEL_PLACES records of either kind, which
 * the rounds use in turn, where the board would have its data: a job of several nodes has no board.
 * Operations over two levels are numbered in rounds, alike at all ranks.
 *
 * One object per process; not thread-safe. It waits for nobody and wakes nobody.
 */
#ifndef FTC_NODE_BOARD_LEVEL_H
#define FTC_NODE_BOARD_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/message.h"
#include "node/segment/segment.h"

#define FTC_LEVEL_MOST   (1u << 17) /* bytes of the largest value */
#define FTC_LEVEL_PLACES 4u /* of a round's record the next one but so many takes the place */

enum ftc_level_kind { FTC_LEVEL_POST, FTC_LEVEL_WORD };

/* What a record says. */
struct ftc_level_record {
    struct ftc_signature signature;
    struct ftc_epoch epoch;      /* POST: of its writer */
    struct ftc_ballot_id ballot; /* WORD: that first decided it */
    int status;                  /* WORD */
    const unsigned char *set;    /* WORD: the failed set, ftc_set_bytes() of the ranks */
    const unsigned char *data;   /* `size` bytes, aligned for any type */
    size_t size;
};

struct ftc_level;

/* FTC_ERR_NOMEM; FTC_ERR_SYSTEM: /dev/shm is full. */
int ftc_level_open(struct ftc_level **out, struct ftc_segment *segment, int rank);
void ftc_level_close(struct ftc_level *level); /* NULL is legal */

/* Write this rank's record of a round, its mark last (release). FTC_ERR_SYSTEM: /dev/shm is
 * full. */
int ftc_level_write(struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                    const struct ftc_level_record *record);

/* Is `rank`'s record of this round there (acquire)? */
bool ftc_level_marked(const struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                      int rank);
/* Read one that is. What it refers to stays until this rank has posted for a later round.
 * FTC_ERR_PROTO: it cannot be. */
int ftc_level_read(const struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                   int rank, struct ftc_level_record *record);

#endif
