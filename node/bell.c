/*
 * Waking other processes, as bell.h describes.
 *
 * Two full fences see to it that no wake-up is lost. Each side stores, fences, then loads what the
 * other side has stored:
 *
 *   ringer                              sleeper
 *   R1 publish something                S1 sleep := FUTEX              ftc_bell_prepare()
 *   R2 fence (seq_cst)                  S2 fence (seq_cst)
 *   R3 read sleep                       S3 expected := bell
 *   R4 if FUTEX: bell += 1, wake        S4 look at everything
 *                                       S5 sleep while bell == expected
 *
 * If R3 does not see S1, the fences order R1 before S4, and the sleeper finds it by itself.
 *
 * If R3 sees S1, there are two cases. If the increment in R4 comes before S3, then S3 (acquire)
 * sees R1, too. If it comes after S3, then S5 does not sleep or is woken, because the kernel
 * compares and queues under one lock.
 *
 * A rank that sleeps in poll() announces that in S1. R4 then puts a byte into its socket, where it
 * stays until S5 finds it.
 */
#include "node/bell.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/system/futex.h"

#define DRAIN_LIMIT 1024 /* more rings than the queue of a socket holds, so that a drain ends */

static bool socket_address(const struct ftc_bell *bell, int whose, bool call,
                           struct sockaddr_un *address)
{
    int length;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (whose == FTC_BELL_LAUNCHER)
        length =
            snprintf(address->sun_path, sizeof(address->sun_path), "%s/launcher", bell->directory);
    else
        length = snprintf(address->sun_path, sizeof(address->sun_path), "%s/%d%s", bell->directory,
                          whose, call ? ".call" : "");
    return length > 0 && (size_t)length < sizeof(address->sun_path);
}

/* The directory is private to the user (mode 0700), so that nobody else ever reaches the socket. */
static int bind_socket(int fd, const struct sockaddr_un *address)
{
    /* A process that bound this name before had the same rank, and is dead, because the launcher
     * starts one process per rank. */
    unlink(address->sun_path);
    if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
        return 0;
    if (errno == ENOENT)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot bind %s: %m: the job's directory is gone; is something "
                             "cleaning up TMPDIR?",
                             address->sun_path);
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot bind %s: %m", address->sun_path);
}

static int open_socket(const struct ftc_bell *bell, bool call, int *out)
{
    struct sockaddr_un address;
    if (!socket_address(bell, bell->self, call, &address))
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "the path %s is too long for a socket: set TMPDIR to a shorter one",
                             bell->directory);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make a socket: %m");
    int rc = bind_socket(fd, &address);
    if (rc != 0)
        close(fd);
    else
        *out = fd;
    return rc;
}

int ftc_bell_open(struct ftc_bell *bell, struct ftc_segment *segment, int self)
{
    struct ftc_bell made = {.segment = segment, .self = self, .fd = -1, .call_fd = -1};
    memcpy(made.directory, ftc_segment_header(segment)->directory, sizeof(made.directory));
    made.directory[sizeof(made.directory) - 1] = '\0';
    int rc = open_socket(&made, false, &made.fd);
    if (rc == 0)
        *bell = made;
    return rc;
}

int ftc_bell_poll(struct ftc_bell *bell)
{
    assert(bell->self != FTC_BELL_LAUNCHER);
    return bell->call_fd >= 0 ? 0 : open_socket(bell, true, &bell->call_fd);
}

static void close_socket(const struct ftc_bell *bell, bool call, int *fd)
{
    struct sockaddr_un address;
    if (*fd < 0)
        return;
    if (socket_address(bell, bell->self, call, &address))
        unlink(address.sun_path);
    close(*fd);
    *fd = -1;
}

/* A ringer that saw an earlier sleep in poll() may now send its byte to nobody. That is safe: it
 * has not seen the next S1, so the S4 after that finds what it has published. */
void ftc_bell_poll_end(struct ftc_bell *bell)
{
    close_socket(bell, true, &bell->call_fd);
}

void ftc_bell_close(struct ftc_bell *bell)
{
    if (bell->segment == NULL)
        return;
    close_socket(bell, false, &bell->fd);
    close_socket(bell, true, &bell->call_fd);
}

static void drain(int fd)
{
    char byte;
    for (int taken = 0; taken < DRAIN_LIMIT; taken++)
        if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) < 0 && errno != EINTR)
            return;
}

void ftc_bell_drain(struct ftc_bell *bell)
{
    drain(bell->fd);
}

/* False: there was no room, at the sender or at the receiver. */
static bool send_byte(int fd, const struct sockaddr_un *address)
{
    ssize_t sent;
    do {
        sent = sendto(fd, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)address,
                      sizeof(*address));
    } while (sent < 0 && errno == EINTR);
    return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

/* A full queue means that the receiver was rung already. A missing socket means that nobody is
 * there. But the kernel charges unread bytes to the sender, so after some 280 rings the buffer of
 * the sender is full. A new socket has room then, and its byte outlives it. */
static void ring_socket(const struct ftc_bell *bell, int whose, bool call)
{
    struct sockaddr_un address;
    if (bell->fd < 0 || !socket_address(bell, whose, call, &address) ||
        send_byte(bell->fd, &address))
        return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)send_byte(fd, &address);
    close(fd);
}

