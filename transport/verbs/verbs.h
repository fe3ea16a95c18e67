/*
 * Reliable messages between ranks of different hosts by RDMA (docs/design/verbs.md): a queue pair
 * (RC) to each peer that a rank talks to, made at the first message. Behind the ops table of
 * transport.h. This header has what only this transport needs.
 *
 * A rank that wants to sleep polls ops->descriptor() after ready() was false. While a rank is
 * awake, it makes no system calls to look for messages. Not thread-safe.
 */
#ifndef FTC_TRANSPORT_VERBS_VERBS_H
#define FTC_TRANSPORT_VERBS_VERBS_H

#include "transport/tcp/tcp.h"

struct ftc_verbs_setup {
    const char *job;             /* the name, less than 32 characters */
    const unsigned char *secret; /* of the job: 16 to 64 bytes, which are copied */
    size_t secret_size;
    /* An RDMA device, or a network interface or IP address of one. NULL: the first that can be
     * used. */
    const char *interface;
    /* Where to listen for the TCP connections by which peers meet. Used on InfiniBand, and on
     * Ethernet if `interface` names no device. NULL: on Ethernet the device's address, on
     * InfiniBand all. */
    const char *address;
    /* TCP ports to listen on. 0: the system chooses; else the first free port of the range. */
    unsigned port, port_last;
    /* If the other device does not answer for this time, a queue pair is broken. A rank that
     * messages do not reach within this time is unreachable for ops->reach. 0: 2 s. */
    unsigned unanswered_ms;
    /* Bytes that may be registered for all peers together. 0: 16 MiB, or 24 KiB (the least share)
     * for each rank if that is more. */
    size_t memory;
    /* The endpoint text of a rank, valid until the next call. Asked for before each attempt to
     * connect. NULL: it is not known yet. */
    const char *(*endpoint)(void *context, int rank);
    void *context;
};

/* open() gives FTC_ERR_UNSUPPORTED (there is no device here), FTC_ERR_CONFIG (no device fits the
 * name) or FTC_ERR_SYSTEM (the device cannot be used, or too little memory may be locked). The
 * caller may then take another transport. */
extern const struct ftc_transport_ops ftc_transport_verbs;

/* Like the functions of the same names in tcp.h. */
const char *ftc_verbs_endpoint(const struct ftc_transport *transport);
bool ftc_verbs_settled(const struct ftc_transport *transport);

/* Bytes that are registered now. */
size_t ftc_verbs_registered(const struct ftc_transport *transport);

/* For tests and benchmarks: as ftc_tcp_count(). */
uint64_t ftc_verbs_count(const struct ftc_transport *transport, enum ftc_tcp_event event);
/* For tests: put the queue pair with a rank into its error state (false: there is none). */
bool ftc_verbs_break(struct ftc_transport *transport, int rank);

#endif
