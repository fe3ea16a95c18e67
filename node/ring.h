/*
 * A ring carries bytes from one rank to another in the node segment. It has a single producer and a
 * single consumer.
 *
 * A ring begins small, on one page, because most pairs of ranks exchange little. Cells for messages
 * of few bytes are on a second one, and more of them behind it (node/cells.h). When the producer
 * expects a long message and the ring is empty, the ring grows: the producer moves on to the large
 * part behind these, and never goes back.
 *
 * Crash safety. The producer copies bytes in, then release-stores `written`. The consumer copies
 * bytes out, then release-stores `consumed`. A side that is killed at any instruction leaves the
 * other one a sound ring, in which bytes that were not published were never sent. Each side keeps a
 * private copy of its own position, and checks the position of the other side before use. So a
 * damaged word is FTC_ERR_PROTO and never leads out of the ring.
 */
#ifndef FTC_NODE_RING_H
#define FTC_NODE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/segment/segment.h"

#define FTC_RING_PAGE  4096u
#define FTC_RING_PAGES (2 * FTC_RING_PAGE)               /* the ring and the cells at first */
#define FTC_RING_CELLS (4 * FTC_RING_PAGE)               /* more cells, behind them */
#define FTC_RING_LARGE (FTC_RING_PAGES + FTC_RING_CELLS) /* where the large part begins */

struct ftc_ring_shared {
    /* Written by the producer. */
    _Alignas(64) _Atomic uint64_t written; /* bytes written since the start */
    _Atomic uint64_t grown;                /* 0: the ring is small; else 1 + `written` at growth */
    /* Written by the consumer. */
    _Alignas(64) _Atomic uint64_t consumed; /* bytes read since the start */
    _Atomic uint64_t returned;              /* cells read since the start (node/cells.h) */
    /* Written by both: the producer waits for room, and the consumer rings it after reading. */
    _Atomic uint32_t starved;
    _Alignas(64) unsigned char data[];
};

/* Bytes that fit into a small ring, and into one that has grown. */
#define FTC_RING_SMALL    (FTC_RING_PAGE - sizeof(struct ftc_ring_shared))
#define FTC_RING_CAPACITY (FTC_SEGMENT_RING_BYTES - FTC_RING_LARGE)

struct ftc_ring {
    struct ftc_ring_shared *shared;
    struct ftc_segment *segment;
    int from, to;
    uint64_t position; /* bytes that this side has written or read; trusted */
    uint64_t origin;   /* the position from which on the large part is used */
    bool large;
    bool denied; /* producer: /dev/shm had no room for the large part, so the ring stays small */
};

/* Producer: allocate the first pages. FTC_ERR_SYSTEM: /dev/shm is full. FTC_ERR_PROTO: the ring was
 * used before. */
int ftc_ring_create(struct ftc_ring *ring, struct ftc_segment *segment, int from, int to);
/* Consumer: call this only after the pending bit of `from` was seen set. */
void ftc_ring_attach(struct ftc_ring *ring, struct ftc_segment *segment, int from, int to);

/* Producer: copy up to `size` bytes in. Returns how many went in, or FTC_ERR_PROTO if a word of the
 * consumer is damaged. The consumer sees the bytes after ftc_ring_publish(). */
long ftc_ring_write(struct ftc_ring *ring, const void *bytes, size_t size);
void ftc_ring_publish(struct ftc_ring *ring);

/* Producer: `size` bytes will follow. The ring grows if that helps and it is empty. */
void ftc_ring_expect(struct ftc_ring *ring, size_t size);

/* Producer: the number of bytes that can be written now, or FTC_ERR_PROTO. */
long ftc_ring_room(const struct ftc_ring *ring);

/* Producer: there was no room, so ask the consumer to ring when there is. True: the next write need
 * not wait, because there is room after all, or a damaged word that it will report. */
bool ftc_ring_starve(struct ftc_ring *ring);

/* Consumer: the number of bytes that can be read now, or FTC_ERR_PROTO. */
long ftc_ring_available(struct ftc_ring *ring);
/* Consumer: copy up to `size` available bytes out. Returns how many. */
long ftc_ring_read(struct ftc_ring *ring, void *bytes, size_t size);
/* Consumer: free the room of the bytes that were read. True: the producer waits for room and must
 * be rung, with `urgent`. */
bool ftc_ring_release(struct ftc_ring *ring);

#endif
