/*
 * Reliable messages between ranks of different hosts by TCP. Behind the ops table of transport.h;
 * what only this transport needs is here.
 *
 * A sleeper polls ops->descriptor(), after ready() has said that there is nothing to do: timers are
 * behind it as well. Not thread-safe.
 */
#ifndef FTC_TRANSPORT_TCP_TCP_H
#define FTC_TRANSPORT_TCP_TCP_H

#include "transport/tcp/protocol.h"
#include "transport/transport.h"

struct ftc_tcp_setup {
    const char *job;             /* name, below 32 characters */
    const unsigned char *secret; /* of the job: 16 to 64 bytes; copied */
    size_t secret_size;
    enum ftc_tcp_ends ends; /* what this end and its peers are */
    const char *address;    /* to listen at: an IP address in numbers or an interface; NULL: all */
    unsigned port, port_last; /* 0: the system chooses; else the first free one of the range */
    const char
        *congestion; /* control, as in the setting transport.tcp_congestion; NULL: the system's */
    unsigned user_timeout_ms; /* unanswered for so long, a connection is broken; 0: 10 s */
    /* The endpoint text of a rank, asked for before each attempt to connect; valid until the next
     * call. NULL: not known yet. */
    const char *(*endpoint)(void *context, int rank);
    void *context;
};

extern const struct ftc_transport_ops ftc_transport_tcp;

/* Where this rank listens: what others get from setup->endpoint(). */
const char *ftc_tcp_endpoint(const struct ftc_transport *transport);

/* Since when the rank cannot be reached though it should (ftc_clock_now()); 0: it can, or nobody
 * tried. A hint for the detector, never a verdict. */
uint64_t ftc_tcp_broken_since(const struct ftc_transport *transport, int rank);

/* Has each message to a peer that is not closed been acknowledged? An end that leaves before may
 * take some with it. */
bool ftc_tcp_settled(const struct ftc_transport *transport);
/* ... to this one, if it is not closed? */
bool ftc_tcp_settled_with(const struct ftc_transport *transport, int rank);

/* What went wrong, counted; the first of each kind is logged, then at most one in 10 s. */
enum ftc_tcp_event {
    FTC_TCP_STRANGER,    /* bytes of something else */
    FTC_TCP_VERSION,     /* no common version */
    FTC_TCP_FOREIGN_JOB, /* another job's rank */
    FTC_TCP_WRONG_RANK,  /* a rank that is none, or meant another */
    FTC_TCP_SECRET,      /* no proof of the secret */
    FTC_TCP_LATE,        /* the handshake did not end in time */
    FTC_TCP_CROWD,       /* dropped, because too many had not said who they are */
    FTC_TCP_DESCRIPTORS, /* no descriptor, or no memory, for a connection */
    FTC_TCP_UNREACHABLE, /* an attempt to connect failed */
    FTC_TCP_BROKEN,      /* a connection was lost */
    FTC_TCP_GIVEN_UP,    /* a rank is left to another transport */
    FTC_TCP_EVENTS,
};
uint64_t ftc_tcp_count(const struct ftc_transport *transport, enum ftc_tcp_event event);

/* For tests: how many accepted connections have not said who they are; break the connection with a
 * rank, as a reset would (false: there is none). */
int ftc_tcp_half_open(const struct ftc_transport *transport);
bool ftc_tcp_break(struct ftc_transport *transport, int rank);

#endif
