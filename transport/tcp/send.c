/* Sending on a link. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/tcp/internal.h"

#define PIECES 64 /* at most in one call; small messages are sent together */

static bool acknowledgement_due(const struct ftc_tcp *tcp, const struct ftc_tcp_peer *peer)
{
    if (peer->acknowledge_at == 0)
        return false;
    return peer->quiet_bytes >= FTC_TCP_ACK_BYTES || peer->quiet_messages >= FTC_TCP_ACK_MESSAGES ||
           tcp->now >= peer->acknowledge_at;
}

/* Make a frame that only acknowledges, if no message is there to carry the acknowledgement. */
static void make_acknowledgement(const struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct ftc_tcp_connection *link = peer->link;
    struct ftc_tcp_header header = {.expected = peer->expected};
    if (peer->out.unsent != NULL || link->acknowledgement_left > 0 ||
        !acknowledgement_due(tcp, peer))
        return;
    ftc_tcp_header_encode(link->acknowledgement, &header);
    link->acknowledgement_left = sizeof(link->acknowledgement);
    ftc_tcp_acknowledged(peer);
}

static int gather(struct ftc_tcp_peer *peer, struct iovec *pieces)
{
    struct ftc_tcp_connection *link = peer->link;
    int count = 0;
    /* What is left of an acknowledgement began before any message did. So no message is sent in
     * part. */
    if (link->acknowledgement_left > 0)
        pieces[count++] = (struct iovec){link->acknowledgement + sizeof(link->acknowledgement) -
                                             link->acknowledgement_left,
                                         link->acknowledgement_left};
    if (peer->out.unsent != NULL && !ftc_tcp_queue_amid(&peer->out))
        ftc_tcp_acknowledged(peer);
    return count + ftc_tcp_queue_gather(&peer->out, pieces + count, PIECES - count, peer->expected);
}

static void advance(struct ftc_tcp_peer *peer, size_t bytes)
{
    struct ftc_tcp_connection *link = peer->link;
    size_t step = bytes < link->acknowledgement_left ? bytes : link->acknowledgement_left;
    link->acknowledgement_left -= step;
    ftc_tcp_queue_advance(&peer->out, bytes - step);
}

/* What came is read first: its sender may be gone for good, and nobody would send it again. */
static void write_failed(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, int error)
{
    ftc_tcp_read_rest(tcp, peer);
    if (peer->link != NULL)
        ftc_tcp_link_lost(tcp, peer, strerror(error));
}

static bool sealed_bytes_wait(const struct ftc_tcp_connection *link)
{
    return link->sealed != NULL && ftc_tcp_sealed_waits(link);
}

/* Does something wait to be sent, on a link or until there is one? */
static bool waits(const struct ftc_tcp_peer *peer)
{
    return peer->out.unsent != NULL || (peer->link != NULL && sealed_bytes_wait(peer->link));
}

/* Peers to which nothing waits any more leave the list. */
bool ftc_tcp_all_sent(struct ftc_tcp *tcp)
{
    bool all = true;

    for (struct ftc_tcp_peer **place = &tcp->waiting, *peer; (peer = *place) != NULL;) {
        if (waits(peer)) {
            all &= peer->link != NULL && peer->link->held > 0;
            place = &peer->next_waiting;
            continue;
        }
        peer->waiting = false;
        *place = peer->next_waiting;
        if (*place == NULL)
            tcp->waiting_end = place;
    }
    return all;
}

void ftc_tcp_link_write(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    struct iovec pieces[PIECES];
    if (peer->link != NULL)
        peer->link->held = 0;
    while (peer->link != NULL && !peer->closed) {
        make_acknowledgement(tcp, peer);
        int count = gather(peer, pieces);
        if (count == 0 && !sealed_bytes_wait(peer->link))
            break;
        ssize_t sent = tcp->wire->send(tcp, peer, pieces, count);
        if (sent >= 0) {
            advance(peer, (size_t)sent);
        } else if (errno == EAGAIN) {
            peer->link->blocked = true;
            break;
        } else if (errno != EINTR) {
            write_failed(tcp, peer, errno);
        }
    }
    if (waits(peer))
        ftc_tcp_await(tcp, peer);
    if (peer->link != NULL)
        tcp->wire->wait(tcp, peer);
}

void ftc_tcp_link_unblock(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    peer->link->blocked = false;
    ftc_tcp_time(tcp, peer); /* its acknowledgement and its probe had no timer meanwhile */
    ftc_tcp_link_write(tcp, peer);
}

/* What is there is read, so that the close does not become a reset. A reset would destroy the last
 * bytes that this end has sent. */
void ftc_tcp_link_farewell(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    char rest[4096];
    if (peer->link == NULL || peer->closed)
        return;
    tcp->wire->acknowledge(tcp, peer);
    if (peer->link == NULL || shutdown(peer->link->fd, SHUT_WR) != 0)
        return;
    for (int i = 0; i < 256 && recv(peer->link->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0; i++)
        ;
}
