/*
 * Receiving. Only peers whose pending bit was set are visited, in turn, for one message each. A
 * message of the byte ring is put together in one buffer of the announced size while its bytes
 * come.
 */
#include "transport/shm/internal.h"

#include <string.h>

#include "base/cpu.h"
#include "base/error.h"

static int pending_words(const struct ftc_shm *shm)
{
    return ftc_set_words(shm->local);
}

static bool is_pending(struct ftc_shm *shm)
{
    _Atomic uint64_t *row = ftc_segment_pending_row(shm->setup.segment, shm->setup.self);
    for (int word = 0; word < pending_words(shm); word++)
        if ((atomic_load_explicit(&row[word], memory_order_relaxed) & ~shm->heeded[word]) != 0)
            return true;
    return false;
}

/* Put `rank` into the list of peers to visit. Its ring is attached when its bit is first seen. */
static int meet(struct ftc_shm *shm, int rank)
{
    struct ftc_shm_peer *peer = ftc_shm_peer(shm, rank);
    if (peer == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the channel from rank %d", rank);
    if (peer->reported) {
        ftc_shm_heed(shm, rank, true);
        return 0;
    }
    if (!peer->can_receive) {
        ftc_ring_attach(&peer->in, shm->setup.segment, rank, shm->setup.self);
        ftc_cells_attach(&peer->cells_in, &peer->in);
        peer->can_receive = true;
    }
    ftc_shm_activate(shm, peer);
    return 0;
}

static int meet_word(struct ftc_shm *shm, int word, uint64_t bits)
{
    for (; bits != 0; bits &= bits - 1) {
        int rank = shm->first + word * 64 + __builtin_ctzll(bits);
        int rc = meet(shm, rank);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int take_pending(struct ftc_shm *shm)
{
    _Atomic uint64_t *row = ftc_segment_pending_row(shm->setup.segment, shm->setup.self);
    for (int word = 0; word < pending_words(shm); word++) {
        /* Pairs with the release in announce(). */
        uint64_t bits = atomic_load_explicit(&row[word], memory_order_acquire) & ~shm->heeded[word];
        int rc = bits != 0 ? meet_word(shm, word, bits) : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* --- one peer --- */

static int start_message(const struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    const struct ftc_frame_header *header = &peer->header;
    if (header->magic != FTC_FRAME_MAGIC || header->head < 1 || header->head > FTC_FRAME_HEAD_MAX ||
        header->value > FTC_FRAME_VALUE_MAX ||
        header->check != ftc_frame_check(header->head, header->value))
        return ftc_error_set(FTC_ERR_PROTO,
                             "damaged channel from rank %d: no message begins where one should",
                             peer->rank);
    peer->message =
        ftc_value_take_message(shm->setup.pool, (size_t)header->head, (size_t)header->value);
    if (peer->message == NULL)
        return ftc_error_set(header->value > FTC_FRAME_SANE ? FTC_ERR_PROTO : FTC_ERR_NOMEM,
                             "out of memory for a message of %llu bytes from rank %d",
                             (unsigned long long)(header->head + header->value), peer->rank);
    peer->used = 0;
    return 0;
}

/* 1: the header is complete and the message has begun; 0: not yet; or an error. */
static int pull_header(const struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    size_t missing = sizeof(peer->header) - peer->header_used;
    if (missing > 0) {
        long got =
            ftc_ring_read(&peer->in, (unsigned char *)&peer->header + peer->header_used, missing);
        if (got < 0)
            return (int)got;
        peer->header_used += (size_t)got;
        if ((size_t)got < missing)
            return 0;
    }
    int rc = start_message(shm, peer);
    return rc != 0 ? rc : 1;
}

/* Where the next bytes go, and how many belong there: first those of the head, then those of the
 * value behind the padding. */
static unsigned char *next_place(const struct ftc_shm_peer *peer, size_t *size)
{
    size_t head = (size_t)peer->header.head, value = (size_t)peer->header.value;
    if (peer->used < head) {
        *size = head - peer->used;
        return peer->message->data + peer->used;
    }
    size_t at = peer->used - head;
    *size = value - at;
    return peer->message->data + (value > 0 ? ftc_value_offset(head) : head) + at;
}

/* 1: peer->message is complete; 0: the ring is empty; or an error. */
static int pull_message(const struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    if (peer->message == NULL) {
        int rc = pull_header(shm, peer);
        if (rc <= 0)
            return rc;
    }
    for (;;) {
        size_t size;
        unsigned char *place = next_place(peer, &size);
        if (size == 0)
            return 1;
        long got = ftc_ring_read(&peer->in, place, size);
        if (got <= 0)
            return (int)got;
        peer->used += (size_t)got;
    }
}

/* Read what is there, then give the room back. */
static int pull_ring(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    uint64_t before = peer->in.position;
    int rc = pull_message(shm, peer);
    if (peer->in.position != before && ftc_ring_release(&peer->in))
        ftc_bell_ring(shm->setup.bell, peer->rank, true);
    peer->by_ring = rc != 1;
    return rc;
}

/* --- cells --- */

/* A buffer for a message of cells. One of each size, if nobody else holds it, is used again. */
FTC_HOT static struct ftc_buffer *take_small(struct ftc_shm *shm, struct ftc_cells_sizes sizes)
{
    unsigned order = 0;

    if (sizes.value > 0)
        return ftc_value_take_message(shm->setup.pool, sizes.head, sizes.value);
    while ((FTC_SHM_SMALL << order) < sizes.head)
        order++;
    struct ftc_buffer **small = &shm->small[order];
    if (*small == NULL || (*small)->references > 1) {
        ftc_buffer_unref(*small);
        *small = ftc_buffer_new(FTC_SHM_SMALL << order);
    }
    if (*small != NULL)
        (*small)->size = sizes.head;
    return ftc_buffer_ref(*small);
}

FTC_HOT static int pull_cells(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    struct ftc_cells_sizes sizes;
    int rc = ftc_cells_look(&peer->cells_in, &sizes);

    if (rc <= 0)
        return rc;
    struct ftc_buffer *message = sizes.head > 0 ? take_small(shm, sizes) : NULL;
    if (message == NULL && sizes.head > 0)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message of %zu bytes from rank %d",
                             sizes.head + sizes.value, peer->rank);
    unsigned char *bytes = message != NULL ? message->data : NULL;
    if (ftc_cells_read(&peer->cells_in, sizes, bytes,
                       sizes.value > 0 ? bytes + ftc_value_offset(sizes.head) : NULL))
        ftc_bell_ring(shm->setup.bell, peer->rank, true);
    peer->message = message;
    peer->by_ring = message == NULL;
    return 1;
}

/* 1: peer->message is complete; 0: not yet; or an error. */
FTC_HOT static int pull(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    int rc = peer->by_ring ? 1 : pull_cells(shm, peer);

    return rc == 1 && peer->by_ring ? pull_ring(shm, peer) : rc;
}

/* --- visits --- */

/* Is there something of this peer, or something to do with it? */
static bool has_something(struct ftc_shm_peer *peer)
{
    struct ftc_cells_sizes sizes;

    return peer->damaged || peer->closed ||
           (peer->by_ring ? ftc_ring_available(&peer->in)
                          : ftc_cells_look(&peer->cells_in, &sizes)) != 0;
}

bool ftc_shm_can_receive(struct ftc_shm *shm)
{
    struct ftc_shm_peer *peer = shm->active;

    for (int i = 0; i < shm->active_count; i++) {
        peer = peer->next_active;
        if (has_something(peer))
            return true;
    }
    return is_pending(shm);
}

/* A peer from which nothing comes is visited some more times, because its next message costs less
 * then. Not so if there are many such peers, or it has failed. */
#define VISITS 4096
#define FEW    8

/* The peer at the head of the circle goes to its end, or out of it. */
static void turn(struct ftc_shm *shm)
{
    shm->active = shm->active->next_active;
}

static void drop(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    if (shm->active == peer)
        shm->active = NULL;
    else
        shm->active->next_active = peer->next_active;
    peer->next_active = NULL;
    shm->active_count--;
}

/* A visit has found nothing. The peer is visited again, or its bit is looked at again. What was
 * published before the bit was cleared is found by the look behind the fence. */
static void rest(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    int rank = peer->rank;

    if (!peer->closed && shm->active_count <= FEW && ++peer->idle < VISITS) {
        turn(shm);
        return;
    }
    drop(shm, peer);
    peer->idle = 0;
    ftc_shm_heed(shm, rank, false);
    atomic_fetch_and_explicit(
        &ftc_segment_pending_row(shm->setup.segment, shm->setup.self)[(rank - shm->first) / 64],
        ~(1ull << ((rank - shm->first) % 64)), memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (!peer->closed && has_something(peer))
        ftc_shm_activate(shm, peer);
}

static struct ftc_buffer *take_message(struct ftc_shm_peer *peer)
{
    struct ftc_buffer *message = peer->message;
    peer->message = NULL;
    peer->header_used = 0;
    return message;
}

/* As ftc_transport_ops.receive, for the peer at the head of the circle. */
static int visit(struct ftc_shm *shm, struct ftc_shm_peer *peer, struct ftc_buffer **message)
{
    int rc = peer->damaged ? FTC_ERR_PROTO : pull(shm, peer);
    if (rc == 1) {
        *message = take_message(peer);
        peer->idle = 0;
        turn(shm);
    } else if (rc == 0) {
        if (peer->closed)
            ftc_buffer_unref(take_message(peer));
        rest(shm, peer);
    } else if (rc == FTC_ERR_PROTO) {
        ftc_shm_damage(shm, peer);
        peer->damaged = false;
        peer->reported = true;
        drop(shm, peer);
    } else if (rc == FTC_ERR_NOMEM) {
        turn(shm);
    }
    return rc;
}

FTC_HOT int ftc_shm_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message)
{
    struct ftc_shm *shm = (struct ftc_shm *)transport;
    int rc = take_pending(shm);
    for (int left = shm->active_count; rc == 0 && left > 0; left--) {
        struct ftc_shm_peer *peer = shm->active->next_active;
        if (peer->reported) {
            drop(shm, peer);
            continue;
        }
        rc = visit(shm, peer, message);
        if (rc == 1 || rc == FTC_ERR_PROTO)
            *from = peer->rank;
    }
    return rc;
}
