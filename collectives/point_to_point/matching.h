/*
 * The matching engine of one process in one communicator: its sends and receives, and the messages
 * that no receive has taken yet (docs/design/point-to-point.md, P1 to P13).
 *
 * Inputs: a transfer that starts or is cancelled, a message, what became of a copy, a notice, a
 * revoke, a free. Outputs: messages, by ftc_matching_next_output(), and copies from the memory of
 * another rank, by ftc_matching_next_copy(). After each input the driver takes all outputs and
 * carries them out in order. It may make copies when it has the time. A transfer that has ended
 * says so by its `state`.
 *
 * Errors of an input:
 * - FTC_ERR_PROTO of ftc_matching_receive(): the sender broke the protocol and should be fenced.
 *   The message was ignored.
 * - FTC_ERR_NOMEM: the state is unfinished. The process must stop (fail-stop).
 *
 * The object does no I/O, and trusts nothing that it receives. An expected message of few bytes
 * takes no memory of the heap. Not thread-safe, but for the words that say so.
 */
#ifndef FTC_COLLECTIVES_POINT_TO_POINT_MATCHING_H
#define FTC_COLLECTIVES_POINT_TO_POINT_MATCHING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/value.h"
#include "collectives/point_to_point/link.h"

#define FTC_MATCHING_ANY (-1) /* rank or tag of a receive */

/* An eager message counts so many bytes beside its size (P3). */
#define FTC_MATCHING_OVERHEAD 64

struct ftc_matching;
struct ftc_arrival;

struct ftc_matching_settings {
    uint64_t communicator; /* its number, in each message (collectives/frame.h) */
    int self, ranks;
    size_t eager;                 /* the most bytes of an eager message */
    size_t credit;                /* P3, in bytes: at least one eager message of this size */
    size_t piece;                 /* the most bytes of one copy */
    size_t fragment;              /* the most bytes of a DATA */
    size_t window;                /* P5, in bytes: at least two fragments */
    struct ftc_buffer_pool *pool; /* for DATA; NULL: none */
};

enum ftc_transfer_state {
    FTC_TRANSFER_UNDER_WAY,
    FTC_TRANSFER_WITHDRAWING, /* under way, too: its receiver has to answer a cancel (P10) */
    FTC_TRANSFER_ENDED
};

/* A send or a receive. Its owner fills in the first part and keeps it, and the buffer, until it has
 * ended. */
struct ftc_transfer {
    struct ftc_link link; /* the engine's own */
    bool sends;
    bool synchronous; /* a send that ends when its message has been matched */
    bool awaited;     /* ftc_matching_ended() counts its end; may change while it is under way */
    uint8_t context;  /* P1 */
    int rank, tag;    /* a send: 0 or more. A receive: or FTC_MATCHING_ANY */
    void *buffer;     /* a send does not change it */
    size_t size;      /* of the buffer */
    /* P13: the message that a receive takes, from ftc_matching_match(); NULL: it looks for one. */
    struct ftc_arrival *matched;

    /* --- how it ended. `state` is read without a lock; the others are there when it says ENDED
     * --- */
    atomic_int state; /* enum ftc_transfer_state */
    int status;       /* FTC_SUCCESS or an FTC_ERR_* of point-to-point.md */
    int from, got;    /* rank and tag of the message that a receive took; -1: it took none */
    size_t bytes;     /* of that message */

    /* --- the engine's own --- */
    uint64_t number;       /* of the message */
    uint64_t order;        /* of a receive: in which receives were started */
    uint64_t wanted;       /* bytes of the message that go to the receiver */
    uint64_t moved, bound; /* bytes that were copied, received or sent; and asked for (P5) */
    uint64_t address, mark_address, mark; /* of READY */
    uint64_t seen;                        /* the mark as it was copied */
    _Atomic uint64_t live;                /* the mark of a send: other processes read it (P6) */
    uint64_t told;                        /* failures that have interrupted it (P8) */
};

static inline bool ftc_transfer_has_ended(const struct ftc_transfer *transfer)
{
    return atomic_load_explicit(&transfer->state, memory_order_acquire) == FTC_TRANSFER_ENDED;
}

int ftc_matching_create(struct ftc_matching **out,
                        const struct ftc_matching_settings *settings); /* FTC_ERR_NOMEM */
/* No transfer is under way. NULL is legal. */
void ftc_matching_destroy(struct ftc_matching *matching);

/* --- inputs --- */

/* Starts a transfer. Its rank is one of the communicator, or a receive has FTC_MATCHING_ANY. It may
 * have ended when this returns. */
int ftc_matching_start(struct ftc_matching *matching, struct ftc_transfer *transfer);
/* P10. A receive, and a send to this rank itself, may have ended when this returns. A send that had
 * ended as a success may be under way again. */
