/*
 * The memory of a board, or of two levels, for some ranks of a node: a file of its own in /dev/shm.
 * Each of these ranks opens it by the same name, in any order. A file whose pages nobody has
 * written is a sound board, and has no record of two levels. So it does not matter how far a rank
 * came that died meanwhile. When all have opened it, each removes the name. The kernel takes the
 * memory back when the last of them closes it or dies. When all have left the communicator of a
 * board, another one may take its memory over.
 */
#ifndef FTC_NODE_SEGMENT_BOARD_FILE_H
#define FTC_NODE_SEGMENT_BOARD_FILE_H

#include <stdint.h>

#include "node/segment/board_memory.h"
#include "node/segment/segment.h"

struct ftc_board_file;

/* Open the file of the communicator `number`, whose lowest rank on this node has the number
 * `lowest` in the job, and make it if it is not there. It has room for `ranks` ranks.
 * FTC_ERR_SYSTEM: /dev/shm is full, or a limit is reached; FTC_ERR_NOMEM. */
int ftc_board_file_open(struct ftc_board_file **out, const struct ftc_segment *segment,
                        uint64_t number, int lowest, int ranks);
/* The same for the records of two levels (node/board/level.h), of the ranks of this node: the file
 * has areas alone. The first `head` bytes of each are allocated. */
int ftc_board_file_open_areas(struct ftc_board_file **out, const struct ftc_segment *segment,
                              uint64_t number, int lowest, int ranks, size_t head);
/* Remove the name. Another rank may have done so. */
void ftc_board_file_unlink(const struct ftc_board_file *file);
/* Unmaps the memory when its last user closes it. The name stays if nobody has removed it. NULL is
 * legal. */
void ftc_board_file_close(struct ftc_board_file *file);

/* Another user of this process, which closes it, too. */
struct ftc_board_file *ftc_board_file_share(struct ftc_board_file *file);
/* All its ranks have left its last communicator, and now use it for another one: clear it. Each of
 * them does so before any of them uses it. */
void ftc_board_file_renew(struct ftc_board_file *file);
/* Which communicator of this memory it is for, counted from 1. */
uint64_t ftc_board_file_use(const struct ftc_board_file *file);
/* This rank has left that one, of which `rank` is its rank. Has another rank left use `use`, or a
 * later one? FTC_ERR_PROTO: its word is damaged. */
void ftc_board_file_leave(struct ftc_board_file *file, int rank);
int ftc_board_file_has_left(const struct ftc_board_file *file, uint64_t use, int rank);
/* Is it revoked? Look after that. */
bool ftc_board_file_is_revoked(const struct ftc_board_file *file);

const struct ftc_board_memory *ftc_board_file_memory(const struct ftc_board_file *file);

#endif
