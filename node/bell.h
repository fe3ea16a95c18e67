/*
 * Waking another process of the node. A rank sleeps either inside a collective call, on the futex
 * word of its slot, or, while its caller computes, in its progress thread on a datagram socket
 * <directory>/<rank>. The launcher has a socket too, <directory>/launcher. A ring is never an
 * information, only a reason to look again; a lost one costs at most one heartbeat period, the
 * backstop of every sleep.
 *
 * Who must also wake for a descriptor sleeps inside a call in poll(), on that and on a second
 * socket, <directory>/<rank>.call.
 */
#ifndef FTC_NODE_BELL_H
#define FTC_NODE_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include "node/segment/segment.h"

#define FTC_BELL_LAUNCHER (-1)

struct ftc_bell {
    struct ftc_segment *segment;
    int self;    /* own rank or FTC_BELL_LAUNCHER */
    int fd;      /* bound datagram socket, non-blocking, close-on-exec: readable when rung */
    int call_fd; /* the second one; -1: it sleeps on the futex */
    char directory[108]; /* private copy: the header could change */
};

/* Bind this process's socket in the job's directory. FTC_ERR_SYSTEM. close() of a zeroed struct
 * with fd -1 is legal and removes the socket. */
int ftc_bell_open(struct ftc_bell *bell, struct ftc_segment *segment, int self);
void ftc_bell_close(struct ftc_bell *bell);

/* From now on sleep in poll(). FTC_ERR_SYSTEM: it goes on sleeping on the futex. Legal again. */
int ftc_bell_poll(struct ftc_bell *bell);
/* ... and on the futex again, which costs ringers less. Not between prepare and awake. */
void ftc_bell_poll_end(struct ftc_bell *bell);

/* Take what lies in the socket, so that it can become readable again. */
void ftc_bell_drain(struct ftc_bell *bell);

/*
 * Make `rank` look again, after publishing (release or stronger) what it shall see. A rank that is
 * awake costs a fence and a load. One that sleeps inside a call is woken, on the futex or, in
 * poll(), by a byte into its second socket; one whose caller is outside is rung only if `urgent`:
 * something that must be answered though its caller is away.
 */
void ftc_bell_ring(struct ftc_bell *bell, int rank, bool urgent);

/* Ring everybody that is not failed, and the launcher's own waiters: after a declaration. */
void ftc_bell_ring_all(struct ftc_bell *bell);

/* Ring the launcher: a rank joined, accuses, aborts. */
void ftc_bell_ring_launcher(struct ftc_bell *bell);

/*
 * Sleep inside a call, at most timeout_ns. Protocol: expected = ftc_bell_prepare(b) announces the
 * sleep; look at everything again; then ftc_bell_sleep(b, expected, timeout) or, if there was
 * something, skip it; ftc_bell_awake(b) in both cases. No ring between prepare and sleep is lost.
 * `fd` and `other`: wake when one of them is readable too, after ftc_bell_poll(); -1: none.
 */
uint32_t ftc_bell_prepare(struct ftc_bell *bell);
void ftc_bell_sleep(struct ftc_bell *bell, uint32_t expected, uint64_t timeout_ns, int fd,
                    int other);
void ftc_bell_awake(struct ftc_bell *bell);

/* The caller leaves the library (true: rings go to the socket) or comes back (false). After leave,
 * look at everything once more. */
void ftc_bell_outside(struct ftc_bell *bell, bool outside);

#endif
