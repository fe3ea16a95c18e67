/*
 * A queue pair beside the socket of a link (docs/design/verbs.md, "Meeting over TCP"). After the
 * handshake each end makes its queue pair, posts its receives and sends its card. When it has the
 * card of the other end, it connects its queue pair and says that it is ready. From then on, bytes
 * go by the queue pairs. Only last acknowledgements, and the end of the connection, come by the
 * socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/verbs/internal.h"

#define READY     0x52
#define INLINE    256 /* bytes that the device sends without another look at memory, if it can */
#define RNR_TIMER 12  /* 0.64 ms: InfiniBand specification, volume 1, table 45 */
#define HOPS      64
#define PARTITION 0 /* index */
#define SERVICE   0 /* level */

/* --- its share of the slots --- */

/* How many slots a new link gets. Early links get more. The least share is set aside for each peer
 * that may still come. */
static unsigned share(const struct ftc_verbs *verbs)
{
    unsigned room = ftc_verbs_pool_room(&verbs->pool);
    unsigned kept = (unsigned)(verbs->tcp.ranks - 1 - verbs->links) * FTC_VERBS_SHARE_LEAST;
    unsigned spare = room > kept ? (room - kept) / 8 : 0;
    spare += FTC_VERBS_SHARE_LEAST;
    return spare < FTC_VERBS_SHARE_MOST ? spare : FTC_VERBS_SHARE_MOST;
}

static int take_slots(struct ftc_verbs *verbs, struct ftc_verbs_link *link)
{
    for (;;) {
        unsigned slots = share(verbs);
        if (ftc_verbs_pool_take(&verbs->pool, link->slots, slots)) {
            link->sends = slots / 3;
            link->receives = slots - link->sends;
            return FTC_SUCCESS;
        }
        if (slots == FTC_VERBS_SHARE_LEAST)
            return FTC_ERR_SYSTEM;
    }
}

/* --- making one --- */

static void free_link(struct ftc_verbs_link *link)
{
    free(link->slots);
    free(link->idle);
    free(link->arrived);
    free(link);
}

static struct ftc_verbs_link *new_link(struct ftc_verbs *verbs)
{
    struct ftc_verbs_link *link = calloc(1, sizeof(*link));
    if (link == NULL)
        return NULL;
    link->slots = calloc(FTC_VERBS_SHARE_MOST, sizeof(*link->slots));
    link->idle = calloc(FTC_VERBS_SHARE_MOST, sizeof(*link->idle));
    link->arrived = calloc(FTC_VERBS_SHARE_MOST, sizeof(*link->arrived));
    link->generation = ++verbs->generation;
    if (link->slots != NULL && link->idle != NULL && link->arrived != NULL)
        return link;
    free_link(link);
    return NULL;
}

static int cannot(const struct ftc_verbs *verbs, const char *what)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot %s on %s: %m%s", what,
                         ibv_get_device_name(verbs->device.context->device),
                         errno == ENOMEM ? ": raise memlock (`ulimit -l`)" : "");
}

/* Ask for inline sends first. If the device has none, ask again without. */
static int make_queue_pair(struct ftc_verbs *verbs, struct ftc_verbs_link *link)
{
    struct ibv_qp_init_attr attributes = {
        .send_cq = verbs->completions,
        .recv_cq = verbs->completions,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .cap = {.max_send_wr = link->sends + 1, /* 1 for a message that only gives credits */
                .max_recv_wr = link->receives,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = INLINE}};
    struct ibv_qp_init_attr plain = attributes;
    plain.cap.max_inline_data = 0;
    link->queue_pair = ibv_create_qp(verbs->domain, &attributes);
    link->inline_most = link->queue_pair != NULL ? attributes.cap.max_inline_data : 0;
    if (link->queue_pair == NULL)
        link->queue_pair = ibv_create_qp(verbs->domain, &plain);
    return link->queue_pair != NULL ? FTC_SUCCESS : cannot(verbs, "make a queue pair");
}

