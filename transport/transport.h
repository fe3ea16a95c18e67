/*
 * Reliable FIFO messages between ranks, behind one ops table. Non-blocking throughout; not
 * thread-safe: the runtime serialises. A message is a head and an optional value, delivered as one
 * buffer (head, then value).
 */
#ifndef FTC_TRANSPORT_TRANSPORT_H
#define FTC_TRANSPORT_TRANSPORT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/value.h"
#include "node/bell.h"
#include "node/segment/segment.h"

#define FTC_CAP_LOCAL 1u /* reaches ranks of this node only */

struct ftc_tcp_setup;   /* transport/tcp/tcp.h */
struct ftc_verbs_setup; /* transport/verbs/verbs.h */
struct ftc_route_setup; /* transport/route/route.h */

struct ftc_transport_setup {
    int ranks, self;
    const struct ftc_log *log;
    struct ftc_buffer_pool *pool;        /* of large messages that come; NULL: none */
    struct ftc_segment *segment;         /* shm */
    struct ftc_bell *bell;               /* shm */
    const struct ftc_tcp_setup *tcp;     /* tcp */
    const struct ftc_verbs_setup *verbs; /* verbs */
    const struct ftc_route_setup *route; /* route */
};

struct ftc_transport; /* each implementation embeds it first */

enum ftc_reach { FTC_REACH_NO = -1, FTC_REACH_NOT_YET, FTC_REACH_YES };

struct ftc_transport_ops {
    const char *name;
    unsigned caps;

    /* FTC_ERR_NOMEM, FTC_ERR_SYSTEM. */
    int (*open)(struct ftc_transport **out, const struct ftc_transport_setup *setup);

    /* Queue a message; takes references of its own, so the caller may drop his. Goes out now if
     * there is room, else by later polls. Errors: FTC_ERR_NOMEM, FTC_ERR_SYSTEM (no channel can be
     * made). A send to a closed peer succeeds and goes nowhere. */
    int (*send)(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                const struct ftc_value *value, bool urgent);

    /* Push queued messages on. True in *idle if nothing is queued any more. */
    int (*flush)(struct ftc_transport *transport, bool *idle);

    /* The next complete message: 1 and *from, *message (the caller's reference), 0 if there is
     * none, or FTC_ERR_PROTO with *from: that peer's channel is damaged and closed.
     * FTC_ERR_NOMEM. */
    int (*receive)(struct ftc_transport *transport, int *from, struct ftc_buffer **message);

    /* The caller waits for this rank (-1: for anybody): what it sends is looked for first, and the
     * others are looked at now and then. A hint, good until the next one. Not there: it would not
     * help. */
    void (*expect)(struct ftc_transport *transport, int from);

    /* Is there anything to receive or room for something queued? For the look before a sleep. */
    bool (*ready)(struct ftc_transport *transport);

    /* What a sleeper polls for readability besides its bell, after ready() was false; -1: the bell
     * says it all. Stays the same until close. */
    int (*descriptor)(struct ftc_transport *transport);

    /* Does it reach a peer? For who has a choice, asked until it is known and before the first
     * send. While it is not, it is tried, and descriptor() wakes at the end of that. Not there: it
     * does. */
    enum ftc_reach (*reach)(struct ftc_transport *transport, int peer);

    /* A failed peer: what is queued for it is dropped; what it sent before may still be
     * received. */
    void (*close_peer)(struct ftc_transport *transport, int peer);

    /* Where others find this end, "NAME:..." without blanks. Not there: they do not need to be
     * told. */
    const char *(*endpoint)(const struct ftc_transport *transport);

    /* Has each message to a peer that is not closed been taken over by its transport? An end that
     * leaves before may take some with it. Not there: as soon as flush() is idle. */
    bool (*settled)(const struct ftc_transport *transport);

    /* The lowest rank from `from` on for which something waits, and that could not be reached since
     * then or longer (ftc_clock_now()); -1: there is none. A hint, never a verdict. Not there: it
     * cannot be told. */
    int (*unreachable)(const struct ftc_transport *transport, int from, uint64_t since_ns);

    void (*close)(struct ftc_transport *transport);
};

struct ftc_transport {
    const struct ftc_transport_ops *ops;
};

extern const struct ftc_transport_ops ftc_transport_shm;

#endif
