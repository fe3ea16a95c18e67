/*
 * Sending. A message goes straight into the ring if there is room and nothing waits. Otherwise it
 * goes into the peer's queue, which flush() empties as the receiver gives room back. The straight
 * way does not allocate memory. It makes no system call while the receiver is awake.
 */
#include "transport/shm/internal.h"

#include <assert.h>

#include "base/cpu.h"
#include "base/error.h"

/* --- frames --- */

static uint64_t frame_total(const struct ftc_frame *frame)
{
    return sizeof(frame->header) + frame->header.head + frame->header.value;
}

static size_t size_of(const struct ftc_value *value)
{
    return value != NULL && value->buffer != NULL ? value->size : 0;
}

static void frame_init(struct ftc_frame *frame, struct ftc_buffer *head,
                       const struct ftc_value *value, bool urgent)
{
    uint64_t size = size_of(value);
    *frame = (struct ftc_frame){.head = head, .urgent = urgent};
    frame->header = (struct ftc_frame_header){.magic = FTC_FRAME_MAGIC,
                                              .check = ftc_frame_check(head->size, size),
                                              .head = head->size,
                                              .value = size};
    /* Without a reference of its own until the frame is queued. */
    if (value != NULL && value->buffer != NULL)
        frame->value = *value;
}

/* --- into the ring --- */

/* The bytes of the frame from `sent` on, as far as they lie together. */
static const unsigned char *next_piece(const struct ftc_frame *frame, size_t *size)
{
    uint64_t at = frame->sent;
    if (at < sizeof(frame->header)) {
        *size = sizeof(frame->header) - (size_t)at;
        return (const unsigned char *)&frame->header + at;
    }
    at -= sizeof(frame->header);
    if (at < frame->head->size) {
        *size = frame->head->size - (size_t)at;
        return frame->head->data + at;
    }
    at -= frame->head->size;
    *size = frame->value.size - (size_t)at;
    return ftc_value_bytes(&frame->value) + at;
}

/* Write as much of the frame as there is room for, and its cell. 0, or FTC_ERR_PROTO. */
static int fill(struct ftc_ring *ring, struct ftc_frame *frame)
{
    while (frame->sent < frame_total(frame)) {
        size_t size;
        const unsigned char *bytes = next_piece(frame, &size);
        long written = ftc_ring_write(ring, bytes, size);
        if (written < 0)
            return (int)written;
        frame->sent += (uint64_t)written;
        if ((size_t)written < size)
            break;
    }
    return 0;
}

/* Something is published. If the pending bit is clear, it is set, and then the bell is rung. So a
 * receiver that sees the bit (acquire in take_pending) sees the bytes, and a receiver that is rung
 * sees the bit. If the bit is set, the full fence orders what was published before the look. A
 * receiver that clears the bit fences, too, and then looks for what was published (rest() in
 * receive.c). So at least one of the two sees what the other one has stored. */
FTC_HOT static void announce(struct ftc_shm *shm, const struct ftc_shm_peer *peer, bool urgent)
{
    int place = shm->setup.self - shm->first;
    uint64_t bit = 1ull << (place % 64);
    _Atomic uint64_t *word = &ftc_segment_pending_row(shm->setup.segment, peer->rank)[place / 64];

    atomic_thread_fence(memory_order_seq_cst);
    if ((atomic_load_explicit(word, memory_order_relaxed) & bit) != 0) {
        ftc_bell_ring_fenced(shm->setup.bell, peer->rank, urgent);
        return;
    }
    atomic_fetch_or_explicit(word, bit, memory_order_release);
    ftc_bell_ring(shm->setup.bell, peer->rank, urgent);
}

