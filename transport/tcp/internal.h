/*
 * The inside of the TCP transport, for its own files, and of the verbs transport, which has another
 * wire: tcp.c (life, ops), tcp/loop.c (epoll, timers), tcp/listen.c, tcp/connect.c (the connector's
 * side), tcp/accept.c (the listener's), tcp/link.c (sending, life of a link), tcp/receive.c,
 * tcp/wire.c (what a link's bytes go by).
 *
 * A peer outlives its connections. It has at most one link (a connection after its handshake) and
 * one dial (an own attempt to get one); accepted connections belong to nobody until they have
 * proven who they are.
 */
#ifndef FTC_TRANSPORT_TCP_INTERNAL_H
#define FTC_TRANSPORT_TCP_INTERNAL_H

#include <netinet/in.h>

#include "base/clock.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/queue.h"
#include "transport/tcp/tcp.h"

#define FTC_TCP_READ_SIZE 16384
#define FTC_TCP_INBOX_MAX                                                                          \
    (1u << 20) /* bytes of whole messages of one peer; then TCP holds it back */
#define FTC_TCP_TURN_MAX          (4u << 20) /* bytes of one peer in one turn: others want theirs */
#define FTC_TCP_SANE              (1ull << 30) /* a longer value that does not fit into memory is damage */
#define FTC_TCP_HALF_OPEN_MAX     128
#define FTC_TCP_HALF_OPEN_ADDRESS 64
#define FTC_TCP_HANDSHAKE_NS      (5 * FTC_NS_PER_S)
#define FTC_TCP_ACK_NS            (5 * FTC_NS_PER_MS)
#define FTC_TCP_ACK_BYTES         (256u << 10)
#define FTC_TCP_ACK_MESSAGES      32
#define FTC_TCP_CONGESTION_SIZE   16 /* of a name, as the kernel has it */

enum ftc_tcp_state {
    FTC_TCP_CONNECTING,
    FTC_TCP_WAIT_ANSWER,
    FTC_TCP_WAIT_VERDICT,
    FTC_TCP_WAIT_HELLO,
    FTC_TCP_WAIT_PROOF,
    FTC_TCP_LINKED,
};

struct ftc_tcp_connection {
    int fd;          /* -1: closed, memory stays until the turn's end */
    uint32_t events; /* waited for */
    enum ftc_tcp_state state;
    int rank;          /* of the other end; a claim until its proof; -1: unknown */
    uint64_t since;    /* it was made */
    uint64_t deadline; /* of the handshake */
    struct ftc_tcp_connection *previous,
        *next;                 /* half-open ones, oldest first; or the closed ones */
    unsigned char address[16]; /* of an accepted one, for the limit by address */

    size_t used; /* of the handshake's current message */
    unsigned char in[FTC_TCP_HELLO_SIZE];
    unsigned char hello[FTC_TCP_HELLO_SIZE], answer[FTC_TCP_ANSWER_SIZE];

    unsigned char *buffer; /* of a link: read, [begin, end) not looked at */
    size_t begin, end;
    size_t
        frame; /* bytes of the last whole one, with its message, if they fit the buffer; else the buffer */
    bool payload; /* the header of the message that comes was read */
    bool blocked; /* the wire is full */
    bool proven;  /* it has carried something: until then an end of it is an attempt that failed */
    unsigned char acknowledgement[FTC_TCP_HEADER_SIZE];
    size_t acknowledgement_left;
    struct ftc_verbs_link *queue_pair; /* of the verbs transport; NULL: none */
};

/* A message that came or is coming. */
struct ftc_tcp_arrival {
    struct ftc_tcp_arrival *next;
    struct ftc_buffer *message;
};

struct ftc_tcp_peer {
    int rank;
    bool closed;            /* failed: nothing more goes out */
    bool damaged, reported; /* as in the shared-memory transport */

    struct ftc_tcp_connection *link, *dial;
    unsigned attempts;     /* that failed, one after the other */
    uint64_t retry_at;     /* connect again then; 0: not */
    uint64_t broken_since; /* 0: it is not */
    uint64_t linked_at;    /* the last link came up; 0: none ever did */
    enum ftc_reach reach;
    uint64_t reach_by; /* tried so long, even with nothing to send; 0: nobody asks */

    struct ftc_tcp_queue out;

    uint64_t expected; /* the next message to come */
    struct ftc_tcp_header header;
    struct ftc_tcp_arrival *coming; /* stays when the link breaks; ... */
    uint64_t used;                  /* ... so many bytes of its head and value are here */
    struct ftc_tcp_arrival *inbox, *inbox_last;
    size_t inbox_size;
    size_t quiet_bytes, quiet_messages; /* came since the last acknowledgement */
    uint64_t acknowledge_at;            /* 0: nothing to acknowledge */