int ftc_matching_cancel(struct ftc_matching *matching, struct ftc_transfer *transfer);
/* Takes in a message of the kind FTC_FRAME_POINT_TO_POINT. */
int ftc_matching_receive(struct ftc_matching *matching, int from, struct ftc_buffer *message);
/* P7: `rank` has failed, and nothing that it sent comes any more. */
int ftc_matching_notice(struct ftc_matching *matching, int rank);
/* P8: a failure of which the engine had notice does not interrupt any more. */
void ftc_matching_recognize(struct ftc_matching *matching, int rank);
/* P11. After a revoke no transfer is started, and messages are dropped. After leaving, too. */
void ftc_matching_revoke(struct ftc_matching *matching);
void ftc_matching_leave(struct ftc_matching *matching);

/* P8: is a wait for this transfer, which is under way, interrupted? If so, the failures that there
 * are interrupt it no more. */
bool ftc_matching_interrupts(struct ftc_matching *matching, struct ftc_transfer *transfer);
/* P8: can only this rank itself bring the transfer to an end, by another call? */
bool ftc_matching_waits_for_self(struct ftc_matching *matching,
                                 const struct ftc_transfer *transfer);
/* As interrupts(), for a call that looks for a message of any rank and starts no transfer. */
bool ftc_matching_interrupts_probe(const struct ftc_matching *matching);

/* --- outputs --- */

#define FTC_MATCHING_HEAD 64 /* bytes, at most */

/* A message to send: a head, and bytes behind it at ftc_value_offset() (base/value.h). */
struct ftc_matching_output {
    int to;
    bool urgent; /* the receiver is to handle it even while its caller is outside the library */
    bool ready;  /* it is READY, so the receiver may copy from the memory of this process */
    size_t head_size, size;
    const void *bytes;
    /* It begins with the bytes, and the engine holds a reference until the next call. NULL: they
     * are in the buffer of a send that has ended, and follow the head without padding. So the
     * message must be sent, or copied, before the owner of the send goes on. */
    struct ftc_buffer *buffer;
    unsigned char head[FTC_MATCHING_HEAD];
};
/* The next message to send, until the next call. NULL: none. */
const struct ftc_matching_output *ftc_matching_next_output(struct ftc_matching *matching);

struct ftc_matching_copy {
    struct ftc_transfer *transfer;
    int rank;         /* from whose memory; it may be this rank itself */
    uint64_t address; /* there */
    void *to;
    size_t size;
    /* For the last bytes: the mark of the sender, which the driver may read after them (P6). If it
     * does not, another copy does. NULL: these are not the last bytes, or this is that copy. */
    uint64_t *mark;
    uint64_t mark_address;
};
enum ftc_copied {
    FTC_COPY_DONE,
    FTC_COPY_MARKED,  /* done, and the mark was read after the bytes */
    FTC_COPY_REFUSED, /* no copies between these two: P5. Not between a rank and itself */
    FTC_COPY_NOBODY   /* the process is gone, and the notice will come */
};
/* The next copy to make, in turn among transfers. False: none. The driver makes it, or cannot, and
 * then calls ftc_matching_copied() before any other input. It must not read before all earlier
 * copies have read. */
bool ftc_matching_next_copy(struct ftc_matching *matching, struct ftc_matching_copy *copy);
int ftc_matching_copied(struct ftc_matching *matching, struct ftc_transfer *transfer,
                        enum ftc_copied result);
bool ftc_matching_has_copies(const struct ftc_matching *matching);

/* --- looking in --- */

struct ftc_envelope {
    int from, tag;
    size_t size;
};
/* The unexpected message that a receive would take now. */
bool ftc_matching_probe(const struct ftc_matching *matching, int from, int tag, uint8_t context,
                        struct ftc_envelope *found);
/* P13: takes that message out of the unexpected ones, for a later receive. NULL: there is none. */
struct ftc_arrival *ftc_matching_match(struct ftc_matching *matching, int from, int tag,
                                       uint8_t context);
/* Would a send of so many bytes to a rank go as EAGER, or is it too large for that anyway? */
bool ftc_matching_has_credit(const struct ftc_matching *matching, int to, size_t size);
bool ftc_matching_is_gone(const struct ftc_matching *matching, int rank); /* notice was given */
uint64_t
ftc_matching_ended(const struct ftc_matching *matching); /* how many transfers have ended */
/* The bytes of unexpected messages of `from`, as P3 counts them. *ready: how many came as READY.
 * For tests. */
size_t ftc_matching_kept(const struct ftc_matching *matching, int from, size_t *ready);

#endif
