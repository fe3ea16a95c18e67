/*
 * Values between the ranks of a host, in memory that they share: a channel for each rank, of slots
 * that its readers take one after the other.
 */
#ifndef FTC_BENCH_FLOOR_BOARD_H
#define FTC_BENCH_FLOOR_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/peers/signals.h"

#define BOARD_RANKS 64
#define BOARD_SLOTS 8
#define BOARD_PIECE 65536 /* bytes of a slot */

struct channel {
    struct signal posted;
    struct signal seen[BOARD_RANKS]; /* how many posts each reader has taken */
    unsigned char slots[BOARD_SLOTS][BOARD_PIECE];
};

/* Each rank of the host has its own copy of this struct. */
struct board {
    int self, ranks; /* numbers on this host */
    const struct patience *patience;
    struct channel *channels; /* shared; one for each rank */
    unsigned posts;           /* of this rank */
    unsigned taken[BOARD_RANKS];
};

/* Make the memory, before the ranks are forked. Returns false if there is none. */
bool board_open(struct board *board, int ranks);

/* Returns the slot of the next post of this rank, once the ranks first .. last have taken what was
 * in it. board_post() posts what was written there. */
unsigned char *board_slot(struct board *board, int first, int last);
void board_post(struct board *board);

/* Returns the next post of a rank, once it is there. board_took() gives its slot back. */
const unsigned char *board_next(struct board *board, int from);
void board_took(struct board *board, int from);

/* Take all posts of all ranks for read. All ranks must be at rest before, and wait for each other
 * afterwards. Then other ranks may read. */
void board_forget(struct board *board);

#endif