/* Write a message into cells. Returns as push() does. */
FTC_HOT static int push_cells(struct ftc_shm *shm, struct ftc_shm_peer *peer,
                              const struct ftc_buffer *head, const struct ftc_value *value,
                              bool urgent)
{
    struct ftc_cells_sizes sizes = {head->size, size_of(value)};
    const void *bytes = sizes.value > 0 ? ftc_value_bytes(value) : NULL;
    int rc;

    do
        rc = ftc_cells_write(&peer->cells_out, sizes, head->data, bytes);
    while (rc == 0 && ftc_cells_starve(&peer->cells_out, sizes.head + sizes.value));
    if (rc == 1)
        announce(shm, peer, urgent || peer->urgent_queued > 0);
    return rc;
}

/* The cell of a frame in the ring. There is room for it. */
static int tell(struct ftc_shm_peer *peer, struct ftc_frame *frame)
{
    int rc = frame->told
                 ? 1
                 : ftc_cells_write(&peer->cells_out, (struct ftc_cells_sizes){0, 0}, NULL, NULL);
    frame->told = true;
    return rc < 0 ? rc : 0;
}

static bool fits_cells(const struct ftc_frame *frame)
{
    return frame->header.head + frame->header.value <= FTC_CELLS_MOST;
}

/* Write a frame into the ring, or into cells. 1: it is all in. 0: there is no room, and the
 * receiver knows that this end waits. FTC_ERR_PROTO. */
static int push(struct ftc_shm *shm, struct ftc_shm_peer *peer, struct ftc_frame *frame)
{
    if (fits_cells(frame))
        return push_cells(shm, peer, frame->head, &frame->value, frame->urgent);
    while (!frame->told) {
        int rc = ftc_cells_room(&peer->cells_out, 0);
        if (rc < 0)
            return rc;
        if (rc == 1)
            break;
        if (!ftc_cells_starve(&peer->cells_out, 0))
            return 0;
    }
    for (;;) {
        uint64_t before = frame->sent;
        /* A ring that was full of small messages grows, too. */
        ftc_ring_expect(&peer->out, (size_t)(frame_total(frame) - before) +
                                        (peer->was_full ? FTC_RING_SMALL : 0));
        int rc = fill(&peer->out, frame);
        if (rc == 0 && frame->sent != before) {
            ftc_ring_publish(&peer->out);
            rc = tell(peer, frame);
        }
        if (rc != 0)
            return rc;
        if (frame->sent != before)
            announce(shm, peer, frame->urgent || peer->urgent_queued > 0);
        if (frame->sent == frame_total(frame))
            return 1;
        if (!ftc_ring_starve(&peer->out))
            return 0;
    }
}

static bool is_shut(const struct ftc_shm_peer *peer)
{
    return peer->closed || peer->damaged || peer->reported;
}

/* The channel to a peer. 1: it can be sent to. 0: messages to it are dropped. Or an error. */
static int channel(struct ftc_shm *shm, int to, struct ftc_shm_peer **out)
{
    struct ftc_shm_peer *peer = ftc_shm_peer(shm, to);
    if (peer == NULL || !ftc_shm_take_spare(shm))
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message to rank %d", to);
    if (is_shut(peer))
        return 0;
    if (!peer->can_send) {
        int rc = ftc_ring_create(&peer->out, shm->setup.segment, shm->setup.self, to);
        if (rc != 0)
            return rc;
        ftc_cells_attach(&peer->cells_out, &peer->out);
        peer->can_send = true;
    }
    *out = peer;
    return 1;
}

FTC_HOT int ftc_shm_send(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                         const struct ftc_value *value, bool urgent)
{
    struct ftc_shm *shm = (struct ftc_shm *)transport;
    struct ftc_shm_peer *peer = NULL;
    struct ftc_frame frame;
    assert(to >= 0 && to < shm->setup.ranks && to != shm->setup.self && head->size > 0);
    int rc = channel(shm, to, &peer);
    if (rc <= 0)
        return rc;
    if (peer->first == NULL && head->size + size_of(value) <= FTC_CELLS_MOST &&
        push_cells(shm, peer, head, value, urgent) == 1)
        return 0;
    frame_init(&frame, head, value, urgent);
    if (peer->first != NULL) {
        ftc_shm_enqueue(shm, peer, &frame);
        /* The ring may be full of frames that were not urgent. The receiver must still be woken to
         * make room. */
        if (urgent)
            ftc_bell_ring(shm->setup.bell, to, true);
        return 0;
    }
    rc = push(shm, peer, &frame);
    if (rc < 0)
        ftc_shm_damage(shm, peer);
    else if (rc == 0)
        ftc_shm_enqueue(shm, peer, &frame);
    return 0;
}

