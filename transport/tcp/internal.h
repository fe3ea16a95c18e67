/*
 * The inside of the TCP transport. Only its own files use it, and those of the verbs transport,
 * which has another wire.
 *
 * wire.c        the transport "tcp", whose wire is a socket
 * tcp.c         life and ops, for any wire
 * inbox.c       what the caller receives
 * hold.c        small messages that are held back
 * loop.c        a turn: descriptors and timers
 * accept.c      the listener's side of the handshake
 * connect.c     the connector's side of the handshake
 * send.c        sending on a link
 * receive.c     reading from a link
 * link.c        life of a link
 * listen.c      the listening socket
 * sealed.c      records of sealed links, from and to the socket
 * connection.c  connections, and the epoll that watches them
 * peer.c        peers
 * congestion.c  choice of congestion control
 *
 * A file calls only files below it in this list.
 *
 * A peer outlives its connections. It has at most one link (a connection after its handshake) and
 * one dial (an attempt of this end to connect). An accepted connection belongs to no peer until its
 * proof has come. Until then it is half-open.
 */
#ifndef FTC_TRANSPORT_TCP_INTERNAL_H
#define FTC_TRANSPORT_TCP_INTERNAL_H

#include <netinet/in.h>

#include "base/clock.h"
#include "base/sparse.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/queue.h"
#include "transport/tcp/sealed.h"
#include "transport/tcp/tcp.h"

#define FTC_TCP_READ_SIZE 16384
#define FTC_TCP_INBOX_MAX                                                                          \
    (1u << 20) /* bytes of whole messages of one peer; after that TCP holds the peer back */
#define FTC_TCP_TURN_MAX          (4u << 20) /* bytes of one peer in a turn; others wait, too */
#define FTC_TCP_HALF_OPEN_MAX     128
#define FTC_TCP_HALF_OPEN_ADDRESS 64
#define FTC_TCP_HANDSHAKE_NS      (5 * FTC_NS_PER_S)
#define FTC_TCP_USER_TIMEOUT_NS   (10 * FTC_NS_PER_S)
#define FTC_TCP_STANDS_NS         FTC_NS_PER_S /* a link that is so old is no broken one */
#define FTC_TCP_ACK_NS            (5 * FTC_NS_PER_MS)
#define FTC_TCP_ACK_BYTES         (256u << 10)
#define FTC_TCP_ACK_MESSAGES      32
#define FTC_TCP_CONGESTION_SIZE   16 /* bytes of a name, as in the kernel */

enum ftc_tcp_state {
    FTC_TCP_CONNECTING,
    FTC_TCP_WAIT_ANSWER,
    FTC_TCP_WAIT_VERDICT,
    FTC_TCP_WAIT_HELLO,
    FTC_TCP_WAIT_PROOF,
    FTC_TCP_LINKED,
};

struct ftc_tcp_connection {
    int fd;          /* -1: closed; the memory stays until the end of the turn */
    uint32_t events; /* epoll events that it is watched for */
    enum ftc_tcp_state state;
    int rank;          /* of the other end; only a claim before its proof; -1: unknown */
    uint64_t since;    /* when it was made */
    uint64_t deadline; /* for the end of the handshake */
    /* List of the half-open connections, oldest first, or of the closed ones. */
    struct ftc_tcp_connection *previous, *next;
    unsigned char address[16]; /* of an accepted connection, for the limit for each address */

    size_t used; /* bytes of the handshake's current message that are in `in` */
    unsigned char in[FTC_TCP_HELLO_SIZE];
    unsigned char hello[FTC_TCP_HELLO_SIZE], answer[FTC_TCP_ANSWER_SIZE];

    unsigned char *buffer; /* of a link: bytes that were read; [begin, end) is not looked at yet */
    size_t begin, end;
    size_t frame; /* bytes of the last whole frame with its message, at most the buffer's size */
    bool payload; /* the header of the message that is coming has been read */
    /* Messages at the end of the queue that are held back, and until when; and when the last one
     * was sent while many were under way (hold.c). */
    unsigned held;
    uint64_t held_until, burst_at;
    bool blocked; /* the wire has no room, or cannot carry bytes yet */
    bool proven;  /* it has carried something; if it ends before that, the attempt has failed */
    unsigned char acknowledgement[FTC_TCP_HEADER_SIZE];
    size_t acknowledgement_left;
    struct ftc_verbs_link *queue_pair; /* of the verbs transport; NULL: none */
    struct ftc_tcp_sealed *sealed; /* keys and records of a sealed link; NULL: it is not sealed */
};