void ftc_bell_ring(struct ftc_bell *bell, int rank, bool urgent)
{
    atomic_thread_fence(memory_order_seq_cst); /* R2 */
    ftc_bell_ring_fenced(bell, rank, urgent);
}

void ftc_bell_ring_fenced(struct ftc_bell *bell, int rank, bool urgent)
{
    struct ftc_slot *slot = ftc_segment_slot(bell->segment, rank);
    uint32_t sleep = atomic_load_explicit(&slot->sleep, memory_order_relaxed); /* R3 */
    if (sleep == FTC_SLEEP_FUTEX || (sleep == FTC_SLEEP_DOZE && urgent)) {
        atomic_fetch_add_explicit(&slot->bell, 1, memory_order_acq_rel); /* R4 */
        ftc_futex_wake(&slot->bell, INT_MAX);
    } else if (sleep == FTC_SLEEP_POLL) {
        ring_socket(bell, rank, true);
    } else if (sleep == FTC_SLEEP_WORK || (sleep == FTC_SLEEP_SOCKET && urgent)) {
        ring_socket(bell, rank, false);
    }
}

/* agreement.md, "Waking": the flag is already set, so increment every bell, then wake every
 * sleeper. */
void ftc_bell_ring_all(struct ftc_bell *bell)
{
    int count, first = ftc_segment_local(bell->segment, &count);
    for (int rank = first; rank < first + count; rank++)
        atomic_fetch_add_explicit(&ftc_segment_slot(bell->segment, rank)->bell, 1,
                                  memory_order_acq_rel);
    /* As R2: a rank that is not seen asleep below must still read its bell, and finds the new
     * value. */
    atomic_thread_fence(memory_order_seq_cst);
    for (int rank = first; rank < first + count; rank++) {
        struct ftc_slot *slot = ftc_segment_slot(bell->segment, rank);
        uint32_t sleep = atomic_load_explicit(&slot->sleep, memory_order_relaxed);
        if (ftc_segment_failed(bell->segment, rank))
            continue;
        if (sleep == FTC_SLEEP_FUTEX || sleep == FTC_SLEEP_DOZE)
            ftc_futex_wake(&slot->bell, INT_MAX);
        else if (sleep != FTC_SLEEP_AWAKE)
            ring_socket(bell, rank, sleep == FTC_SLEEP_POLL);
    }
}

void ftc_bell_ring_launcher(struct ftc_bell *bell)
{
    ring_socket(bell, FTC_BELL_LAUNCHER, false);
}

static struct ftc_slot *own_slot(struct ftc_bell *bell)
{
    assert(bell->self != FTC_BELL_LAUNCHER);
    return ftc_segment_slot(bell->segment, bell->self);
}

static uint32_t prepare(struct ftc_bell *bell, enum ftc_sleep sleep)
{
    struct ftc_slot *slot = own_slot(bell);

    bell->naps = sleep != FTC_SLEEP_POLL;
    atomic_store_explicit(&slot->sleep, sleep, memory_order_relaxed); /* S1 */
    atomic_thread_fence(memory_order_seq_cst);                        /* S2 */
    return atomic_load_explicit(&slot->bell, memory_order_acquire);   /* S3 */
}

uint32_t ftc_bell_prepare(struct ftc_bell *bell)
{
    return prepare(bell, bell->call_fd < 0 ? FTC_SLEEP_FUTEX : FTC_SLEEP_POLL);
}

uint32_t ftc_bell_prepare_nap(struct ftc_bell *bell)
{
    return prepare(bell, FTC_SLEEP_FUTEX);
}

uint32_t ftc_bell_prepare_doze(struct ftc_bell *bell)
{
    return prepare(bell, FTC_SLEEP_DOZE);
}

/* A ring from before this sleep may be in the socket, and makes this sleep short. */
static bool sleep_in_poll(struct ftc_bell *bell, uint64_t timeout_ns, int fd, int other)
{
    struct pollfd fds[] = {{.fd = bell->call_fd, .events = POLLIN},
                           {.fd = fd, .events = POLLIN}, /* poll() skips -1 */
                           {.fd = other, .events = POLLIN}};
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / FTC_NS_PER_S),
                               .tv_nsec = (long)(timeout_ns % FTC_NS_PER_S)};
    int ready = ppoll(fds, sizeof(fds) / sizeof(fds[0]), &timeout, NULL);

    if (ready > 0 && fds[0].revents != 0)
        drain(bell->call_fd);
    return ready != 0;
}

bool ftc_bell_sleep(struct ftc_bell *bell, uint32_t expected, uint64_t timeout_ns, int fd,
                    int other)
{
    if (!bell->naps)
        return sleep_in_poll(bell, timeout_ns, fd, other);
    return ftc_futex_wait(&own_slot(bell)->bell, expected, timeout_ns); /* S5 */
}

void ftc_bell_awake(struct ftc_bell *bell)
{
    atomic_store_explicit(&own_slot(bell)->sleep, FTC_SLEEP_AWAKE, memory_order_relaxed);
}

void ftc_bell_outside(struct ftc_bell *bell, enum ftc_sleep sleep)
{
    atomic_store_explicit(&own_slot(bell)->sleep, sleep, memory_order_relaxed);
    /* As S2, with the socket in place of the bell. Rings after this fence go to the socket. What
     * was published before it is found by the look that the caller must take now. */
    atomic_thread_fence(memory_order_seq_cst);
}
