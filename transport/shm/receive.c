/*
 * Receiving. Only peers whose pending bit was set are visited, in turn, for one message each. A
 * message is put together in one buffer of the announced size while its bytes come through the
 * ring.
 */
#include "transport/shm/internal.h"

#include <string.h>

#include "base/error.h"

static int pending_words(const struct ftc_shm *shm)
{
    return ftc_set_words(shm->setup.ranks);
}

bool ftc_shm_pending(struct ftc_shm *shm)
{
    _Atomic uint64_t *row = ftc_segment_pending_row(shm->setup.segment, shm->setup.self);
    for (int word = 0; word < pending_words(shm); word++)
        if (atomic_load_explicit(&row[word], memory_order_relaxed) != 0)
            return true;
    return false;
}

/* Put `rank` into the list of peers to visit. Its ring is attached when its bit is first seen. */
static int meet(struct ftc_shm *shm, int rank)
{
    struct ftc_shm_peer *peer = ftc_shm_peer(shm, rank);
    if (peer == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the channel from rank %d", rank);
    if (peer->reported)
        return 0;
    if (!peer->can_receive) {
        ftc_ring_attach(&peer->in, shm->setup.segment, rank, shm->setup.self);
        peer->can_receive = true;
    }
    ftc_shm_activate(shm, peer);
    return 0;
}

static int meet_word(struct ftc_shm *shm, int word, uint64_t bits)
{
    for (; bits != 0; bits &= bits - 1) {
        int rank = word * 64 + __builtin_ctzll(bits);
        /* A bit of no rank is damage of this row. Nobody can be named as its cause, so it is
         * ignored. */
        if (rank >= shm->setup.ranks || rank == shm->setup.self)
            continue;
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
        if (atomic_load_explicit(&row[word], memory_order_relaxed) == 0)
            continue;
        /* Pairs with the release in announce(). A later publication sets the bit again. */
        uint64_t bits = atomic_exchange_explicit(&row[word], 0, memory_order_acquire);
        int rc = meet_word(shm, word, bits);
        if (rc != 0) {
            atomic_fetch_or_explicit(&row[word], bits, memory_order_relaxed);
            return rc;
        }
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

/* Read what is there, then give the room back: only once for a small message. */
static int pull(struct ftc_shm *shm, struct ftc_shm_peer *peer)
{
    uint64_t before = peer->in.position;
    int rc = pull_message(shm, peer);
    if (peer->in.position != before && ftc_ring_release(&peer->in))
        ftc_bell_ring(shm->setup.bell, peer->rank, true);
    return rc;
}

static struct ftc_buffer *take_message(struct ftc_shm_peer *peer)
{
    struct ftc_buffer *message = peer->message;
    peer->message = NULL;
    peer->header_used = 0;
    return message;
}

/* As ftc_transport_ops.receive, for one peer that was just taken from the list. */
static int visit(struct ftc_shm *shm, struct ftc_shm_peer *peer, struct ftc_buffer **message)
{
    int rc = peer->damaged ? FTC_ERR_PROTO : pull(shm, peer);
    if (rc == 1) {
        *message = take_message(peer);
        ftc_shm_activate(shm, peer);
    } else if (rc == 0 && peer->closed) {
        ftc_buffer_unref(take_message(peer));
    } else if (rc == FTC_ERR_PROTO) {
        ftc_shm_damage(shm, peer);
        peer->damaged = false;
        peer->reported = true;
    } else if (rc == FTC_ERR_NOMEM) {
        ftc_shm_activate(shm, peer);
    }
    return rc;
}

int ftc_shm_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message)
{
    struct ftc_shm *shm = (struct ftc_shm *)transport;
    int rc = take_pending(shm);
    while (rc == 0 && shm->active_count > 0) {
        struct ftc_shm_peer *peer = shm->peer[shm->active[shm->active_first]];
        shm->active_first = (shm->active_first + 1) % shm->setup.ranks;
        shm->active_count--;
        peer->active = false;
        if (peer->reported)
            continue;
        rc = visit(shm, peer, message);
        if (rc == 1 || rc == FTC_ERR_PROTO)
            *from = peer->rank;
    }
    return rc;
}
