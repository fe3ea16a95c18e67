#include "bench/floor/wires.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 30000
#define RETRY_NS 10000000L
#define SMALL    4096 /* bytes that may be read with what follows them */

struct flow {
    const unsigned char *data; /* what is to be sent */
    size_t sent, bytes;
};

struct sink {
    const struct incoming *in;
    size_t got;     /* bytes that are in their place */
    size_t partial; /* bytes in `piece` that are not yet a double */
    _Alignas(64) unsigned char piece[WIRES_PIECE];
};

static _Noreturn void give_up(const struct wires *wires, const char *what, int peer)
{
    fprintf(stderr, "hosts_floor: rank %d: %s rank %d: %s\n", wires->rank, what, peer,
            strerror(errno));
    exit(1);
}

/* --- connections --- */

static int new_socket(const struct wires *wires, const char *address, int port,
                      struct sockaddr_in *name)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *name = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (fd < 0 || inet_pton(AF_INET, address, &name->sin_addr) != 1 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0)
        give_up(wires, "no socket at", wires->rank);
    return fd;
}

static void keep(struct wires *wires, int peer, int fd)
{
    int one = 1;
    struct wire *wire = &wires->to[peer];
    *wire = (struct wire){.socket = fd, .ahead = malloc(WIRES_PIECE)};
    if (wire->ahead == NULL || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
        give_up(wires, "no connection to", peer);
}

/* The other rank may not listen yet. */
static void join(struct wires *wires, const char *address, int port, int peer)
{
    struct sockaddr_in name;
    struct timespec pause = {.tv_nsec = RETRY_NS};
    for (long waited = 0;; waited += RETRY_NS / 1000000) {
        int fd = new_socket(wires, address, port, &name);
        if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0) {
            keep(wires, peer, fd);
            break;
        }
        if (errno != ECONNREFUSED || waited >= LIMIT_MS)
            give_up(wires, "cannot connect to", peer);
        close(fd);
        nanosleep(&pause, NULL);
    }
    if (send(wires->to[peer].socket, &wires->rank, sizeof(int), MSG_NOSIGNAL) != sizeof(int))
        give_up(wires, "cannot send to", peer);
}

static void accept_one(struct wires *wires, int listener)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    struct timeval limit = {.tv_sec = LIMIT_MS / 1000};
    int peer = -1, fd = -1;
    errno = ETIMEDOUT;
    if (poll(&ready, 1, LIMIT_MS) == 1)
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
        recv(fd, &peer, sizeof(peer), MSG_WAITALL) != sizeof(peer) || peer <= wires->rank ||
        peer >= wires->size)
        give_up(wires, "no connection from a rank above", wires->rank);
    keep(wires, peer, fd);
}

void wires_open(struct wires *wires, char *const addresses[], int per_host)
{
    struct sockaddr_in name;
    int listener = new_socket(wires, addresses[wires->rank / per_host],
                              WIRES_PORT + wires->rank % per_host, &name);
    wires->to = calloc((size_t)wires->size, sizeof(wires->to[0]));
    if (wires->to == NULL || bind(listener, (struct sockaddr *)&name, sizeof(name)) != 0 ||
        listen(listener, wires->size) != 0)
        give_up(wires, "cannot listen at the address of", wires->rank);
    for (int peer = 0; peer < wires->rank; peer++)
        join(wires, addresses[peer / per_host], WIRES_PORT + peer % per_host, peer);
    for (int peer = wires->rank + 1; peer < wires->size; peer++)
        accept_one(wires, listener);
    close(listener);
}

void wires_close(struct wires *wires)
{
    for (int peer = 0; peer < wires->size; peer++) {
        if (peer != wires->rank)
            close(wires->to[peer].socket);
        free(wires->to[peer].ahead);
    }
    free(wires->to);
}

/* --- sending and receiving --- */

