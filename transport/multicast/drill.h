/*
 * Drills: what a network may do to datagrams, done on purpose at the receiver. All multicast
 * transports use this one implementation. All randomness follows from the seed and the receiving
 * rank, so a run can be repeated as far as the datagrams come in the same order.
 */
#ifndef FTC_TRANSPORT_MULTICAST_DRILL_H
#define FTC_TRANSPORT_MULTICAST_DRILL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "transport/multicast/datagram.h"

#define FTC_DRILL_CERTAIN 1000000u /* parts per million */
#define FTC_DRILL_HELD    8        /* datagrams that are held back or doubled at a time, at most */
#define FTC_DRILL_LATE    4        /* a datagram is late by 1 to this many others */

/* The probabilities for each sound datagram of another rank, in parts per million. */
struct ftc_multicast_drill {
    uint32_t loss_ppm;
    uint32_t duplicate_ppm;
    /* Held back until 1 to FTC_DRILL_LATE others are delivered, or nothing else is there. */
    uint32_t reorder_ppm;
    uint32_t corrupt_ppm; /* one random bit is flipped before the checksum is looked at */
    uint32_t foreign_ppm; /* a copy with the key of another job comes before it */
    uint64_t seed;
};

struct ftc_multicast_drilled {
    uint64_t lost, duplicated, reordered, corrupted, foreign;
};

/* A datagram that waits to be taken by the caller. */
struct ftc_multicast_held {
    struct ftc_datagram fields;
    struct ftc_buffer *payload;
    unsigned after; /* how many others go first */
};

struct ftc_multicast_drill_state {
    struct ftc_multicast_drill drill;
    struct ftc_multicast_drilled drilled;
    uint64_t random;
    struct ftc_multicast_held held[FTC_DRILL_HELD]; /* in the order in which they came */
    int count;
};

/* FTC_ERR_ARG: a probability is above one. */
int ftc_multicast_drill_init(struct ftc_multicast_drill_state *state,
                             const struct ftc_multicast_drill *drill, uint32_t rank);
void ftc_multicast_drill_fini(struct ftc_multicast_drill_state *state);

/* What happens to the bytes of a sound datagram. Each function says whether it happened. */
bool ftc_multicast_drill_loss(struct ftc_multicast_drill_state *state);
/* The caller makes the foreign datagram. */
bool ftc_multicast_drill_foreign(struct ftc_multicast_drill_state *state);
bool ftc_multicast_drill_corrupt(struct ftc_multicast_drill_state *state, unsigned char *bytes,
                                 size_t size);

/* Put in a datagram, with the caller's reference to its payload. It may be doubled or held back.
 * Before this call, everything that can be taken out must have been taken. */
void ftc_multicast_drill_put(struct ftc_multicast_drill_state *state,
                             const struct ftc_datagram *fields, struct ftc_buffer *payload);
/* Take out the next datagram whose turn it is. `idle`: no other datagram is there, so take one that
 * is held back, too. */
bool ftc_multicast_drill_take(struct ftc_multicast_drill_state *state, bool idle,
                              struct ftc_datagram *fields, struct ftc_buffer **payload);

#endif
