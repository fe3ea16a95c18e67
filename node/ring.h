/*
 * A byte ring from one rank to another in the node segment: single producer, single consumer.
 *
 * A ring begins small, on one page, since most pairs of ranks exchange little; a producer that
 * expects a long message while the ring is empty moves on to the large part behind it, once and for
 * good.
 *
 * Crash safety: the producer copies bytes in, then release-stores `written`; the consumer copies
 * bytes out, then release-stores `consumed`. Killed at any instruction, either leaves the other a
 * sound ring: bytes not published were never sent. Both sides keep private copies of their own
 * position and check the other's before use, so that a damaged word cannot lead out of the ring:
 * FTC_ERR_PROTO.
 */
#ifndef FTC_NODE_RING_H
#define FTC_NODE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/segment/segment.h"

#define FTC_RING_PAGE 4096u

struct ftc_ring_shared {
    _Alignas(64) _Atomic uint64_t written; /* bytes ever written; the producer */
    _Atomic uint64_t grown; /* 0: small; else 1 + written when it grew; the producer */
    _Alignas(64) _Atomic uint64_t consumed; /* bytes ever read; the consumer */
    _Atomic uint32_t starved; /* the producer waits for room: ring it after consuming; both sides */
    _Alignas(64) unsigned char data[];
};

/* Bytes that fit: before, and after the ring has grown. */
#define FTC_RING_SMALL    (FTC_RING_PAGE - sizeof(struct ftc_ring_shared))
#define FTC_RING_CAPACITY (FTC_SEGMENT_RING_BYTES - FTC_RING_PAGE)

struct ftc_ring {
    struct ftc_ring_shared *shared;
    struct ftc_segment *segment;
    int from, to;
    uint64_t position; /* own side's: trusted */
    uint64_t origin;   /* position at which the large part began to be used */
    bool large;
    bool
        denied; /* producer: /dev/shm had no room for the large part; the small one goes on working */
};

/* Producer: allocate the first page. FTC_ERR_SYSTEM when /dev/shm is full, FTC_ERR_PROTO if the
 * ring was used before. */
int ftc_ring_create(struct ftc_ring *ring, struct ftc_segment *segment, int from, int to);
/* Consumer: only after the pending bit of `from` was seen set. */
void ftc_ring_attach(struct ftc_ring *ring, struct ftc_segment *segment, int from, int to);

/* Producer: copy up to `size` bytes in; returns how many went in, FTC_ERR_PROTO if the other side's
 * word is damaged. Not visible before ftc_ring_publish(). */
long ftc_ring_write(struct ftc_ring *ring, const void *bytes, size_t size);
void ftc_ring_publish(struct ftc_ring *ring);

/* Producer: `size` bytes are to follow. Lets the ring grow if that helps and it is empty. */
void ftc_ring_expect(struct ftc_ring *ring, size_t size);

/* Producer: bytes that can be written now, or FTC_ERR_PROTO. */
long ftc_ring_room(const struct ftc_ring *ring);

/* Producer: there was no room; ask to be rung. True if there is room after all. */
bool ftc_ring_starve(struct ftc_ring *ring);

/* Consumer: bytes available, or FTC_ERR_PROTO. */
long ftc_ring_available(struct ftc_ring *ring);
/* Consumer: copy up to `size` available bytes out; returns how many. */
long ftc_ring_read(struct ftc_ring *ring, void *bytes, size_t size);
/* Consumer: give the room back; true if the producer waits for it and must be rung (urgently). */
bool ftc_ring_release(struct ftc_ring *ring);

#endif
