/* What the transports over TCP have in common: life and operations, whatever the wire is. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

/* --- life --- */

static void part_from(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    ftc_tcp_link_farewell(tcp, peer);
    ftc_tcp_silence(tcp, peer);
    ftc_tcp_link_drop(tcp, peer);
}

static void free_peer(struct ftc_tcp_peer *peer)
{
    ftc_tcp_coming_drop(peer);
    ftc_tcp_arrivals_drop(peer->inbox);
    free(peer);
}

void ftc_tcp_close(struct ftc_transport *transport)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)transport;
    /* A farewell may still hear a message, and put its peer into lists of peers. */
    for (struct ftc_tcp_peer *peer = tcp->met; peer != NULL; peer = peer->next_met)
        part_from(tcp, peer);
    for (struct ftc_tcp_peer *peer = tcp->met, *next; peer != NULL; peer = next) {
        next = peer->next_met;
        free_peer(peer);
    }
    while (tcp->half_first != NULL)
        ftc_tcp_hang_up(tcp, tcp->half_first);
    if (tcp->wire->close != NULL)
        tcp->wire->close(tcp);
    ftc_tcp_epoll_close(tcp);
    ftc_sparse_fini(&tcp->peers);
    explicit_bzero(&tcp->secret, sizeof(tcp->secret));
    free(tcp);
}

int ftc_tcp_check_setup(const struct ftc_transport_setup *setup)
{
    const struct ftc_tcp_setup *tcp = setup->tcp;
    if (tcp == NULL || setup->ranks < 1 || setup->self < 0 || setup->self >= setup->ranks)
        return ftc_error_set(FTC_ERR_ARG, "rank %d of %d cannot talk to others", setup->self,
                             setup->ranks);
    if (tcp->job == NULL || strnlen(tcp->job, FTC_TCP_JOB_SIZE) == FTC_TCP_JOB_SIZE ||
        tcp->endpoint == NULL)
        return ftc_error_set(
            FTC_ERR_ARG,
            "a transport needs a job name below %d characters and a way to find others",
            FTC_TCP_JOB_SIZE);
    if (tcp->secret == NULL || tcp->secret_size < FTC_TCP_SECRET_MIN ||
        tcp->secret_size > FTC_TCP_SECRET_MAX)
        return ftc_error_set(FTC_ERR_ARG, "the job secret has %zu bytes: %d to %d are needed",
                             tcp->secret_size, FTC_TCP_SECRET_MIN, FTC_TCP_SECRET_MAX);
    return FTC_SUCCESS;
}

void ftc_tcp_fill_in(struct ftc_tcp *tcp, const struct ftc_transport_setup *setup,
                     const struct ftc_tcp_wire *wire)
{
    tcp->base.ops = wire->ops;
    tcp->wire = wire;
    tcp->ranks = setup->ranks;
    tcp->self = setup->self;
    tcp->log = setup->log;
    tcp->pool = setup->pool;
    tcp->setup = *setup->tcp;
    tcp->epoll = tcp->timer = tcp->listener = -1;
    tcp->expected = -1;
    tcp->timed_end = &tcp->timed;
    tcp->waiting_end = &tcp->waiting;
    snprintf(tcp->job, sizeof(tcp->job), "%s", setup->tcp->job);
    tcp->secret.ends = setup->tcp->ends;
    tcp->secret.size = setup->tcp->secret_size;
    memcpy(tcp->secret.bytes, setup->tcp->secret, tcp->secret.size);
}

int ftc_tcp_start(struct ftc_tcp *tcp)
{
    if (ftc_sparse_init(&tcp->peers, tcp->ranks, sizeof(struct ftc_tcp_peer *)) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    int rc = ftc_tcp_listen(tcp);
    if (rc == 0)
        rc = ftc_tcp_congestion_choose(tcp);
    return rc != 0 ? rc : ftc_tcp_epoll_open(tcp);
}

/* --- the other operations --- */

int ftc_tcp_send(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                 const struct ftc_value *value, bool urgent)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)transport;
    struct ftc_tcp_peer *peer = ftc_tcp_peer(tcp, to);
    (void)urgent; /* any bytes wake a rank that sleeps in poll() */
    assert(to != tcp->self && head->size >= 1 && head->size <= FTC_TCP_HEAD_MAX);
    if (peer == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the channel to rank %d", to);
    if (peer->closed || peer->damaged || peer->reported)
        return FTC_SUCCESS;
    if (peer->broken_since != 0 && peer->out.first == NULL)
        peer->broken_since = ftc_clock_now(); /* nobody missed it before */
    if (!ftc_tcp_queue_append(&peer->out, head, value))
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message to rank %d", to);
    ftc_tcp_await(tcp, peer);
    if (peer->link != NULL && !peer->link->blocked && !ftc_tcp_hold(tcp, peer))
        ftc_tcp_link_write(tcp, peer);
    else if (peer->link == NULL && peer->dial == NULL && peer->retry_at == 0)
        ftc_tcp_dial(tcp, peer);
    return FTC_SUCCESS;
}

