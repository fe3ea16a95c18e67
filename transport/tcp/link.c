/* A link, from the end of its handshake until it breaks. */
#include <stdlib.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

struct ftc_tcp_place ftc_tcp_link_place(const struct ftc_tcp_peer *peer)
{
    return (struct ftc_tcp_place){peer->expected, peer->coming != NULL ? peer->used : 0};
}

int ftc_tcp_link_up(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                    struct ftc_tcp_connection *connection, const struct ftc_tcp_place *place)
{
    connection->state = FTC_TCP_LINKED;
    connection->buffer = malloc(FTC_TCP_READ_SIZE);
    if (connection->buffer == NULL ||
        (tcp->setup.seal != FTC_TCP_SEAL_OFF && !ftc_tcp_sealed_start(tcp, connection))) {
        ftc_tcp_hang_up(tcp, connection);
        ftc_tcp_note(tcp, FTC_TCP_DESCRIPTORS, "out of memory for the connection with rank %d",
                     peer->rank);
        ftc_tcp_retry(tcp, peer);
        return FTC_ERR_NOMEM;
    }
    connection->frame = FTC_TCP_READ_SIZE;
    peer->link = connection;
    peer->linked_at = ftc_clock_now();
    if (connection->sealed != NULL &&
        (place->expected != peer->told.expected || place->offset != peer->told.offset))
        ftc_tcp_got_through(peer);
    peer->told = *place;
    if (!ftc_tcp_queue_resume(&peer->out, place->expected, place->offset)) {
        int rc = ftc_error_set(FTC_ERR_PROTO,
                               "rank %d goes on at message %llu, which it cannot have reached",
                               peer->rank, (unsigned long long)place->expected);
        ftc_tcp_damage(tcp, peer);
        return rc;
    }
    ftc_tcp_acknowledged(peer); /* the handshake has acknowledged everything */
    if (peer->out.unsent != NULL)
        ftc_tcp_await(tcp, peer);
    peer->retry_at = 0;
    return FTC_SUCCESS;
}

void ftc_tcp_link_proven(struct ftc_tcp_peer *peer)
{
    peer->link->proven = true;
    peer->attempts = 0;
    if (peer->link->sealed == NULL || peer->out.first == NULL)
        ftc_tcp_got_through(peer);
}

void ftc_tcp_got_through(struct ftc_tcp_peer *peer)
{
    peer->broken_since = 0;
}

bool ftc_tcp_link_stands(const struct ftc_tcp_peer *peer, uint64_t now, uint64_t long_ns)
{
    return peer->link != NULL && peer->link->proven && now >= peer->linked_at + long_ns;
}

void ftc_tcp_link_drop(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->link == NULL)
        return;
    ftc_tcp_hang_up(tcp, peer->link);
    peer->link = NULL;
    ftc_tcp_acknowledged(peer);
}

void ftc_tcp_link_lost(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const char *why)
{
    uint64_t now = ftc_clock_now();
    bool proven = peer->link->proven, stood = ftc_tcp_link_stands(peer, now, FTC_TCP_STANDS_NS);
    ftc_tcp_link_drop(tcp, peer);
    if (peer->closed) {
        ftc_tcp_coming_drop(peer);
        return;
    }
    if (!proven)
        peer->attempts++;
    if (peer->broken_since == 0 || stood)
        peer->broken_since = now;
    /* A connection that ends while nothing is under way is normal: this is how a rank leaves. So it
     * is not logged. */
    if (peer->out.first != NULL || peer->coming != NULL)
        ftc_tcp_note(tcp, FTC_TCP_BROKEN, "lost the connection with rank %d: %s; connecting again",
                     peer->rank, why);
    ftc_tcp_retry(tcp, peer);
}

/* --- the end of a channel --- */

void ftc_tcp_dial_drop(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->dial != NULL)
        ftc_tcp_hang_up(tcp, peer->dial);
    peer->dial = NULL;
}

void ftc_tcp_silence(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    ftc_tcp_queue_drop(&peer->out);
    ftc_tcp_dial_drop(tcp, peer);
    peer->retry_at = 0;
    peer->acknowledge_at = 0;
    peer->reach_by = 0;
    peer->broken_since = 0;
}

void ftc_tcp_damage(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    if (peer->damaged || peer->reported)
        return;
    FTC_LOG(tcp->log, FTC_LOG_WARN, "closed the channel to rank %d: %s", peer->rank,
            ftc_last_error());
    peer->damaged = true;
    ftc_tcp_silence(tcp, peer);
    ftc_tcp_link_drop(tcp, peer);
    ftc_tcp_coming_drop(peer);
    ftc_tcp_activate(tcp, peer);
}