static int initialise(struct ftc_verbs *verbs, struct ftc_tcp_peer *peer)
{
    struct ftc_verbs_link *link = peer->link->queue_pair;
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT,
                                     .pkey_index = PARTITION,
                                     .port_num = verbs->device.port,
                                     /* No other end may read or write memory of this rank. */
                                     .qp_access_flags = 0};
    errno = ibv_modify_qp(link->queue_pair, &attributes,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    for (uint32_t place = 0; errno == 0 && place < link->receives; place++)
        errno = ftc_verbs_post_receive(verbs, peer, place);
    return errno == 0 ? FTC_SUCCESS : cannot(verbs, "set up a queue pair");
}

static int make_link(struct ftc_verbs *verbs, struct ftc_tcp_peer *peer)
{
    struct ftc_verbs_link *link = new_link(verbs);
    int rc = link != NULL ? take_slots(verbs, link) : ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    if (rc != 0) {
        if (link != NULL)
            free_link(link);
        return rc;
    }
    peer->link->queue_pair = link; /* from here on ftc_verbs_end() frees it */
    verbs->links++;
    for (unsigned i = 0; i < link->sends; i++)
        link->idle[link->idle_count++] = link->receives + i;
    rc = make_queue_pair(verbs, link);
    return rc != 0 ? rc : initialise(verbs, peer);
}

static bool send_card(const struct ftc_verbs *verbs, const struct ftc_tcp_connection *connection)
{
    struct ftc_verbs_link *link = connection->queue_pair;
    unsigned char bytes[FTC_VERBS_CARD_SIZE];
    if (getrandom(&link->first, sizeof(link->first), GRND_NONBLOCK) != sizeof(link->first))
        return false;
    link->first &= 0xffffff;
    struct ftc_verbs_card card = {.ethernet = verbs->device.ethernet,
                                  .mtu = verbs->device.mtu,
                                  .queue_pair = link->queue_pair->qp_num,
                                  .first = link->first,
                                  .receives = link->receives,
                                  .lid = verbs->device.lid};
    memcpy(card.gid, verbs->device.gid.raw, sizeof(card.gid));
    ftc_verbs_card_encode(bytes, &card);
    return ftc_tcp_put(connection, bytes, sizeof(bytes));
}

void ftc_verbs_begin(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    peer->link->blocked = true;
    ftc_tcp_wait_for(tcp, peer->link, EPOLLIN);
    if (make_link(verbs, peer) != 0) {
        ftc_tcp_note(tcp, FTC_TCP_DESCRIPTORS, "no queue pair for rank %d: %s", peer->rank,
                     ftc_last_error());
        ftc_tcp_link_lost(tcp, peer, ftc_last_error());
    } else if (!send_card(verbs, peer->link)) {
        ftc_tcp_link_lost(tcp, peer, strerror(errno));
    }
}

/* --- connecting it --- */