    bool active; /* in the list of those with something to receive */
    bool timed;  /* in the list of those that have a timer */
};

struct ftc_tcp;

/* What carries the bytes of links. */
struct ftc_tcp_wire {
    const struct ftc_transport_ops *ops;
    enum ftc_tcp_protocol protocol;
    struct ftc_tcp_versions versions;

    /* The handshake of the peer's link is over: write, now or when it can carry bytes. */
    void (*begin)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
    /* Something happened at the link's socket. */
    void (*step)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, uint32_t events);
    /* Watch the link's socket for what is waited for, given inbox and queue. */
    void (*wait)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
    /* As writev(2) and readv(2) without waiting: EAGAIN is when the link gets blocked, or dry. */
    ssize_t (*send)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const struct iovec *pieces,
                    int count);
    ssize_t (*receive)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const struct iovec *places,
                       int count);
    /* Acknowledge what came, in a way that does not need the link any more. */
    void (*acknowledge)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
    /* The connection ends; its descriptor is still open. */
    void (*end)(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);

    /* Of a wire that is more than sockets; NULL: it is not. Look at each turn; make that its
     * descriptors say when to look, before a sleep; one of them (0 or 1) is readable; close what
     * links shared. */
    void (*poll)(struct ftc_tcp *tcp);
    void (*arm)(struct ftc_tcp *tcp);
    void (*wake)(struct ftc_tcp *tcp, int which);
    void (*close)(struct ftc_tcp *tcp);
};

struct ftc_tcp {
    struct ftc_transport base;
    const struct ftc_tcp_wire *wire;
    int ranks, self;
    const struct ftc_log *log;
    struct ftc_tcp_setup setup; /* its pointers to job and secret are not used */
    struct ftc_buffer_pool *pool;
    bool turned; /* by receive(), since the last flush() */
    bool idle;   /* the last flush() left nothing that waits for a socket to have room */
    char congestion[FTC_TCP_CONGESTION_SIZE]; /* of new connections; empty: the system's */
    char job[FTC_TCP_JOB_SIZE];
    struct ftc_tcp_secret secret;
    char endpoint[FTC_TCP_ENDPOINT_SIZE];

    struct sockaddr_storage source; /* to connect from; no family: any */

    int epoll, timer, listener;
    char wire_event[2]; /* their places stand for the descriptors of the wire */
    uint64_t now;       /* when it last looked: for what is due in milliseconds */
    uint64_t look_at;   /* at sockets and timers, where messages do not come by them */
    uint64_t timer_at;  /* set for; 0: not set */
    uint64_t
        accept_again_at; /* out of descriptors: the listener rests until then; 0: it does not */

    struct ftc_tcp_peer **peer; /* by rank, NULL: never met */
    int *met;                   /* ranks that have a peer */
    int met_count;
    int *active; /* ranks, a circular queue of `ranks` places */
    int active_first, active_count;
    int until_turn; /* messages that receive() still hands out before it looks at the sockets */
    int expected;   /* rank whose socket receive() looks at first; -1: at all of them */
    int looked;     /* so often in a row without the others */
    int *timed;     /* ranks */
    int timed_count;

    struct ftc_tcp_connection *half_first, *half_last;
    int half_open;
    struct ftc_tcp_connection *closed;

    uint64_t count[FTC_TCP_EVENTS], logged_at[FTC_TCP_EVENTS];
    uint64_t reach_ns; /* see ftc_tcp_reach() */
};

/* tcp.c. Opening: check, fill in what calloc() gave, start; what was filled in must be closed.
 * FTC_ERR_ARG, FTC_ERR_NOMEM, FTC_ERR_SYSTEM, FTC_ERR_CONFIG. */
/* tcp/congestion.c. FTC_ERR_CONFIG: it is not to be had here. */
int ftc_tcp_congestion_choose(struct ftc_tcp *tcp);
void ftc_tcp_congestion_set(const struct ftc_tcp *tcp, int fd);

int ftc_tcp_check_setup(const struct ftc_transport_setup *setup);
void ftc_tcp_fill_in(struct ftc_tcp *tcp, const struct ftc_transport_setup *setup,
                     const struct ftc_tcp_wire *wire);
