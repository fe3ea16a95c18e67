/*
 * Bells wake other processes of the node. The place where a process sleeps depends on what it does:
 *
 *   rank inside a collective call      the futex word of its slot
 *   the same, after ftc_bell_poll()    poll() on the socket <directory>/<rank>.call and on others
 *   rank whose caller computes         its progress thread, on the socket <directory>/<rank>
 *   launcher                           the socket <directory>/launcher
 *
 * All sockets are datagram sockets. A ring carries no information; it is only a reason to look
 * again. A lost ring costs at most one heartbeat period, which is the limit of every sleep.
 */
#ifndef FTC_NODE_BELL_H
#define FTC_NODE_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include "node/segment/segment.h"

#define FTC_BELL_LAUNCHER (-1)

struct ftc_bell {
    struct ftc_segment *segment;
    int self;    /* own rank, or FTC_BELL_LAUNCHER */
    int fd;      /* the socket <rank> or launcher, non-blocking, close-on-exec; readable if rung */
    int call_fd; /* the socket <rank>.call; -1: calls sleep on the futex */
    bool naps;   /* this sleep is a nap */
    char directory[108]; /* a private copy, because the segment could be damaged */
};

/* Bind the socket of this process in the directory of the job. FTC_ERR_SYSTEM. */
int ftc_bell_open(struct ftc_bell *bell, struct ftc_segment *segment, int self);
/* Remove the sockets. Legal for a zeroed struct with fd -1. */
void ftc_bell_close(struct ftc_bell *bell);

/* Calls sleep in poll() from now on. A second call is legal. FTC_ERR_SYSTEM: they still sleep on
 * the futex. */
int ftc_bell_poll(struct ftc_bell *bell);
/* Calls sleep on the futex again, where a ring costs less. Illegal between ftc_bell_prepare() and
 * ftc_bell_awake(). */
void ftc_bell_poll_end(struct ftc_bell *bell);

/* Read the socket empty, so that it can become readable again. */
void ftc_bell_drain(struct ftc_bell *bell);

/*
 * Make `rank` look again. The caller has published (release or stronger) what the rank must see.
 * If the rank is awake, this costs a fence and a load. If it sleeps inside a call, it is woken: on
 * the futex, or by a byte into its socket <rank>.call. If its caller is outside the library, it is
 * rung only if `urgent` is true, that is if it must answer although its caller is away, or if its
 * thread moves operations on (FTC_SLEEP_WORK).
 */
void ftc_bell_ring(struct ftc_bell *bell, int rank, bool urgent);
/* The same after a full fence that the caller has made behind what it published. */
void ftc_bell_ring_fenced(struct ftc_bell *bell, int rank, bool urgent);

/* Ring all ranks of this node that have not failed. The launcher calls this after a declaration. */
void ftc_bell_ring_all(struct ftc_bell *bell);

/* Ring the launcher, when this rank has joined, accuses another one, or aborts. */
void ftc_bell_ring_launcher(struct ftc_bell *bell);

/*
 * Sleep inside a call, at most timeout_ns. The steps are:
 *
 *   1. expected = ftc_bell_prepare(bell), which announces the sleep
 *   2. look at everything again
 *   3. if there is nothing to do: ftc_bell_sleep(bell, expected, ...)
 *   4. ftc_bell_awake(bell), also if step 3 was skipped
 *
 * No ring between steps 1 and 3 is lost. After ftc_bell_poll() the sleep also ends when `fd` or
 * `other` is readable; -1 means no descriptor. ftc_bell_sleep() returns false if the time was over.
 *
 * A *nap* is a sleep on the futex also after ftc_bell_poll(). No descriptor ends it, but a ring
 * costs less. Step 1 is ftc_bell_prepare_nap() then. A *doze* is a nap that only urgent rings and
 * the ring to all end. Step 1 is ftc_bell_prepare_doze() then.
 */
uint32_t ftc_bell_prepare(struct ftc_bell *bell);
uint32_t ftc_bell_prepare_nap(struct ftc_bell *bell);
uint32_t ftc_bell_prepare_doze(struct ftc_bell *bell);
bool ftc_bell_sleep(struct ftc_bell *bell, uint32_t expected, uint64_t timeout_ns, int fd,
                    int other);
void ftc_bell_awake(struct ftc_bell *bell);

/* FTC_SLEEP_SOCKET, FTC_SLEEP_WORK: the caller is outside the library, and rings go to the socket
 * of the progress thread. After that look at everything once more. FTC_SLEEP_AWAKE: the caller
 * comes back. */
void ftc_bell_outside(struct ftc_bell *bell, enum ftc_sleep sleep);

#endif
