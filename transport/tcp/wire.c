/* The transport "tcp": the bytes of a link go by its socket. TCP holds back a peer that sends too
 * much. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

#define JOINED_MOST 512

static void socket_wait(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    uint32_t events = 0;
    if (peer->inbox_size < FTC_TCP_INBOX_MAX)
        events |= EPOLLIN;
    if (peer->link->blocked)
        events |= EPOLLOUT;
    ftc_tcp_wait_for(tcp, peer->link, events);
}

static void socket_begin(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    ftc_tcp_link_proven(peer);
    ftc_tcp_link_write(tcp, peer);
}

static void socket_step(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, uint32_t events)
{
    struct ftc_tcp_connection *connection = peer->link;
    if (events & EPOLLOUT)
        ftc_tcp_link_unblock(tcp, peer);
    if (connection->fd >= 0 && (events & ~(uint32_t)EPOLLOUT) != 0)
        ftc_tcp_read(tcp, peer);
}

/* Copy the pieces together if they fit: each piece costs the kernel more than the copy. 0: they do
 * not fit. */
static size_t join(const struct iovec *pieces, int count, unsigned char bytes[JOINED_MOST])
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        if (pieces[i].iov_len > JOINED_MOST - size)
            return 0;
        memcpy(bytes + size, pieces[i].iov_base, pieces[i].iov_len);
        size += pieces[i].iov_len;
    }
    return size;
}

static ssize_t socket_send(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                           const struct iovec *pieces, int count)
{
    unsigned char bytes[JOINED_MOST];
    size_t joined = join(pieces, count, bytes);
    if (joined > 0)
        return send(peer->link->fd, bytes, joined, MSG_NOSIGNAL | MSG_DONTWAIT);
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)count};
    (void)tcp;
    return sendmsg(peer->link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t socket_receive(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                              const struct iovec *places, int count)
{
    (void)tcp;
    if (places[0].iov_len == 0) /* a message begins; recv() is the shorter way through the kernel */
        return recv(peer->link->fd, places[1].iov_base, places[1].iov_len, MSG_DONTWAIT);
    return readv(peer->link->fd, places, count);
}

static void socket_acknowledge(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->acknowledge_at == 0)
        return;
    peer->acknowledge_at = 1; /* a time long past, so it is due */
    ftc_tcp_link_write(tcp, peer);
}

static void socket_end(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    (void)tcp;
    (void)connection;
}

static const struct ftc_tcp_wire wire = {
    .ops = &ftc_transport_tcp,
    .protocol = FTC_TCP_PROTOCOL_SOCKET,
    .versions = {FTC_TCP_WIRE_VERSION, FTC_TCP_WIRE_VERSION},
    .begin = socket_begin,
    .step = socket_step,
    .wait = socket_wait,
    .send = socket_send,
    .receive = socket_receive,
    .acknowledge = socket_acknowledge,
    .end = socket_end,
};

/* The first record shows that both ends have the keys and that the way is sound. Only then the link
 * is proven (docs/design/tcp.md, rule S8). So one is sent even if there is no message. */
static void sealed_begin(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    peer->acknowledge_at = 1;
    ftc_tcp_link_write(tcp, peer);
}

static ssize_t sealed_receive(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                              const struct iovec *places, int count)
{
    ssize_t got = ftc_tcp_sealed_receive(tcp, peer, places, count);
    if (got > 0 && !peer->link->proven)
        ftc_tcp_link_proven(peer);
    return got;
}

static const struct ftc_tcp_wire sealed_wire = {
    .ops = &ftc_transport_tcp,
    .protocol = FTC_TCP_PROTOCOL_SOCKET,
    .versions = {FTC_TCP_WIRE_VERSION, FTC_TCP_WIRE_VERSION},
    .begin = sealed_begin,
    .step = socket_step,
    .wait = socket_wait,
    .send = ftc_tcp_sealed_send,
    .receive = sealed_receive,
    .acknowledge = socket_acknowledge,
    .end = ftc_tcp_sealed_end,
};

/* --- the transport --- */

static int tcp_open(struct ftc_transport **out, const struct ftc_transport_setup *setup)
{
    int rc = ftc_tcp_check_setup(setup);
    if (rc != 0)
        return rc;
    struct ftc_tcp *tcp = calloc(1, sizeof(*tcp));
    if (tcp == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    ftc_tcp_fill_in(tcp, setup, setup->tcp->seal == FTC_TCP_SEAL_OFF ? &wire : &sealed_wire);
    rc = ftc_tcp_start(tcp);
    if (rc != 0) {
        ftc_tcp_close(&tcp->base);
        return rc;
    }
    FTC_LOG(tcp->log, FTC_LOG_DEBUG, "tcp: %s, seal %s", tcp->endpoint,
            ftc_tcp_seal_name(tcp->setup.seal));
    *out = &tcp->base;
    return FTC_SUCCESS;
}

const struct ftc_transport_ops ftc_transport_tcp = {
    .name = "tcp",
    .caps = 0,
    .open = tcp_open,
    .send = ftc_tcp_send,
    .flush = ftc_tcp_flush,
    .receive = ftc_tcp_receive,
    .expect = ftc_tcp_expect,
    .ready = ftc_tcp_ready,
    .descriptor = ftc_tcp_descriptor,
    .close_peer = ftc_tcp_close_peer,
    .endpoint = ftc_tcp_endpoint,
    .settled = ftc_tcp_settled,
    .unreachable = ftc_tcp_unreachable,
    .close = ftc_tcp_close,
};
