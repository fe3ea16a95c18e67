/*
 * What a network may do to datagrams, made to happen at the receiver: one implementation for all
 * multicast transports. Everything that is random follows from the seed and the receiving rank, so
 * a run can be repeated as far as the datagrams come alike.
 */
#ifndef FTC_TRANSPORT_MULTICAST_DRILL_H
#define FTC_TRANSPORT_MULTICAST_DRILL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "transport/multicast/datagram.h"

#define FTC_DRILL_CERTAIN 1000000u /* parts per million */
#define FTC_DRILL_HELD    8        /* datagrams held back or doubled at one time, at most */
#define FTC_DRILL_LATE    4        /* a datagram is late by 1 to that many others */

/* Probabilities for each sound datagram of another rank, in parts per million. */
struct ftc_multicast_drill {
    uint32_t loss_ppm;
    uint32_t duplicate_ppm;
    uint32_t
        reorder_ppm; /* held back until the next 1..FTC_DRILL_LATE were given, or nothing else is to be received */
    uint32_t corrupt_ppm; /* one random bit flipped, before the checksum is looked at */
    uint32_t foreign_ppm; /* it comes once more, before, with the key of another communicator */
    uint64_t seed;
};

struct ftc_multicast_drilled {
    uint64_t lost, duplicated, reordered, corrupted, foreign;
};

/* A datagram on its way to the caller. */
struct ftc_multicast_held {
    struct ftc_datagram fields;
    struct ftc_buffer *payload;
    unsigned after; /* others that go first */
};

struct ftc_multicast_drill_state {
    struct ftc_multicast_drill drill;
    struct ftc_multicast_drilled drilled;
    uint64_t random;
    struct ftc_multicast_held held[FTC_DRILL_HELD]; /* in the order in which they came */
    int count;
};

/* FTC_ERR_ARG: a probability above one. */
int ftc_multicast_drill_init(struct ftc_multicast_drill_state *state,
                             const struct ftc_multicast_drill *drill, uint32_t rank);
void ftc_multicast_drill_fini(struct ftc_multicast_drill_state *state);

/* What befalls the bytes of a sound datagram. Each returns whether it struck. */
bool ftc_multicast_drill_loss(struct ftc_multicast_drill_state *state);
bool ftc_multicast_drill_foreign(
    struct ftc_multicast_drill_state *state); /* the caller makes the foreign one */
bool ftc_multicast_drill_corrupt(struct ftc_multicast_drill_state *state, unsigned char *bytes,
                                 size_t size);

/* Put in a datagram, with the caller's reference to its payload; it may be doubled or held back.
 * All that can be taken out must have been. */
void ftc_multicast_drill_put(struct ftc_multicast_drill_state *state,
                             const struct ftc_datagram *fields, struct ftc_buffer *payload);
/* Take out the next one whose turn it is; with `idle`, since no other is to come before, one that
 * is held back too. */
bool ftc_multicast_drill_take(struct ftc_multicast_drill_state *state, bool idle,
                              struct ftc_datagram *fields, struct ftc_buffer **payload);

#endif