/* Returns whether any bytes went. */
static bool push(const struct wires *wires, int to, struct flow *flow)
{
    ssize_t sent = send(wires->to[to].socket, flow->data + flow->sent, flow->bytes - flow->sent,
                        MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        give_up(wires, "cannot send to", to);
    flow->sent += sent > 0 ? (size_t)sent : 0;
    return sent > 0;
}

/* Returns how many bytes came, at most `bytes`. */
static size_t take(const struct wires *wires, int from, void *into, size_t bytes)
{
    ssize_t got = recv(wires->to[from].socket, into, bytes, MSG_DONTWAIT);
    if (got == 0)
        errno = ECONNRESET;
    if (got == 0 || (got < 0 && errno != EAGAIN))
        give_up(wires, "cannot receive from", from);
    return got > 0 ? (size_t)got : 0;
}

static size_t take_ahead(const struct wires *wires, int from, void *into, size_t bytes)
{
    struct wire *wire = &wires->to[from];
    if (wire->begin == wire->end) {
        if (!wires->reads_ahead || bytes > SMALL)
            return take(wires, from, into, bytes);
        wire->begin = 0;
        wire->end = take(wires, from, wire->ahead, WIRES_PIECE);
    }
    if (bytes > wire->end - wire->begin)
        bytes = wire->end - wire->begin;
    memcpy(into, wire->ahead + wire->begin, bytes);
    wire->begin += bytes;
    return bytes;
}

static void add(struct sink *sink, size_t bytes)
{
    size_t count = bytes / sizeof(double), first = sink->got / sizeof(double);
    const double *own = sink->in->own + first, *other = (const double *)(void *)sink->piece;
    double *into = sink->in->into + first;
    for (size_t i = 0; i < count; i++)
        into[i] = own[i] + other[i];
    sink->got += count * sizeof(double);
    sink->partial = bytes % sizeof(double);
    memmove(sink->piece, sink->piece + count * sizeof(double), sink->partial);
}

/* Bytes up to `limit` may get into their place. Returns whether any came. */
static bool pull(const struct wires *wires, struct sink *sink, size_t limit)
{
    const struct incoming *in = sink->in;
    size_t room = limit - sink->got - sink->partial, got;
    if (in->own == NULL) {
        got = take_ahead(wires, in->from, (unsigned char *)in->into + sink->got, room);
        sink->got += got;
        return got > 0;
    }
    if (room > WIRES_PIECE - sink->partial)
        room = WIRES_PIECE - sink->partial;
    got = take_ahead(wires, in->from, sink->piece + sink->partial, room);
    add(sink, sink->partial + got);
    return got > 0;
}

static void wait_once(const struct wires *wires, int *looks, int to, int from)
{
    struct pollfd sockets[] = {{.fd = to < 0 ? -1 : wires->to[to].socket, .events = POLLOUT},
                               {.fd = from < 0 ? -1 : wires->to[from].socket, .events = POLLIN}};
    if (++*looks <= wires->looks) {
        sched_yield();
        return;
    }
    errno = ETIMEDOUT;
    if (poll(sockets, 2, LIMIT_MS) <= 0)
        give_up(wires, "nothing comes from, or goes to,", from < 0 ? to : from);
    *looks = 0;
}

void wires_exchange(struct wires *wires, const struct outgoing *out, const struct incoming *in)
{
    struct flow flow = {.data = out->data, .bytes = out->bytes};
    struct sink sink;
    bool replaces = out->bytes > 0 && out->data == in->into;
    int looks = 0;
    sink.in = in;
    sink.got = sink.partial = 0;
    while (flow.sent < flow.bytes || sink.got < in->bytes) {
        bool sends = flow.sent < flow.bytes, moved = false;
        size_t limit = in->bytes;
        if (sends)
            moved = push(wires, out->to, &flow);
        if (replaces && flow.sent < limit && flow.sent < flow.bytes)
            limit = flow.sent;
        if (sink.got + sink.partial < limit)
            moved |= pull(wires, &sink, limit);
        if (!moved)
            wait_once(wires, &looks, sends ? out->to : -1, sink.got < limit ? in->from : -1);
    }
}

void wires_send(struct wires *wires, int to, const void *data, size_t bytes)
{
    const struct incoming nothing = {.bytes = 0};
    wires_exchange(wires, &(struct outgoing){.to = to, .data = data, .bytes = bytes}, &nothing);
}

void wires_receive(struct wires *wires, int from, double *into, const double *own, size_t bytes)
{
    const struct outgoing nothing = {.bytes = 0};
    wires_exchange(wires, &nothing,
                   &(struct incoming){.from = from, .into = into, .own = own, .bytes = bytes});
}