static int to_receive(const struct ftc_verbs *verbs, struct ibv_qp *queue_pair,
                      const struct ftc_verbs_card *card)
{
    const struct ftc_verbs_device *device = &verbs->device;
    struct ibv_qp_attr attributes = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = card->mtu < (unsigned)device->mtu ? (enum ibv_mtu)card->mtu : device->mtu,
        .dest_qp_num = card->queue_pair,
        .rq_psn = card->first,
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = {.is_global = device->ethernet,
                    .dlid = (uint16_t)card->lid,
                    .sl = SERVICE,
                    .port_num = device->port,
                    .grh = {.sgid_index = device->gid_index, .hop_limit = HOPS}}};
    memcpy(attributes.ah_attr.grh.dgid.raw, card->gid, sizeof(card->gid));
    return ibv_modify_qp(queue_pair, &attributes,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/* The number of tries is limited, so a dead peer makes a completion with an error. */
static int to_send(const struct ftc_verbs *verbs, struct ibv_qp *queue_pair, uint32_t first)
{
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS,
                                     .timeout = verbs->timeout,
                                     .retry_cnt = FTC_VERBS_RETRIES,
                                     .rnr_retry = FTC_VERBS_RETRIES,
                                     .sq_psn = first};
    return ibv_modify_qp(queue_pair, &attributes,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int connect_to(struct ftc_verbs *verbs, struct ftc_verbs_link *link,
                      const struct ftc_verbs_card *card)
{
    if (card->ethernet != verbs->device.ethernet)
        return ftc_error_set(FTC_ERR_CONFIG,
                             "one of two devices is of InfiniBand, the other of Ethernet");
    link->credits = link->credits_most = card->receives;
    errno = to_receive(verbs, link->queue_pair, card);
    if (errno == 0)
        errno = to_send(verbs, link->queue_pair, link->first);
    return errno == 0 ? FTC_SUCCESS : cannot(verbs, "connect a queue pair");
}

static void take_card(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    static const unsigned char ready[1] = {READY};
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    struct ftc_verbs_link *link = peer->link->queue_pair;
    struct ftc_verbs_card card;
    int rc = ftc_verbs_card_decode(&card, peer->link->in);
    if (rc == 0)
        rc = connect_to(verbs, link, &card);
    if (rc != 0) {
        ftc_tcp_note(tcp, FTC_TCP_UNREACHABLE, "no queue pair with rank %d: %s", peer->rank,
                     ftc_last_error());
        ftc_tcp_link_lost(tcp, peer, ftc_last_error());
        return;
    }
    link->state = FTC_VERBS_WAIT_READY;
    if (!ftc_tcp_put(peer->link, ready, sizeof(ready)))
        ftc_tcp_link_lost(tcp, peer, strerror(errno));
}

static void take_ready(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->link->in[0] != READY) {
        ftc_error_set(FTC_ERR_PROTO, "rank %d is not ready and says something else", peer->rank);
        ftc_tcp_damage(tcp, peer);
        return;
    }
    peer->link->queue_pair->state = FTC_VERBS_UP;
    ftc_verbs_prove((struct ftc_verbs *)tcp, peer);
    ftc_verbs_unblock(tcp, peer);
}

/* --- its end --- */

static void take_acknowledgement(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_header header;
    int rc = ftc_tcp_header_decode(&header, peer->link->in);
    if (rc == 0 && (header.flags != 0 || !ftc_tcp_queue_acknowledge(&peer->out, header.expected)))
        rc = ftc_error_set(FTC_ERR_PROTO, "rank %d acknowledges messages that were not sent",
                           peer->rank);
    if (rc != 0)
        ftc_tcp_damage(tcp, peer);
}

void ftc_verbs_step(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, uint32_t events)
{
    static const size_t sizes[] = {[FTC_VERBS_WAIT_CARD] = FTC_VERBS_CARD_SIZE,
                                   [FTC_VERBS_WAIT_READY] = 1,
                                   [FTC_VERBS_UP] = FTC_TCP_HEADER_SIZE};
    static void (*const take[])(struct ftc_tcp *,
                                struct ftc_tcp_peer *) = {[FTC_VERBS_WAIT_CARD] = take_card,
                                                          [FTC_VERBS_WAIT_READY] = take_ready,
                                                          [FTC_VERBS_UP] = take_acknowledgement};
    struct ftc_tcp_connection *connection = peer->link;
    enum ftc_verbs_state state = connection->queue_pair->state;
    (void)events;
    int rc = ftc_tcp_take(connection, sizes[state]);
    if (rc == 1)
        take[state](tcp, peer);
    if (rc >= 0)
        return;
    ftc_verbs_poll(tcp); /* take what came before the end */
    if (peer->link == connection)
        ftc_verbs_fail(tcp, peer, 0);
}

/* By the socket, since the queue pair may be destroyed before it has sent. */
void ftc_verbs_acknowledge(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    unsigned char bytes[FTC_TCP_HEADER_SIZE];
    struct ftc_tcp_header header = {.expected = peer->expected};
    (void)tcp;
    if (peer->link->queue_pair->state == FTC_VERBS_WAIT_CARD)
        return;
    ftc_tcp_header_encode(bytes, &header);
    ftc_tcp_put(peer->link, bytes, sizeof(bytes)); /* as far as the socket takes it */
}

/* Destroy the queue pair at once, with everything that is posted on it, whatever the peer does. */
void ftc_verbs_end(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    struct ftc_verbs_link *link = connection->queue_pair;
    if (link == NULL)
        return;
    /* If the queue pair cannot be destroyed, it keeps its slots for ever. */
    if (link->queue_pair == NULL || ibv_destroy_qp(link->queue_pair) == 0)
        ftc_verbs_pool_give(&verbs->pool, link->slots, link->receives + link->sends);
    verbs->links--;
    verbs->starved -= link->starved;
    free_link(link);
    connection->queue_pair = NULL;
}
