/*
 * The byte ring. It relies on three memory orders:
 *
 * - The bytes come before `written` (release; the acquire is in ftc_ring_available()).
 * - The copies of the consumer come before `consumed` (release; the acquire is in ftc_ring_room()).
 * - Two full fences decide whether the producer waits. The producer stores starved, fences, and
 *   reads consumed. The consumer stores consumed, fences, and reads starved. At least one of them
 *   sees the store of the other one, so that no producer waits for ever.
 */
#include "node/ring.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "node/cells.h"

_Static_assert(sizeof(struct ftc_ring_shared) == 128, "two cache lines, one for each side");

int ftc_ring_create(struct ftc_ring *ring, struct ftc_segment *segment, int from, int to)
{
    int rc = ftc_segment_ring_allocate(segment, from, to, 0, FTC_RING_PAGES);
    if (rc != 0)
        return rc;
    struct ftc_ring made = {
        .shared = ftc_segment_ring(segment, from, to), .segment = segment, .from = from, .to = to};
    if (atomic_load_explicit(&made.shared->written, memory_order_relaxed) != 0 ||
        atomic_load_explicit(&made.shared->returned, memory_order_relaxed) != 0 ||
        atomic_load_explicit(&ftc_ring_cells(made.shared)->mark, memory_order_relaxed) != 0)
        return ftc_error_set(
            FTC_ERR_PROTO,
            "the channel from rank %d to rank %d was used before: only one process "
            "may join as a rank",
            from, to);
    *ring = made;
    return 0;
}

void ftc_ring_attach(struct ftc_ring *ring, struct ftc_segment *segment, int from, int to)
{
    *ring = (struct ftc_ring){
        .shared = ftc_segment_ring(segment, from, to), .segment = segment, .from = from, .to = to};
}

static uint64_t capacity(const struct ftc_ring *ring)
{
    return ring->large ? FTC_RING_CAPACITY : FTC_RING_SMALL;
}

static int damaged(const struct ftc_ring *ring, const char *what, uint64_t value)
{
    return ftc_error_set(
        FTC_ERR_PROTO, "damaged channel from rank %d to rank %d: %s is %llu at position %llu",
        ring->from, ring->to, what, (unsigned long long)value, (unsigned long long)ring->position);
}

long ftc_ring_room(const struct ftc_ring *ring)
{
    uint64_t consumed = atomic_load_explicit(&ring->shared->consumed, memory_order_acquire);
    uint64_t used = ring->position - consumed;
    if (consumed > ring->position || used > capacity(ring))
        return damaged(ring, "consumed", consumed);
    return (long)(capacity(ring) - used);
}

/* Where the bytes of the part in use begin. */
static unsigned char *start(const struct ftc_ring *ring)
{
    return ring->large ? (unsigned char *)ring->shared + FTC_RING_LARGE : ring->shared->data;
}

/* The next `size` bytes lie in at most two pieces: *first bytes at the returned address, and the
 * others at start(). */
static unsigned char *piece(const struct ftc_ring *ring, size_t size, size_t *first)
{
    uint64_t offset = (ring->position - ring->origin) % capacity(ring);
    uint64_t until_end = capacity(ring) - offset;
    *first = size < until_end ? size : (size_t)until_end;
    return start(ring) + offset;
}

long ftc_ring_write(struct ftc_ring *ring, const void *bytes, size_t size)
{
    long free_bytes = ftc_ring_room(ring);
    if (free_bytes < 0)
        return free_bytes;
    if (size > (size_t)free_bytes)
        size = (size_t)free_bytes;
    size_t first;
    unsigned char *to = piece(ring, size, &first);
    memcpy(to, bytes, first);
    memcpy(start(ring), (const unsigned char *)bytes + first, size - first);
    ring->position += size;
    return (long)size;
}

void ftc_ring_publish(struct ftc_ring *ring)
{
    atomic_store_explicit(&ring->shared->written, ring->position, memory_order_release);
}

void ftc_ring_expect(struct ftc_ring *ring, size_t size)
{
    if (size <= FTC_RING_SMALL || ring->large || ring->denied)
        return;
    /* The ring must be empty: then the consumer is at our position, and takes the next byte from
     * the large part. */
    if (atomic_load_explicit(&ring->shared->consumed, memory_order_acquire) != ring->position)
        return;
    if (ftc_segment_ring_allocate(ring->segment, ring->from, ring->to, FTC_RING_LARGE,
                                  FTC_RING_CAPACITY) != 0) {
        ring->denied = true;
        return;
    }
    ring->large = true;
    ring->origin = ring->position;
    /* Published by the next release of `written`. */
    atomic_store_explicit(&ring->shared->grown, ring->position + 1, memory_order_relaxed);
}

bool ftc_ring_starve(struct ftc_ring *ring)
{
    atomic_store_explicit(&ring->shared->starved, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (ftc_ring_room(ring) == 0)
        return false;
    /* Also if a word is damaged, because the next write reports that. */
    atomic_store_explicit(&ring->shared->starved, 0, memory_order_relaxed);
    return true;
}

/* Consumer: follow the producer into the large part. */
static int follow(struct ftc_ring *ring)
{
    uint64_t grown = atomic_load_explicit(&ring->shared->grown, memory_order_relaxed);
    if (grown == 0 || ring->large)
        return 0;
    if (grown - 1 != ring->position)
        return damaged(ring, "grown", grown);
    ring->large = true;
    ring->origin = ring->position;
    return 0;
}

long ftc_ring_available(struct ftc_ring *ring)
{
    /* Read this before `grown`, so that bytes of the large part are never seen without it. */
    uint64_t written = atomic_load_explicit(&ring->shared->written, memory_order_acquire);
    int rc = follow(ring);
    if (rc != 0)
        return rc;
    uint64_t available = written - ring->position;
    if (available > capacity(ring))
        return damaged(ring, "written", written);
    return (long)available;
}

long ftc_ring_read(struct ftc_ring *ring, void *bytes, size_t size)
{
    long available = ftc_ring_available(ring);
    if (available < 0)
        return available;
    if (size > (size_t)available)
        size = (size_t)available;
    size_t first;
    const unsigned char *from = piece(ring, size, &first);
    memcpy(bytes, from, first);
    memcpy((unsigned char *)bytes + first, start(ring), size - first);
    ring->position += size;
    return (long)size;
}

bool ftc_ring_release(struct ftc_ring *ring)
{
    atomic_store_explicit(&ring->shared->consumed, ring->position, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&ring->shared->starved, memory_order_relaxed) != 0 &&
           atomic_exchange_explicit(&ring->shared->starved, 0, memory_order_relaxed) != 0;
}