/* A message that has come or is coming. */
struct ftc_tcp_arrival {
    struct ftc_tcp_arrival *next;
    struct ftc_buffer *message;
};

struct ftc_tcp_peer {
    int rank;
    bool closed;            /* the rank has failed: nothing more is sent to it */
    bool damaged, reported; /* as in struct ftc_shm_peer */

    struct ftc_tcp_connection *link, *dial;
    unsigned attempts; /* attempts that failed since a link last carried something */
    uint64_t retry_at; /* when to connect again; 0: no attempt is planned */
    /* Since when it is unreachable; if nothing waited then, since something does
     * (docs/design/nodes.md, rule 8). 0: it is not. */
    uint64_t broken_since;
    uint64_t linked_at;        /* when the last link came up; 0: none ever did */
    struct ftc_tcp_place told; /* where the peer said it goes on, when the last link came up */
    enum ftc_reach reach;
    uint64_t reach_by; /* try to reach it until then, even with nothing to send; 0: nobody asks */

    struct ftc_tcp_queue out;

    uint64_t expected; /* number of the next message to come */
    struct ftc_tcp_header header;
    struct ftc_tcp_arrival *coming; /* the message that is coming; it stays when the link breaks */
    uint64_t used;                  /* bytes of its head and value that are here */
    struct ftc_tcp_arrival *inbox, *inbox_last;
    size_t inbox_size;
    size_t quiet_bytes, quiet_messages; /* since the last acknowledgement was sent */
    uint64_t acknowledge_at;            /* when to acknowledge what came; 0: there is nothing */

    struct ftc_tcp_peer *next_met;     /* in the list of all peers */
    struct ftc_tcp_peer *next_active;  /* in the circle of those with something to receive */
    struct ftc_tcp_peer *next_timed;   /* in the list of those with a timer */
    bool timed;                        /* it is in that list */
    struct ftc_tcp_peer *next_waiting; /* in the list of those to which something may wait */
    bool waiting;                      /* it is in that list */
};

struct ftc_tcp;

/* What carries the bytes of links: sockets, or queue pairs beside them. */
struct ftc_tcp_wire {
    const struct ftc_transport_ops *ops;
    enum ftc_tcp_protocol protocol;
    struct ftc_tcp_versions versions;

    /* The handshake of the peer's link is over. Begin to write, at once or when the link can carry
     * bytes. */
    void (*begin)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
    /* Something happened at the socket of the link. */
    void (*step)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, uint32_t events);
    /* Set what the socket of the link is watched for, as inbox and queue demand. */
    void (*wait)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
    /* As writev(2) and readv(2), without waiting. EAGAIN: the link can take no more bytes, or has
     * no more. */
    ssize_t (*send)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const struct iovec *pieces,
                    int count);
    ssize_t (*receive)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const struct iovec *places,
                       int count);
    /* Acknowledge what came in such a way that the link may end right after. */
    void (*acknowledge)(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
    /* The connection ends. Its descriptor is still open. */
    void (*end)(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);

    /* Only in a wire that is more than sockets; otherwise NULL. poll: look for completions, at each
     * turn. arm: before a sleep, make the wire's descriptors tell when to look. wake: descriptor
     * `which` (0 or 1) of the wire is readable. close: free what the links shared. */
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
    struct ftc_tcp_setup setup; /* its pointers to job and secret are not used after opening */
    struct ftc_buffer_pool *pool;
    bool turned; /* receive() has taken a turn since the last flush() */
    bool idle;   /* after the last flush() nothing waited for room in a socket */
    char congestion[FTC_TCP_CONGESTION_SIZE]; /* of new connections; "": the system's */
    char job[FTC_TCP_JOB_SIZE];
    struct ftc_tcp_secret secret;
    char endpoint[FTC_TCP_ENDPOINT_SIZE];

    struct sockaddr_storage source; /* the address to connect from; no family: any */

    int epoll, timer, listener;
    char wire_event[2]; /* the addresses of these bytes stand for the descriptors of the wire */
    uint64_t now;       /* of the last look; exact enough for what is due in milliseconds */
    uint64_t look_at;   /* next look at sockets and timers, where not every turn looks at them */
    uint64_t timer_at;  /* when the timer will fire; 0: it is not set */
    uint64_t accept_again_at; /* until then the listener rests, without descriptors; 0: it works */

    struct ftc_sparse peers;     /* by rank; NULL: nothing went to this rank or came from it */
    struct ftc_tcp_peer *met;    /* all of them */
    struct ftc_tcp_peer *active; /* the last of the circle; NULL: nobody is in it */
    struct ftc_tcp_peer *timed, **timed_end;
    struct ftc_tcp_peer *waiting, **waiting_end;
    int until_turn; /* messages that receive() hands out before it looks at sockets again */
    int expected;   /* rank whose socket receive() looks at first; -1: at all sockets */
    int looked;     /* looks in a row at that socket alone */
    bool gathers;   /* all messages are held back (ftc_tcp_gather()) */
    bool holds;     /* messages to some peer may be held back */
    int passes;     /* calls of receive() since the last one was held back */

    struct ftc_tcp_connection *half_first, *half_last;
    int half_open;
    struct ftc_tcp_connection *closed;

    uint64_t count[FTC_TCP_EVENTS], logged_at[FTC_TCP_EVENTS];
    uint64_t reach_ns; /* how long ftc_tcp_reach() tries */
};