/* Writes a frame of two pieces into the ring, if there is room for all of it. What is damaged
 * meanwhile is found by the next message. */
static bool push_pieces(struct ftc_shm_peer *peer, const struct ftc_pieces *pieces)
{
    size_t size = pieces->first_size + pieces->second_size;
    struct ftc_frame_header header = {
        .magic = FTC_FRAME_MAGIC, .check = ftc_frame_check(size, 0), .head = size};

    ftc_ring_expect(&peer->out, sizeof(header) + size);
    if (ftc_cells_room(&peer->cells_out, 0) != 1 ||
        ftc_ring_room(&peer->out) < (long)(sizeof(header) + size))
        return false;
    (void)ftc_ring_write(&peer->out, &header, sizeof(header));
    (void)ftc_ring_write(&peer->out, pieces->first, pieces->first_size);
    (void)ftc_ring_write(&peer->out, pieces->second, pieces->second_size);
    ftc_ring_publish(&peer->out);
    return ftc_cells_write(&peer->cells_out, (struct ftc_cells_sizes){0}, NULL, NULL) == 1;
}

FTC_HOT bool ftc_shm_send_pieces(struct ftc_transport *transport, int to,
                                 const struct ftc_pieces *pieces, bool urgent)
{
    struct ftc_shm *shm = (struct ftc_shm *)transport;
    struct ftc_shm_peer *peer = ftc_shm_known(shm, to);
    struct ftc_cells_sizes sizes = {pieces->first_size, pieces->second_size};

    if (peer == NULL || !peer->can_send || is_shut(peer) || peer->first != NULL)
        return false;
    bool sent =
        sizes.head + sizes.value <= FTC_CELLS_MOST
            ? ftc_cells_write_head(&peer->cells_out, sizes, pieces->first, pieces->second) == 1
            : push_pieces(peer, pieces);
    if (sent)
        announce(shm, peer, urgent);
    return sent;
}

static void flush_peer(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    while (peer->first != NULL) {
        int rc = push(shm, peer, peer->first);
        if (rc < 0)
            ftc_shm_damage(shm, peer);
        if (rc <= 0)
            return;
        ftc_shm_dequeue(shm, peer);
    }
}

int ftc_shm_flush(struct ftc_transport *transport, bool *idle)
{
    struct ftc_shm *shm = (struct ftc_shm *)transport;
    if (shm->queued_count > 0)
        for (int rank = ftc_set_next(&shm->queued, 0); rank >= 0;
             rank = ftc_set_next(&shm->queued, rank + 1))
            flush_peer(shm, ftc_shm_known(shm, rank));
    *idle = shm->queued_count == 0;
    return 0;
}

/* True also if there is damage, which flush() finds. */
static bool can_push(struct ftc_shm_peer *peer)
{
    const struct ftc_frame *frame = peer->first;

    if (fits_cells(frame))
        return ftc_cells_room(&peer->cells_out,
                              (size_t)(frame->header.head + frame->header.value)) != 0;
    return (frame->told || ftc_cells_room(&peer->cells_out, 0) != 0) &&
           ftc_ring_room(&peer->out) != 0;
}

bool ftc_shm_can_flush(struct ftc_shm *shm)
{
    if (shm->queued_count == 0)
        return false;
    for (int rank = ftc_set_next(&shm->queued, 0); rank >= 0;
         rank = ftc_set_next(&shm->queued, rank + 1))
        if (can_push(ftc_shm_known(shm, rank)))
            return true;
    return false;
}
