/*
 * Reliable messages between ranks, in order, behind one table of functions (the ops table). A
 * message is a head and an optional value. It is delivered as one buffer: the head, then the value
 * at ftc_value_offset() (base/value.h).
 *
 * No call waits. Not thread-safe: the runtime makes one call at a time.
 */
#ifndef FTC_TRANSPORT_TRANSPORT_H
#define FTC_TRANSPORT_TRANSPORT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/value.h"
#include "node/bell.h"
#include "node/segment/segment.h"

#define FTC_CAP_LOCAL 1u /* the transport reaches only ranks of this node */

struct ftc_tcp_setup;   /* transport/tcp/tcp.h */
struct ftc_verbs_setup; /* transport/verbs/verbs.h */
struct ftc_route_setup; /* transport/route/route.h */

struct ftc_transport_setup {
    int ranks, self;
    const struct ftc_log *log;
    struct ftc_buffer_pool *pool; /* for large messages that come; NULL: no pool */
    struct ftc_segment *segment;  /* for shm and route */
    struct ftc_bell *bell;        /* for shm */
    const struct ftc_tcp_setup *tcp;
    const struct ftc_verbs_setup *verbs;
    const struct ftc_route_setup *route;
};

struct ftc_transport; /* the first member of each implementation */

/* A message without a value, in the memory of the caller. The second piece follows the first. */
struct ftc_pieces {
    const void *first, *second;
    size_t first_size, second_size;
};

enum ftc_reach { FTC_REACH_NO = -1, FTC_REACH_NOT_YET, FTC_REACH_YES };

struct ftc_transport_ops {
    const char *name;
    unsigned caps;

    /* Errors: FTC_ERR_ARG, FTC_ERR_NOMEM, FTC_ERR_SYSTEM, and those that the header of the
     * transport names. */
    int (*open)(struct ftc_transport **out, const struct ftc_transport_setup *setup);

    /* Queue a message. The transport takes its own references to head and value, so the caller may
     * drop its own. The message goes out now if there is room, and otherwise in later calls.
     * `urgent`: it must be answered even while the receiver's caller is outside of the library
     * (node/bell.h). Errors: FTC_ERR_NOMEM, FTC_ERR_SYSTEM (no channel can be made). A send to a
     * closed peer succeeds, and the message is dropped. */
    int (*send)(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                const struct ftc_value *value, bool urgent);

    /* Sends a message at once, and keeps no reference. False: this message cannot go so now, and
     * the caller sends it by send(). NULL: none can. */
    bool (*send_pieces)(struct ftc_transport *transport, int to, const struct ftc_pieces *pieces,
                        bool urgent);

    /* Send on what is queued. *idle: nothing is queued any more. */
    int (*flush)(struct ftc_transport *transport, bool *idle);

    /* The next complete message. 1: it is in *message (the reference is the caller's), and its
     * sender in *from. 0: there is none. FTC_ERR_PROTO: the channel of the peer *from is damaged
     * and is closed now. FTC_ERR_NOMEM. */
    int (*receive)(struct ftc_transport *transport, int *from, struct ftc_buffer **message);

    /* The caller waits for a message of this rank (-1: of any rank; its own rank: of none, but for
     * what another one writes in shared memory). The transport looks for that rank's messages
     * first, and for the others only now and then. This is a hint. It holds until
     * the next call. NULL: the hint would not help this transport. */
    void (*expect)(struct ftc_transport *transport, int from);

    /* Is there something to receive, or room for something that is queued? The caller asks this
     * before it sleeps. */
    bool (*ready)(struct ftc_transport *transport);

    /* A rank that wants to sleep polls this descriptor together with its bell, after ready() was
     * false. It stays the same until close. -1: the bell rings for everything. */
    int (*descriptor)(struct ftc_transport *transport);

    /* Does this transport reach the peer? Asked before the first send, by a caller that can choose
     * among transports, until the answer is known. Meanwhile the transport tries, and descriptor()
     * becomes readable when the trial ends. NULL: the transport reaches every peer. */
    enum ftc_reach (*reach)(struct ftc_transport *transport, int peer);

    /* The peer has failed. What is queued for it is dropped. What it sent before may still be
     * received. */
    void (*close_peer)(struct ftc_transport *transport, int peer);

    /* The text that tells others where this end listens, "NAME:..." without blanks. NULL: others
     * need not be told. */
    const char *(*endpoint)(const struct ftc_transport *transport);

    /* Has the other end taken over every message to every peer that is not closed? If this end
     * leaves before, such messages may be lost. NULL: they have been taken over as soon as flush()
     * is idle. */
    bool (*settled)(const struct ftc_transport *transport);

    /* The lowest rank, `from` or higher, for which messages wait and which has been unreachable
     * since since_ns (ftc_clock_now()) or longer. -1: there is none. This is a hint, never a
     * verdict. NULL: this transport cannot tell. */
    int (*unreachable)(const struct ftc_transport *transport, int from, uint64_t since_ns);

    void (*close)(struct ftc_transport *transport);
};

struct ftc_transport {
    const struct ftc_transport_ops *ops;
};

extern const struct ftc_transport_ops ftc_transport_shm;

#endif
