/*
 * Reliable messages between ranks of different hosts by TCP (docs/design/tcp.md), behind the ops
 * table of transport.h. This header has what only this transport needs.
 *
 * A rank that wants to sleep polls ops->descriptor() after ready() was false. The timers are behind
 * that descriptor, too. Not thread-safe.
 */
#ifndef FTC_TRANSPORT_TCP_TCP_H
#define FTC_TRANSPORT_TCP_TCP_H

#include "transport/tcp/protocol.h"
#include "transport/transport.h"

struct ftc_tcp_setup {
    const char *job;             /* the name, less than 32 characters */
    const unsigned char *secret; /* of the job: 16 to 64 bytes, which are copied */
    size_t secret_size;
    enum ftc_tcp_ends ends; /* what this end and its peers are */
    enum ftc_tcp_seal seal; /* the same at all ends */
    const char *address; /* where to listen: an IP address in numbers or an interface; NULL: all */
    unsigned port, port_last; /* 0: the system chooses; else the first free port of the range */
    /* Congestion control, as in the setting transport.tcp_congestion. NULL: the one of the
     * system. */
    const char *congestion;
    /* A connection on which data stay unacknowledged for this time is broken. 0: 10 s. */
    unsigned user_timeout_ms;
    /* A message is acknowledged after so long if no message goes the other way. 0: 5 ms. */
    unsigned acknowledge_ms;
    /* The endpoint text of a rank, valid until the next call. Asked for before each attempt to
     * connect. NULL: it is not known yet. */
    const char *(*endpoint)(void *context, int rank);
    void *context;
};

/* open() gives FTC_ERR_CONFIG, too: there is no such address, or no such congestion control. */
extern const struct ftc_transport_ops ftc_transport_tcp;

/* Where this rank listens: the text that other ranks get from their setup->endpoint(). */
const char *ftc_tcp_endpoint(const struct ftc_transport *transport);

/* Sets acknowledge_ms of the setup, for messages that come from now on. */
void ftc_tcp_acknowledge_after(struct ftc_transport *transport, unsigned ms);

/* Has a message come that receive() has not handed out? This looks at no socket: the descriptor
 * tells of what is in the kernel. */
bool ftc_tcp_pending(const struct ftc_transport *transport);

/* While it is on, messages are held back. When it goes off, all of them go out: those to the same
 * rank together, and the ranks in the order of their first messages. */
void ftc_tcp_gather(struct ftc_transport *transport, bool on);

/* Has every message to every peer that is not closed been acknowledged? If this end leaves before,
 * such messages may be lost. */
bool ftc_tcp_settled(const struct ftc_transport *transport);
/* The same for the messages to one rank; true if that peer is closed. */
bool ftc_tcp_settled_with(const struct ftc_transport *transport, int rank);

/* What went wrong. All events are counted. The log has the first of each kind, then at most one in
 * 10 s. */
enum ftc_tcp_event {
    FTC_TCP_STRANGER,    /* what came is not this protocol */
    FTC_TCP_VERSION,     /* the two ends have no version in common */
    FTC_TCP_FOREIGN_JOB, /* the hello names another job */
    FTC_TCP_WRONG_RANK,  /* the sender is no rank of the job, or another rank was meant */
    FTC_TCP_SECRET,      /* the proof of the secret is wrong */
    FTC_TCP_SEAL,        /* the two ends have different settings of transport.seal */
    FTC_TCP_FORGED,      /* what came on a sealed link is not what was sent */
    FTC_TCP_LATE,        /* the handshake was not over in time */
    FTC_TCP_CROWD,       /* dropped, since too many connections were without proof */
    FTC_TCP_DESCRIPTORS, /* there is no descriptor or no memory for a connection */
    FTC_TCP_UNREACHABLE, /* an attempt to connect failed */
    FTC_TCP_BROKEN,      /* a connection was lost */
    FTC_TCP_GIVEN_UP,    /* another transport has to carry the messages to a rank */
    FTC_TCP_EVENTS,
};

/* For tests: how often something went wrong; the number of accepted connections without proof; and
 * a break of the connection with a rank, as by a reset (false: there is no connection). */
uint64_t ftc_tcp_count(const struct ftc_transport *transport, enum ftc_tcp_event event);
int ftc_tcp_half_open(const struct ftc_transport *transport);
bool ftc_tcp_break(struct ftc_transport *transport, int rank);

#endif
