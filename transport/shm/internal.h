/*
 * The inside of the shared-memory transport, for its own files: shm.c (life), send.c, receive.c,
 * peer.c (peers and their queues).
 *
 * A message of few bytes goes through the cells from sender to receiver (node/cells.h), as a whole.
 * A longer one is a frame in the byte ring (node/ring.h): a header, then the bytes of head and
 * value, written as room comes. Its cell, which is empty, gives it its place among the others.
 *
 * The receiver visits the ranks whose bit in its pending row is set. After publishing, the sender
 * sets its bit, unless it is set already, and rings the receiver. The receiver leaves the bit set
 * while it goes on visiting the rank. So between two ranks that talk, nothing but the cell itself
 * crosses from core to core.
 */
#ifndef FTC_TRANSPORT_SHM_INTERNAL_H
#define FTC_TRANSPORT_SHM_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/set.h"
#include "base/sparse.h"
#include "node/cells.h"
#include "transport/transport.h"

#define FTC_FRAME_MAGIC     0x46744331u
#define FTC_FRAME_HEAD_MAX  (1ull << 20) /* bytes; a longer head is damage */
#define FTC_FRAME_VALUE_MAX (1ull << 40)
#define FTC_FRAME_SANE      (1ull << 30) /* no memory for a longer value means damage, too */

/* Buffers for messages of cells: of 64 B to 1 KiB. */
#define FTC_SHM_SMALL  64u
#define FTC_SHM_SMALLS 5
_Static_assert((FTC_SHM_SMALL << (FTC_SHM_SMALLS - 1)) >= FTC_CELLS_MOST, "each has a buffer");

struct ftc_frame_header {
    uint32_t magic;
    uint32_t check;       /* ftc_frame_check(): so a damaged size does not become an allocation */
    uint64_t head, value; /* bytes of each; the padding between them is not in the ring */
};

static inline uint32_t ftc_frame_check(uint64_t head, uint64_t value)
{
    return (uint32_t)((head * 0x9e3779b97f4a7c15ull ^ (value + 1) * 0xbf58476d1ce4e5b9ull) >> 32);
}

/* A message that is being sent. */
struct ftc_frame {
    struct ftc_frame *next;
    struct ftc_frame_header header;
    struct ftc_buffer *head;
    struct ftc_value value;
    uint64_t sent; /* bytes of header, head and value that are in the ring */
    bool told;     /* its cell is written */
    bool urgent;
};

/* What is known of another rank. It is made when the first message is sent or received. */
struct ftc_shm_peer {
    int rank;
    bool closed;   /* the rank has failed: nothing more is sent to it */
    bool damaged;  /* one of its rings is damaged; receive has still to report it, once */
    bool reported; /* the damage is reported: nothing is sent or received any more */
    bool can_send, can_receive; /* the ring out is made; the ring in is attached */
    bool was_full;              /* the ring out had no room for a message */

    struct ftc_ring out;
    struct ftc_cells cells_out;
    struct ftc_frame *first, *last;
    unsigned urgent_queued; /* urgent frames in the queue; what is before them is urgent, too */

    struct ftc_ring in;
    struct ftc_cells cells_in;
    struct ftc_shm_peer *next_active; /* in the circle of peers to visit; NULL: it is not in it */
    unsigned idle;                    /* visits in a row that found nothing */
    bool by_ring;                     /* the next message comes through the byte ring */
    struct ftc_frame_header header;
    size_t header_used;
    struct ftc_buffer *message; /* the message that is coming */
    size_t used;                /* bytes of its head and value that are here */
};

struct ftc_shm {
    struct ftc_transport base;
    struct ftc_transport_setup setup;
    int first, local;        /* the first rank of this node, and how many it has */
    struct ftc_sparse peers; /* by rank; NULL: nothing went to this rank or came from it */
    struct ftc_frame *spare; /* so a message that is sent in part can always be queued */
    /* For messages of cells, by size, if nobody else holds them; or NULL. */
    struct ftc_buffer *small[FTC_SHM_SMALLS];

    struct ftc_set queued; /* peers with frames that wait for room */
    int queued_count;

    /* Bits of the pending row that are not looked at, as its words: those of ranks to visit, of
     * ranks with which there is no channel any more, and of no rank. */
    uint64_t *heeded;
    struct ftc_shm_peer *active; /* the last of the peers to visit in turn; NULL: none */
    int active_count;
    unsigned damaged; /* channels that were closed because of damage */
};

/* --- peer.c --- */

/* The peer of a rank. NULL: there is none. */
static inline struct ftc_shm_peer *ftc_shm_known(const struct ftc_shm *shm, int rank)
{
    return ftc_sparse_pointer(&shm->peers, rank);
}
/* The same, made if there is none. NULL: out of memory. */
struct ftc_shm_peer *ftc_shm_peer(struct ftc_shm *shm, int rank);
/* Is the pending bit of this rank looked at no more? */
static inline void ftc_shm_heed(struct ftc_shm *shm, int rank, bool heeded)
{
    int place = rank - shm->first;
    uint64_t bit = 1ull << (place % 64);

    shm->heeded[place / 64] = (shm->heeded[place / 64] & ~bit) | (heeded ? bit : 0);
}
/* Put the peer behind the others that are to be visited. */
void ftc_shm_activate(struct ftc_shm *shm, struct ftc_shm_peer *peer);
/* A ring with this peer is damaged. Nothing is sent any more. The damage is logged once, and the
 * next receive reports it. */
void ftc_shm_damage(struct ftc_shm *shm, struct ftc_shm_peer *peer);
/* See to it that shm->spare is there. False: out of memory. */
bool ftc_shm_take_spare(struct ftc_shm *shm);
/* Append a copy of the frame that has its own references. shm->spare must be there. */
void ftc_shm_enqueue(struct ftc_shm *shm, struct ftc_shm_peer *peer, const struct ftc_frame *frame);
/* Drop the first frame of the queue, or all. */
void ftc_shm_dequeue(struct ftc_shm *shm, struct ftc_shm_peer *peer);
void ftc_shm_drop_queue(struct ftc_shm *shm, struct ftc_shm_peer *peer);

/* --- send.c --- */

int ftc_shm_send(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                 const struct ftc_value *value, bool urgent);
bool ftc_shm_send_pieces(struct ftc_transport *transport, int to, const struct ftc_pieces *pieces,
                         bool urgent);
int ftc_shm_flush(struct ftc_transport *transport, bool *idle);
/* Could a flush put something into a ring? */
bool ftc_shm_can_flush(struct ftc_shm *shm);

/* --- receive.c --- */

int ftc_shm_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message);
/* Is there something to receive? */
bool ftc_shm_can_receive(struct ftc_shm *shm);

#endif