static bool any_peer(const struct ftc_tcp *tcp, bool (*has)(const struct ftc_tcp_peer *peer))
{
    for (const struct ftc_tcp_peer *peer = tcp->met; peer != NULL; peer = peer->next_met)
        if (has(peer))
            return true;
    return false;
}

static bool has_unacknowledged(const struct ftc_tcp_peer *peer)
{
    return peer->out.first != NULL;
}

int ftc_tcp_flush(struct ftc_transport *transport, bool *idle)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)transport;
    /* A turn costs a system call. It is left out if receive() has just taken one. */
    if (!tcp->turned)
        ftc_tcp_turn(tcp);
    tcp->turned = false;
    *idle = tcp->idle = ftc_tcp_all_sent(tcp);
    return FTC_SUCCESS;
}

bool ftc_tcp_ready(struct ftc_transport *transport)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)transport;
    if (tcp->holds)
        ftc_tcp_release(tcp);
    tcp->look_at = 0; /* before a sleep, this turn must look at the sockets, too */
    /* The turn sends all that can be sent, so only something to receive can make it ready. */
    ftc_tcp_turn(tcp);
    if (tcp->active == NULL && tcp->wire->arm != NULL)
        tcp->wire->arm(tcp);
    return tcp->active != NULL;
}

bool ftc_tcp_pending(const struct ftc_transport *transport)
{
    return ((const struct ftc_tcp *)transport)->active != NULL;
}

int ftc_tcp_descriptor(struct ftc_transport *transport)
{
    return ((struct ftc_tcp *)transport)->epoll;
}

void ftc_tcp_close_peer(struct ftc_transport *transport, int rank)
{
    struct ftc_tcp *tcp = (struct ftc_tcp *)transport;
    struct ftc_tcp_peer *peer = ftc_tcp_peer(tcp, rank);
    /* Out of memory: there is no peer to close. The detector goes on to tell the other ranks. */
    if (peer == NULL || peer->closed)
        return;
    if (peer->link != NULL && tcp->wire->poll != NULL)
        tcp->wire->poll(tcp); /* the link goes, with all messages that were not looked at */
    if (peer->link != NULL)
        tcp->wire->acknowledge(tcp, peer); /* the peer may be waiting only for this */
    peer->closed = true;
    ftc_tcp_silence(tcp, peer);
    if (peer->link == NULL)
        ftc_tcp_coming_drop(peer);
    else
        ftc_tcp_activate(tcp, peer); /* visit the peer once more, for what it sent before */
}

/* --- accessors --- */

const char *ftc_tcp_endpoint(const struct ftc_transport *transport)
{
    return ((const struct ftc_tcp *)transport)->endpoint;
}

int ftc_tcp_unreachable(const struct ftc_transport *transport, int from, uint64_t since_ns)
{
    const struct ftc_tcp *tcp = (const struct ftc_tcp *)transport;
    uint64_t now = ftc_clock_now(), span = now > since_ns ? (now - since_ns) / 4 : 0;
    uint64_t stands_ns = span < FTC_TCP_STANDS_NS ? span : FTC_TCP_STANDS_NS;
    int lowest = -1;

    for (const struct ftc_tcp_peer *peer = tcp->met; peer != NULL; peer = peer->next_met)
        if (peer->rank >= from && (lowest < 0 || peer->rank < lowest) && peer->broken_since != 0 &&
            peer->broken_since <= since_ns && has_unacknowledged(peer) &&
            !ftc_tcp_link_stands(peer, now, stands_ns))
            lowest = peer->rank;
    return lowest;
}

void ftc_tcp_acknowledge_after(struct ftc_transport *transport, unsigned ms)
{
    ((struct ftc_tcp *)transport)->setup.acknowledge_ms = ms;
}

bool ftc_tcp_settled(const struct ftc_transport *transport)
{
    return !any_peer((const struct ftc_tcp *)transport, has_unacknowledged);
}

bool ftc_tcp_settled_with(const struct ftc_transport *transport, int rank)
{
    const struct ftc_tcp_peer *peer = ftc_tcp_known((const struct ftc_tcp *)transport, rank);
    return peer == NULL || !has_unacknowledged(peer);
}

uint64_t ftc_tcp_count(const struct ftc_transport *transport, enum ftc_tcp_event event)
{
    return ((const struct ftc_tcp *)transport)->count[event];
}

int ftc_tcp_half_open(const struct ftc_transport *transport)
{
    return ((const struct ftc_tcp *)transport)->half_open;
}

bool ftc_tcp_break(struct ftc_transport *transport, int rank)
{
    const struct ftc_tcp_peer *peer = ftc_tcp_known((const struct ftc_tcp *)transport, rank);
    return peer != NULL && peer->link != NULL && shutdown(peer->link->fd, SHUT_RDWR) == 0;
}
