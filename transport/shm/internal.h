/*
 * The inside of the shared-memory transport, for its own files: shm.c (life, peers), shm/send.c,
 * shm/receive.c.
 *
 * A message is a frame in the byte ring sender -> receiver: a header, then the bytes of head and
 * value, streamed as room comes. After publishing, the sender sets its bit in the receiver's
 * pending row and rings it.
 */
#ifndef FTC_TRANSPORT_SHM_INTERNAL_H
#define FTC_TRANSPORT_SHM_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/set.h"
#include "node/ring.h"
#include "transport/transport.h"

#define FTC_FRAME_MAGIC     0x46744331u
#define FTC_FRAME_HEAD_MAX  (1ull << 20) /* bytes; what is longer is damage */
#define FTC_FRAME_VALUE_MAX (1ull << 40)
#define FTC_FRAME_SANE                                                                             \
    (1ull << 30) /* a longer value that does not fit into memory is damage as well */

struct ftc_frame_header {
    uint32_t magic;
    uint32_t check;       /* ftc_frame_check(): a damaged size must not become an allocation */
    uint64_t head, value; /* bytes of each; the padding between them is the receiver's */
};
uint32_t ftc_frame_check(uint64_t head, uint64_t value);

/* A message on its way out. */
struct ftc_frame {
    struct ftc_frame *next;
    struct ftc_frame_header header;
    struct ftc_buffer *head;
    struct ftc_value value;
    uint64_t sent; /* bytes of header, head and value that are in the ring */
    bool urgent;
};

/* What is known of another rank. Made when the first message goes out or comes in. */
struct ftc_shm_peer {
    int rank;
    bool closed;                /* failed: nothing more goes out */
    bool damaged;               /* one of its rings is; to be reported by receive, once */
    bool reported;              /* it was: nothing goes in or out any more */
    bool can_send, can_receive; /* the rings are made, attached */

    struct ftc_ring out;
    struct ftc_frame *first, *last;
    unsigned
        urgent_queued; /* of those, urgent: what is before them must be taken out as urgently */

    struct ftc_ring in;
    bool active; /* in the list of those to visit */
    struct ftc_frame_header header;
    size_t header_used;
    struct ftc_buffer *message; /* being received; `used` bytes are here, ... */
    size_t used;                /* ... of head and value together */
};

struct ftc_shm {
    struct ftc_transport base;
    struct ftc_transport_setup setup;
    struct ftc_shm_peer **peer; /* by rank, NULL: never met */
    struct ftc_frame
        *spare; /* kept so that a message can always be queued once half of it is out */

    struct ftc_set queued; /* peers with frames that wait for room */
    int queued_count;

    int *
        active; /* ranks to visit, a circular queue of `ranks` places: fair, and each is in it once at most */
    int active_first, active_count;
    unsigned damaged; /* channels closed because of damage */
};

/* NULL: out of memory. */
struct ftc_shm_peer *ftc_shm_peer(struct ftc_shm *shm, int rank);
/* Put it into the list of those to visit. */
void ftc_shm_activate(struct ftc_shm *shm, struct ftc_shm_peer *peer);
/* A ring with this peer is damaged: nothing goes out any more; logged once; the next receive
 * reports it. */
void ftc_shm_damage(struct ftc_shm *shm, struct ftc_shm_peer *peer);

int ftc_shm_send(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                 const struct ftc_value *value, bool urgent);
int ftc_shm_flush(struct ftc_transport *transport, bool *idle);
/* Could a flush put something into a ring? */
bool ftc_shm_can_flush(struct ftc_shm *shm);
void ftc_shm_drop_queue(struct ftc_shm *shm, struct ftc_shm_peer *peer);

int ftc_shm_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message);
/* Is a bit set in this rank's pending row? */
bool ftc_shm_pending(struct ftc_shm *shm);

#endif