/* tcp/congestion.c. FTC_ERR_CONFIG: this kernel, or this user, cannot use the one that is set. */
int ftc_tcp_congestion_choose(struct ftc_tcp *tcp);
void ftc_tcp_congestion_set(const struct ftc_tcp *tcp, int fd);

/* tcp/peer.c */
/* The peer of a rank. NULL: there is none. */
static inline struct ftc_tcp_peer *ftc_tcp_known(const struct ftc_tcp *tcp, int rank)
{
    return ftc_sparse_pointer(&tcp->peers, rank);
}
/* The same, made if there is none. NULL: out of memory. */
struct ftc_tcp_peer *ftc_tcp_peer(struct ftc_tcp *tcp, int rank);
/* Put the peer behind the others with something to receive, and take the first of these out. NULL:
 * there is none. */
void ftc_tcp_activate(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
struct ftc_tcp_peer *ftc_tcp_take_active(struct ftc_tcp *tcp);
/* Put the peer into the list of those with a timer. */
void ftc_tcp_time(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Something may wait to be sent to the peer. */
void ftc_tcp_await(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Count an event, and log it with the number so far, unless one of its kind was logged within
 * 10 s. */
void ftc_tcp_note(struct ftc_tcp *tcp, enum ftc_tcp_event event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ftc_tcp_arrivals_drop(struct ftc_tcp_arrival *first);
/* Drop the incomplete message of a peer that is gone. */
void ftc_tcp_coming_drop(struct ftc_tcp_peer *peer);
/* The peer is told all that has come. */
void ftc_tcp_acknowledged(struct ftc_tcp_peer *peer);
/* Is there a reason to have a link: something to send, or the question whether it reaches the
 * peer? */
bool ftc_tcp_wanted(const struct ftc_tcp_peer *peer);
/* Connect again later, if a link is wanted. */
void ftc_tcp_retry(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* The answer to ops.reach is yes. */
void ftc_tcp_reached(struct ftc_tcp_peer *peer);

/* tcp/connection.c */
int ftc_tcp_epoll_open(struct ftc_tcp *tcp);
void ftc_tcp_epoll_close(struct ftc_tcp *tcp);
/* Make a connection of this descriptor, and watch it. On error the descriptor is closed:
 * FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_tcp_watch(struct ftc_tcp *tcp, struct ftc_tcp_connection **out, int fd,
                  enum ftc_tcp_state state, uint32_t events);
void ftc_tcp_wait_for(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection, uint32_t events);
/* Watch a descriptor of the wire; `which` is 0 or 1. FTC_ERR_SYSTEM. */
int ftc_tcp_watch_wire(struct ftc_tcp *tcp, int fd, int which);
/* Stop watching a connection whose end has been seen. Otherwise it stays readable, and nobody can
 * sleep. */
void ftc_tcp_unwatch(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
/* Close a connection. Its memory is freed at the end of the turn. */
void ftc_tcp_hang_up(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
void ftc_tcp_free_closed(struct ftc_tcp *tcp);
void ftc_tcp_listen_to(struct ftc_tcp *tcp, bool yes);
void ftc_tcp_half_open_add(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
void ftc_tcp_half_open_remove(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
/* Set the options that every connection has. */
void ftc_tcp_options(const struct ftc_tcp *tcp, int fd);
/* Read the next message of a handshake into connection->in. 1: it is complete; 0: not yet; -1: the
 * connection has ended. */
int ftc_tcp_take(struct ftc_tcp_connection *connection, size_t size);
/* Send a message of a handshake. It always fits, since the socket is empty. False: the connection
 * is broken. */
bool ftc_tcp_put(const struct ftc_tcp_connection *connection, const void *bytes, size_t size);

/* tcp/listen.c. Open the listening socket, and fill in tcp->endpoint. */
int ftc_tcp_listen(struct ftc_tcp *tcp);

/* tcp/link.c */
/* The connection becomes the peer's link. The other end goes on at `place`. FTC_ERR_PROTO,
 * FTC_ERR_NOMEM. */
int ftc_tcp_link_up(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer,
                    struct ftc_tcp_connection *connection, const struct ftc_tcp_place *place);
/* The link has carried something. So the peer is reachable, unless the link is sealed and messages
 * wait (docs/design/tcp.md, rule S8). */
void ftc_tcp_link_proven(struct ftc_tcp_peer *peer);
/* Some of what waited has got through to the peer. */
void ftc_tcp_got_through(struct ftc_tcp_peer *peer);
/* Is there a link that has stood for so long since its first bytes? */
bool ftc_tcp_link_stands(const struct ftc_tcp_peer *peer, uint64_t now, uint64_t long_ns);
/* The place at which this end goes on. */
struct ftc_tcp_place ftc_tcp_link_place(const struct ftc_tcp_peer *peer);
/* The link is lost, for the reason `why`. It is made again if it is wanted. */
void ftc_tcp_link_lost(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, const char *why);
void ftc_tcp_link_drop(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_tcp_dial_drop(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Nothing more is sent to the peer. */
void ftc_tcp_silence(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* The peer has broken the protocol (ftc_last_error()). Close its channel; receive() reports it. */
void ftc_tcp_damage(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);

/* tcp/receive.c */
/* Read from the link, at most `most` bytes at a time if a frame begins. Gives the number of bytes
 * that were read. The link may be gone afterwards. */
size_t ftc_tcp_read_link(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer, size_t most);
/* Read all that came on a link that can send no more. The link may be gone afterwards. What finds
 * no room in the inbox stays unread. */
void ftc_tcp_read_rest(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);

/* tcp/send.c */
/* Does nothing wait to be sent? What is held back waits for its time alone. */
bool ftc_tcp_all_sent(struct ftc_tcp *tcp);
/* Write what the wire takes. */
void ftc_tcp_link_write(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* The wire has room again: write. */
void ftc_tcp_link_unblock(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Before a close: acknowledge what came, as far as possible, and shut the socket down. */
void ftc_tcp_link_farewell(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);

/* tcp/hold.c */
/* May the message that was put into the queue last, to a peer with a link, be sent later together
 * with others? Then it is held back. */
bool ftc_tcp_hold(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* Send all that is held back. */
void ftc_tcp_release(struct ftc_tcp *tcp);

/* tcp/connect.c */
void ftc_tcp_dial(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
void ftc_tcp_dial_step(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);
void ftc_tcp_dial_late(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* As ftc_transport_ops.reach. The answer is no if the peer's link has not carried a message of this
 * end within tcp->reach_ns. */
enum ftc_reach ftc_tcp_reach(struct ftc_transport *transport, int rank);
void ftc_tcp_reach_late(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);

/* tcp/accept.c */
void ftc_tcp_accept(struct ftc_tcp *tcp);
void ftc_tcp_accept_step(struct ftc_tcp *tcp, struct ftc_tcp_connection *connection);

/* tcp/loop.c. Do everything that can be done without waiting. */
void ftc_tcp_turn(struct ftc_tcp *tcp);
/* Make the descriptor of the transport readable at this time, or sooner. 0: never. */
void ftc_tcp_set_timer(struct ftc_tcp *tcp, uint64_t at);

/* tcp/inbox.c */
/* Read what came on the link, and acknowledge it if that is due. The link may be gone
 * afterwards. */
void ftc_tcp_read(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer);
/* As in ftc_transport_ops. */
int ftc_tcp_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message);
void ftc_tcp_expect(struct ftc_transport *transport, int from);

/* tcp/tcp.c. Opening takes three steps: check the setup; fill in a struct that calloc() gave;
 * start. A struct that is filled in must be closed, also when start fails. Errors: FTC_ERR_ARG,
 * FTC_ERR_NOMEM, FTC_ERR_SYSTEM, FTC_ERR_CONFIG. */
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

#endif
