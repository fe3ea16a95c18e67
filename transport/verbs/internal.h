/*
 * The inside of the verbs transport, for its own files.
 *
 * verbs.c    life, and what it shares with TCP
 * link.c     a queue pair, from the first card to its end
 * stream.c   bytes on a queue pair, credits, completions, errors
 * pool.c     registered memory
 * device.c   which device
 * card.c     encoding of a card
 * library.c  libibverbs and librdmacm
 *
 * Peers, meeting, handshake, message queues and going on after a break are those of the TCP
 * transport (tcp/internal.h). The socket of a link stays open beside its queue pair, and tells when
 * the other end is gone.
 */
#ifndef FTC_TRANSPORT_VERBS_INTERNAL_H
#define FTC_TRANSPORT_VERBS_INTERNAL_H

#include "transport/tcp/internal.h"
#include "transport/verbs/card.h"
#include "transport/verbs/device.h"
#include "transport/verbs/pool.h"
#include "transport/verbs/verbs.h"

#define FTC_VERBS_SHARE_LEAST 6 /* slots of a link, of which two thirds are for receives */
#define FTC_VERBS_SHARE_MOST  96
#define FTC_VERBS_RETRIES     6 /* not 7, which Soft-RoCE takes for "for ever" */

enum ftc_verbs_state {
    FTC_VERBS_WAIT_CARD,
    FTC_VERBS_WAIT_READY, /* this end can receive */
    FTC_VERBS_UP,         /* the other end can receive, too */
};

/* Bytes that have come and are not taken yet. */
struct ftc_verbs_arrival {
    uint32_t place, size; /* place: index into link->slots */
};

struct ftc_verbs_link {
    enum ftc_verbs_state state;
    struct ibv_qp *queue_pair;
    uint16_t generation; /* names this link in the numbers of its requests */
    uint32_t first;      /* number of the first packet */
    unsigned inline_most;
    bool starved; /* it waits for the completion of a send */
    bool ended;   /* nothing is sent any more; what came is still taken */
    int error;    /* why it ended, as errno; 0: the other end closed it */

    unsigned receives, sends;
    uint32_t *slots; /* slots of receives, then slots of sends */

    uint32_t *idle; /* places in `slots` of sends that are not posted */
    unsigned idle_count;
    unsigned credits, credits_most; /* the peer's receives: those posted and not used; all */
    bool credit_posted;             /* a message that only gives credits is on its way */

    struct ftc_verbs_arrival *arrived; /* a circular queue of `receives` places */
    unsigned arrived_first, arrived_count;
    uint32_t used; /* bytes of the first arrival that were taken */
    unsigned owed; /* receives that were posted again without the peer knowing */
};

struct ftc_verbs {
    struct ftc_tcp tcp;
    struct ftc_verbs_device device;
    char address[64]; /* the device's address as text */
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel;
    struct ibv_cq *completions;
    struct ftc_verbs_pool pool;
    uint8_t timeout;    /* of a try: 4.096 us times 2 to this power */
    bool armed;         /* the next message that comes makes the channel readable */
    bool armed_for_all; /* so does the next send that completes */
    uint16_t generation;
    int links, starved; /* links; links that wait for the completion of a send */
};

/* verbs/link.c: see struct ftc_tcp_wire. */
void ftc_verbs_begin(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_verbs_step(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, uint32_t events);
void ftc_verbs_acknowledge(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_verbs_end(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);

/* verbs/stream.c: see struct ftc_tcp_wire. */
ssize_t ftc_verbs_send(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const struct iovec *pieces,
                       int count);
ssize_t ftc_verbs_receive(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                          const struct iovec *places, int count);
void ftc_verbs_poll(struct ftc_tcp *tcp);
void ftc_verbs_arm(struct ftc_tcp *tcp);
/* Post the receive whose place in link->slots is `place`. 0 or errno. */
int ftc_verbs_post_receive(struct ftc_verbs *verbs, const struct ftc_tcp_peer *peer,
                           uint32_t place);
/* Send the first message, which has no bytes. Its completion proves that messages get through. */
void ftc_verbs_prove(struct ftc_verbs *verbs, const struct ftc_tcp_peer *peer);
/* The link may have room again: write what found none. */
void ftc_verbs_unblock(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* The peer's link carries nothing more. `error`: why, as errno; 0: the other end closed it. The
 * link is lost once everything that came has been taken. */
void ftc_verbs_fail(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, int error);
void ftc_verbs_fail_all(struct ftc_tcp *tcp, int error);

#endif
