/*
 * Messages of gossip aggregation on the wire: a head, and after it what ftc_gossip_receive() takes.
 * They travel beside the messages of the agreement core, which have their kind in the same place.
 *
 *   u8 version | u8 kind | u8 algorithm | u8 neighbourhood | u64 communicator | u8 turns (0, 255) |
 *   u8 operator | u16 0 | u64 op | u64 count | u64 0 | u64 checksum | letter
 *
 * The checksum covers this head and the head of the letter, which nothing else protects. The flows
 * that follow are protected by the algorithm, which heals them.
 *
 * All that is read is untrusted.
 */
#ifndef FTC_COLLECTIVES_GOSSIP_WIRE_H
#define FTC_COLLECTIVES_GOSSIP_WIRE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "collectives/gossip/gossip.h"

#define FTC_GOSSIP_HEAD (48 + FTC_GOSSIP_LETTER_HEAD) /* bytes; with the letter's head */

/* What all ranks of an operation must have in common. If they do not, the mismatch is named. */
struct ftc_gossip_head {
    uint64_t communicator; /* its number (collectives/frame.h) */
    uint64_t op;           /* number of the aggregation's first agreement */
    uint64_t count;
    uint8_t algorithm, neighbourhood, turns, operator_code;
};

/* Makes a buffer of FTC_GOSSIP_HEAD bytes. The rest of the letter is to be sent after it. NULL: out
 * of memory. */
struct ftc_buffer *ftc_gossip_head_encode(const struct ftc_gossip_head *head, const void *letter);

/* Is this a message of gossip, and not one of the agreement core? */
bool ftc_gossip_is_message(const struct ftc_buffer *buffer);

/* Reads the head, and finds the letter in the buffer. FTC_ERR_CORRUPT: a bit has turned over, on
 * the way or before; head->turns is right all the same. FTC_ERR_PROTO: the message makes no sense,
 * and is as it was sent. */
int ftc_gossip_head_decode(const struct ftc_buffer *buffer, struct ftc_gossip_head *head,
                           const unsigned char **letter, size_t *size);

/* Do both heads name the same operation in the same way? */
bool ftc_gossip_head_equal(const struct ftc_gossip_head *a, const struct ftc_gossip_head *b);

#endif
