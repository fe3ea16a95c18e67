/*
 * Connections, and the epoll that watches them. One timer descriptor is in it, too, so a rank that
 * polls the epoll descriptor also wakes for timers. libev does not fit here: its timers are the
 * time-out of its own wait, and it tells its epoll of a change only at its next turn. A rank that
 * is asleep outside of libev would miss both.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

#define RETRANSMIT_MS 1000 /* longest pause between two retransmissions; Linux takes no less */
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* since Linux 6.15 */
#endif

static int add(struct ftc_tcp *tcp, int fd, uint32_t events, void *what)
{
    struct epoll_event event = {.events = events, .data.ptr = what};
    return epoll_ctl(tcp->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* In an epoll event, NULL stands for the listener, the address of tcp->timer for the timer, and the
 * addresses in tcp->wire_event for the descriptors of the wire. Anything else is a connection. */
int ftc_tcp_epoll_open(struct ftc_tcp *tcp)
{
    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    tcp->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (tcp->epoll < 0 || tcp->timer < 0 || add(tcp, tcp->listener, EPOLLIN, NULL) != 0 ||
        add(tcp, tcp->timer, EPOLLIN, &tcp->timer) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot watch sockets: %m%s",
                             errno == EMFILE ? "; raise the limit: `ulimit -n`" : "");
    return FTC_SUCCESS;
}

int ftc_tcp_watch_wire(struct ftc_tcp *tcp, int fd, int which)
{
    if (add(tcp, fd, EPOLLIN, &tcp->wire_event[which]) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot watch a device: %m");
    return FTC_SUCCESS;
}

void ftc_tcp_free_closed(struct ftc_tcp *tcp)
{
    while (tcp->closed != NULL) {
        struct ftc_tcp_connection *connection = tcp->closed;
        tcp->closed = connection->next;
        free(connection);
    }
}

void ftc_tcp_epoll_close(struct ftc_tcp *tcp)
{
    ftc_tcp_free_closed(tcp);
    if (tcp->listener >= 0)
        close(tcp->listener);
    if (tcp->timer >= 0)
        close(tcp->timer);
    if (tcp->epoll >= 0)
        close(tcp->epoll);
}

void ftc_tcp_listen_to(struct ftc_tcp *tcp, bool yes)
{
    struct epoll_event event = {.events = yes ? EPOLLIN : 0};
    epoll_ctl(tcp->epoll, EPOLL_CTL_MOD, tcp->listener, &event);
}

/* --- half-open connections: accepted, without proof --- */

void ftc_tcp_half_open_add(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    connection->previous = tcp->half_last;
    if (tcp->half_last != NULL)
        tcp->half_last->next = connection;
    else
        tcp->half_first = connection;
    tcp->half_last = connection;
    tcp->half_open++;
}

void ftc_tcp_half_open_remove(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        tcp->half_first = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    else
        tcp->half_last = connection->previous;
    connection->previous = connection->next = NULL;
    tcp->half_open--;
}

/* --- connections --- */

int ftc_tcp_watch(struct ftc_tcp *tcp, struct ftc_tcp_connection **out, int fd,
                  enum ftc_tcp_state state, uint32_t events)
{
    struct ftc_tcp_connection *connection = calloc(1, sizeof(*connection));
    if (connection == NULL || add(tcp, fd, events, connection) != 0) {
        int code = connection == NULL ? FTC_ERR_NOMEM : FTC_ERR_SYSTEM;
        ftc_error_set(code, "cannot watch a connection: %m");
        free(connection);
        close(fd);
        return code;
    }
    connection->fd = fd;
    connection->state = state;
    connection->events = events;
    connection->rank = -1;
    connection->since = ftc_clock_now();
    connection->deadline = connection->since + FTC_TCP_HANDSHAKE_NS;
    *out = connection;
    return FTC_SUCCESS;
}

void ftc_tcp_wait_for(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (connection->events == events)
        return;
    connection->events = events;
    epoll_ctl(tcp->epoll, EPOLL_CTL_MOD, connection->fd, &event); /* cannot fail: fd is watched */
}

void ftc_tcp_unwatch(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    epoll_ctl(tcp->epoll, EPOLL_CTL_DEL, connection->fd, NULL); /* fails if it is not watched */
}

void ftc_tcp_hang_up(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection)
{
    if (connection->state == FTC_TCP_WAIT_HELLO || connection->state == FTC_TCP_WAIT_PROOF)
        ftc_tcp_half_open_remove(tcp, connection);
    tcp->wire->end(tcp, connection);
    ftc_tcp_unwatch(tcp, connection); /* a child that has not called exec yet may hold the socket */
    close(connection->fd);
    connection->fd = -1;
    free(connection->buffer);
    connection->buffer = NULL;
    connection->next = tcp->closed;
    tcp->closed = connection;
}

/* --- what both sides of a handshake use --- */

static void set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof(value)); /* a refused option costs only time */
}

void ftc_tcp_options(const struct ftc_tcp *tcp, int fd)
{
    int user_timeout = tcp->setup.user_timeout_ms > 0
                           ? (int)tcp->setup.user_timeout_ms
                           : (int)(FTC_TCP_USER_TIMEOUT_NS / FTC_NS_PER_MS);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout);
    /* After a cut or on a bad line, leases wait for retransmissions. If TCP doubled its pauses,
     * they would wait for up to twice as long as the cut lasted. */
    set(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
    set(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, RETRANSMIT_MS);
    /* Even an end that only waits must notice a black hole. */
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
    ftc_tcp_congestion_set(tcp, fd);
}

/* Read no byte beyond the message: what follows belongs to the link. */
int ftc_tcp_take(struct ftc_tcp_connection *connection, size_t size)
{
    ssize_t got =
        recv(connection->fd, connection->in + connection->used, size - connection->used, 0);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    connection->used += (size_t)got;
    if (connection->used < size)
        return 0;
    connection->used = 0;
    return 1;
}

bool ftc_tcp_put(const struct ftc_tcp_connection *connection, const void *bytes, size_t size)
{
    return send(connection->fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}
