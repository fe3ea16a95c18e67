/*
 * Messages of gossip aggregation on the wire: this head, then what ftc_gossip_receive() takes. It
 * travels beside the messages of the agreement core, which have a kind in the same place.
 *
 *   u8 version | u8 kind | u8 algorithm | u8 neighbourhood | u8 turns (0, 255) | u8 operator | u16 0 |
 *   u64 op | u64 count | u64 checksum | letter
 *
 * The checksum is that of the head and of the letter's own head, which nothing else protects. The
 * algorithm heals the flows that follow.
 *
 * Everything read is untrusted.
 */
#ifndef FTC_COLLECTIVES_GOSSIP_WIRE_H
#define FTC_COLLECTIVES_GOSSIP_WIRE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "collectives/gossip/gossip.h"

#define FTC_GOSSIP_HEAD (32 + FTC_GOSSIP_LETTER_HEAD) /* bytes, with that of the letter */

/* What all ranks of an operation have to agree on, so that a mismatch is named. */
struct ftc_gossip_head {
    uint64_t op; /* of the communicator, that of its first agreement */
    uint64_t count;
    uint8_t algorithm, neighbourhood, turns, operator_code;
};

/* A buffer of FTC_GOSSIP_HEAD bytes, which the rest of this letter follows; NULL: out of memory. */
struct ftc_buffer *ftc_gossip_head_encode(const struct ftc_gossip_head *head, const void *letter);

/* Is it one of these, and none of the agreement core? */
bool ftc_gossip_is_message(const struct ftc_buffer *buffer);

/* The head, and where in the buffer the letter is. FTC_ERR_CORRUPT: a bit has turned over, on the
 * way or before; head->turns is right all the same. FTC_ERR_PROTO: it makes no sense as it was
 * sent. */
int ftc_gossip_head_decode(const struct ftc_buffer *buffer, struct ftc_gossip_head *head,
                           const unsigned char **letter, size_t *size);

/* Do both name the same operation in the same way? */
bool ftc_gossip_head_equal(const struct ftc_gossip_head *a, const struct ftc_gossip_head *b);

#endif
