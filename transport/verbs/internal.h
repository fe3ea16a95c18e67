/*
 * The inside of the verbs transport, for its own files: verbs.c (life, what it shares with tcp),
 * verbs/link.c (a queue pair, from the first card to its end), verbs/stream.c (bytes on it,
 * completions), verbs/pool.c, verbs/device.c, verbs/card.c.
 *
 * Peers, meeting, handshake, message queues and resumption are the TCP transport's
 * (tcp/internal.h). A link's socket stays open beside its queue pair: it says when the other end is
 * gone.
 */
#ifndef FTC_TRANSPORT_VERBS_INTERNAL_H
#define FTC_TRANSPORT_VERBS_INTERNAL_H

#include "transport/tcp/internal.h"
#include "transport/verbs/card.h"
#include "transport/verbs/device.h"
#include "transport/verbs/pool.h"
#include "transport/verbs/verbs.h"

#define FTC_VERBS_SHARE_LEAST 6 /* slots of a link: two thirds receive */
#define FTC_VERBS_SHARE_MOST  96
#define FTC_VERBS_RETRIES     6 /* not 7: Soft-RoCE takes that for "for ever" */

enum ftc_verbs_state {
    FTC_VERBS_WAIT_CARD,
    FTC_VERBS_WAIT_READY, /* our end can receive */
    FTC_VERBS_UP,         /* the other can, too */
};

/* Bytes that came and were not taken. */
struct ftc_verbs_arrival {
    uint32_t place, size; /* the place in link->slots */
};

struct ftc_verbs_link {
    enum ftc_verbs_state state;
    struct ibv_qp *queue_pair;
    uint16_t generation; /* of completions that are its own */
    uint32_t first;      /* packet number */
    unsigned inline_most;
    bool starved; /* waits for a completion of a send */
    bool ended;   /* nothing goes out any more; what came is still taken */
    int error;    /* errno; 0: the other end closed it */

    unsigned receives, sends;
    uint32_t *slots; /* receives, then sends */

    uint32_t *idle; /* places in slots of sends that are not posted */
    unsigned idle_count;
    unsigned credits, credits_most; /* receives of the peer that are posted and not used */
    bool credit_posted;             /* a message that only gives credits is on its way */

    struct ftc_verbs_arrival *arrived; /* a circular queue of `receives` places */
    unsigned arrived_first, arrived_count;
    uint32_t used; /* bytes of the first */
    unsigned owed; /* receives that were posted again, and that the peer was not told of */
};

struct ftc_verbs {
    struct ftc_tcp tcp;
    struct ftc_verbs_device device;
    char address[64]; /* text */
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel;
    struct ibv_cq *completions;
    struct ftc_verbs_pool pool;
    uint8_t timeout;    /* 4.096 us times two to that */
    bool armed;         /* the next message makes the channel readable */
    bool armed_for_all; /* and the next send that is done */
    uint16_t generation;
    int links, starved; /* links; those that wait for a completion of a send */
};

/* verbs/link.c: see struct ftc_tcp_wire. */
void ftc_verbs_begin(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_verbs_step(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, uint32_t events);
void ftc_verbs_acknowledge(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_verbs_end(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
/* The peer's link carries nothing more: for that errno; 0: its end closed it. It is lost once what
 * came was taken. */
void ftc_verbs_fail(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, int error);
void ftc_verbs_fail_all(struct ftc_tcp *tcp, int error);

/* verbs/stream.c: see struct ftc_tcp_wire. */
ssize_t ftc_verbs_send(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const struct iovec *pieces,
                       int count);
ssize_t ftc_verbs_receive(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                          const struct iovec *places, int count);
void ftc_verbs_poll(struct ftc_tcp *tcp);
void ftc_verbs_arm(struct ftc_tcp *tcp);
/* Post the receive at a place of link->slots. 0 or errno. */
int ftc_verbs_post_receive(struct ftc_verbs *verbs, const struct ftc_tcp_peer *peer,
                           uint32_t place);
/* A first message, of no bytes: when it is done, the way carries messages. */
void ftc_verbs_prove(struct ftc_verbs *verbs, const struct ftc_tcp_peer *peer);
/* There is a reason to try: write what the link was too full for. */
void ftc_verbs_unblock(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);

#endif
