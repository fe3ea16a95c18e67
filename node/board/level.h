/*
 * The records of two levels on one node (docs/design/nodes.md, "Two levels"): the post of a rank
 * for an operation, and the decision word of a delegate. Each rank has FTC_LEVEL_PLACES records of
 * either kind, and FTC_LEVEL_BLOCKS blocks for data that does not fit into its record. The rounds
 * use both in turn. They lie in the areas of the board, because a job of
 * several nodes does not use the board. Each operation over two levels is a round, and rounds are
 * numbered alike at all ranks.
 *
 * A process has one object. It is not thread-safe. It neither waits nor wakes anybody.
 */
#ifndef FTC_NODE_BOARD_LEVEL_H
#define FTC_NODE_BOARD_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/message.h"
#include "node/segment/board_file.h"
#include "node/segment/segment.h"

#define FTC_LEVEL_MOST   (1u << 17) /* bytes of the largest value */
#define FTC_LEVEL_PLACES 64u        /* W: the record of round r + W overwrites that of round r */
#define FTC_LEVEL_BLOCKS 4u         /* B: data in a block of round r + B overwrites that of r */
/* The records of a rank without larger data: so many bytes at the beginning of its area. */
#define FTC_LEVEL_HEAD 36864u

enum ftc_level_kind { FTC_LEVEL_POST, FTC_LEVEL_WORD };

/* The contents of a record. */
struct ftc_level_record {
    struct ftc_signature signature;
    struct ftc_epoch epoch;      /* POST: the epoch of its writer */
    struct ftc_ballot_id ballot; /* WORD: the ballot that first decided */
    uint32_t write_offs;         /* WORD: of the decision */
    int status;                  /* WORD */
    /* WORD: the failed set, in ftc_set_bytes(ranks) bytes. NULL when written: the word is a mark
     * alone, which nobody reads. */
    const unsigned char *set;
    const unsigned char *data; /* `size` bytes, aligned for any type */
    size_t size;
};

struct ftc_level;

/* Memory beside the records for the ranks of a node that combine large values there
 * (collectives/large/exchange.h). */
struct ftc_level_large {
    unsigned char *areas; /* that of the lowest rank of this node; on a page */
    size_t stride;        /* bytes from one rank's area to that of the next rank */
    size_t room;          /* bytes of an area for what is combined */
    size_t half;          /* bytes of each of two halves behind them */
};

struct ftc_level_setup {
    /* Where the records lie. A file has areas for the ranks of this node alone. NULL: in the
     * segment. */
    struct ftc_segment *segment;
    const struct ftc_board_file *file;
    uint64_t communicator; /* its number, in each record */
    int rank, ranks;       /* of this process, and how many there are in the communicator */
    int first, count;      /* the ranks of this node are first .. first + count - 1 */
};

/* FTC_ERR_NOMEM. FTC_ERR_SYSTEM: /dev/shm is full. */
int ftc_level_open(struct ftc_level **out, const struct ftc_level_setup *setup);
void ftc_level_close(struct ftc_level *level); /* NULL is legal */

/* Write the record of this rank for a round, with its mark last (release). FTC_ERR_SYSTEM: /dev/shm
 * is full. */
int ftc_level_write(struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                    const struct ftc_level_record *record);

/* After how many rounds a record with `size` bytes of data is overwritten, or its data: W or B. */
unsigned ftc_level_turns(const struct ftc_level *level, enum ftc_level_kind kind, size_t size);

/* Is the record of `rank` for this round marked (acquire)? */
bool ftc_level_marked(const struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                      int rank);
/* The same for a WORD, or the word of a later round has taken its place. */
bool ftc_level_passed(const struct ftc_level *level, uint64_t round, int rank);
/* The same as marked for a POST, and nobody has begun to overwrite its data. */
bool ftc_level_stands(const struct ftc_level *level, uint64_t round, int rank);
/* Read a marked record. Its set and data are valid until this rank has posted for a later round.
 * FTC_ERR_PROTO: its contents are impossible. */
int ftc_level_read(const struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                   int rank, struct ftc_level_record *record);

/* Says that this rank waits until the record of a round may be overwritten (seq_cst). The rank
 * looks for that afterwards. */
void ftc_level_await(struct ftc_level *level, uint64_t round);
/* Does `rank` wait for this round? For a rank that has written (seq_cst) what the other one looks
 * for. */
bool ftc_level_awaits(const struct ftc_level *level, uint64_t round, int rank);

struct ftc_level_large ftc_level_large(const struct ftc_level *level);
/* Allocates `size` bytes of this rank's area from `offset` on, where the room begins or a half.
 * FTC_ERR_SYSTEM: /dev/shm is full. */
int ftc_level_reserve_large(struct ftc_level *level, size_t offset, size_t size);

#endif
