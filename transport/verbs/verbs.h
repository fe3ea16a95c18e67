/*
 * Reliable messages between ranks of different hosts by RDMA: a queue pair (RC) to each peer that a
 * rank talks to, made at the first message. Behind the ops table of transport.h; what only this
 * transport needs is here.
 *
 * A sleeper polls ops->descriptor(), after ready() has said that there is nothing to do. While it
 * is busy, a rank makes no system calls for what comes. Not thread-safe.
 */
#ifndef FTC_TRANSPORT_VERBS_VERBS_H
#define FTC_TRANSPORT_VERBS_VERBS_H

#include "transport/tcp/tcp.h"

struct ftc_verbs_setup {
    const char *job;             /* name, below 32 characters */
    const unsigned char *secret; /* of the job: 16 to 64 bytes; copied */
    size_t secret_size;
    const char *
        interface; /* an RDMA device, or a network interface or IP address of one; NULL: the first usable */
    const char *address; /* where peers meet, if the device is not named or has none; NULL: all */
    unsigned port,
        port_last; /* TCP, where peers meet; 0: the system chooses; else the first free one of the range */
    unsigned
        unanswered_ms; /* so long without an answer of the other device, a queue pair is broken, and a rank not
                        * reached (ops->reach); 0: 2 s */
    size_t
        memory; /* bytes, at most, that are registered for all peers together; 0: 16 MiB, or what gives
                               * each rank the least share (24 KiB) if that is more */
    /* The endpoint text of a rank, asked for before each attempt to connect; valid until the next
     * call. NULL: not known yet. */
    const char *(*endpoint)(void *context, int rank);
    void *context;
};

/* open(): FTC_ERR_UNSUPPORTED (no device here), FTC_ERR_CONFIG (none that is called so),
 * FTC_ERR_SYSTEM (it cannot be used, or too little memory may be locked): the caller may take
 * another transport. */
extern const struct ftc_transport_ops ftc_transport_verbs;

/* As the functions of tcp.h. */
const char *ftc_verbs_endpoint(const struct ftc_transport *transport);
uint64_t ftc_verbs_broken_since(const struct ftc_transport *transport, int rank);
bool ftc_verbs_settled(const struct ftc_transport *transport);
uint64_t ftc_verbs_count(const struct ftc_transport *transport, enum ftc_tcp_event event);

/* Bytes that are registered now. */
size_t ftc_verbs_registered(const struct ftc_transport *transport);

/* For tests: move the queue pair with a rank to its error state (false: there is none). */
bool ftc_verbs_break(struct ftc_transport *transport, int rank);

#endif