int ftc_tcp_start(struct ftc_tcp *tcp);
void ftc_tcp_close(struct ftc_transport *transport);
/* As in ftc_transport_ops. */
int ftc_tcp_send(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                 const struct ftc_value *value, bool urgent);
int ftc_tcp_flush(struct ftc_transport *transport, bool *idle);
bool ftc_tcp_ready(struct ftc_transport *transport);
int ftc_tcp_descriptor(struct ftc_transport *transport);
int ftc_tcp_unreachable(const struct ftc_transport *transport, int from, uint64_t since_ns);
void ftc_tcp_close_peer(struct ftc_transport *transport, int rank);
/* NULL: out of memory. */
struct ftc_tcp_peer *ftc_tcp_peer(struct ftc_tcp *tcp, int rank);
void ftc_tcp_activate(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_tcp_time(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Count, and log with the number so far, unless one of the kind was logged lately. */
void ftc_tcp_note(struct ftc_tcp *tcp, enum ftc_tcp_event event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The peer breaks the protocol (ftc_last_error()): its channel is closed, receive reports it. */
void ftc_tcp_damage(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);

/* tcp/loop.c */
int ftc_tcp_loop_open(struct ftc_tcp *tcp);
void ftc_tcp_loop_close(struct ftc_tcp *tcp);
/* Do what can be done without waiting. */
void ftc_tcp_turn(struct ftc_tcp *tcp);
/* Watch a new connection's descriptor, which is closed if that fails. FTC_ERR_SYSTEM,
 * FTC_ERR_NOMEM. */
int ftc_tcp_watch(struct ftc_tcp *tcp, struct ftc_tcp_connection **out, int fd,
                  enum ftc_tcp_state state, uint32_t events);
void ftc_tcp_wait_for(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection, uint32_t events);
/* Watch a descriptor of the wire: 0 or 1. FTC_ERR_SYSTEM. */
int ftc_tcp_watch_wire(struct ftc_tcp *tcp, int fd, int which);
/* Its end has been seen: it would be readable from now on. */
void ftc_tcp_unwatch(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
/* Its memory is given back at the end of a turn. */
void ftc_tcp_hang_up(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
void ftc_tcp_listen_to(struct ftc_tcp *tcp, bool yes);

/* tcp/listen.c: the listening socket and tcp->endpoint. */
int ftc_tcp_listen(struct ftc_tcp *tcp);

/* tcp/accept.c */
void ftc_tcp_accept(struct ftc_tcp *tcp);
void ftc_tcp_accept_step(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
void ftc_tcp_half_open_remove(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);

/* tcp/connect.c */
void ftc_tcp_dial(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_tcp_dial_step(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
void ftc_tcp_dial_drop(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_tcp_dial_late(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* As ftc_transport_ops.reach: no is the answer when the peer's link has not carried a message of
 * ours tcp->reach_ns later. */
enum ftc_reach ftc_tcp_reach(struct ftc_transport *transport, int rank);
void ftc_tcp_reach_late(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_tcp_reached(struct ftc_tcp_peer *peer);
/* Is there a reason to have a link? */
bool ftc_tcp_wanted(const struct ftc_tcp_peer *peer);
/* Connect again later, if there is a reason to. */
void ftc_tcp_retry(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Options of every connection. */
void ftc_tcp_options(const struct ftc_tcp *tcp, int fd);
/* The next message of a handshake into connection->in: 1: whole; 0: not yet; -1: the connection
 * ended. */
int ftc_tcp_take(struct ftc_tcp_connection *connection, size_t size);
/* A message of a handshake: an empty socket has room for it. */
bool ftc_tcp_put(const struct ftc_tcp_connection *connection, const void *bytes, size_t size);

/* tcp/link.c */
/* The connection becomes the peer's link; the other end goes on at `place`. FTC_ERR_PROTO,
 * FTC_ERR_NOMEM. */
int ftc_tcp_link_up(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                    struct ftc_tcp_connection *connection, const struct ftc_tcp_place *place);
/* The link has carried something: the peer is not broken. */
void ftc_tcp_link_proven(struct ftc_tcp_peer *peer);
/* Where this end goes on. */
struct ftc_tcp_place ftc_tcp_link_place(const struct ftc_tcp_peer *peer);
/* The link is lost: errno says why. */
void ftc_tcp_link_lost(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const char *why);
void ftc_tcp_link_drop(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Write what can be written. */
void ftc_tcp_link_write(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Before a close: what came is acknowledged, as far as that goes. */
void ftc_tcp_link_farewell(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);

/* tcp/receive.c */
void ftc_tcp_read(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* All that came on a link that can send no more; it may be gone afterwards. What finds no room in
 * the inbox stays unread. */
void ftc_tcp_read_rest(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
int ftc_tcp_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message);
void ftc_tcp_expect(struct ftc_transport *transport, int from);
void ftc_tcp_arrivals_drop(struct ftc_tcp_arrival *first);
/* Half a message of a peer that is gone. */
void ftc_tcp_coming_drop(struct ftc_tcp_peer *peer);

/* tcp/wire.c: bytes go by the link's socket. */
extern const struct ftc_tcp_wire ftc_tcp_wire_socket;

#endif
