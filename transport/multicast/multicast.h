/*
 * Unreliable datagrams from one rank to all others at once: each holds one fragment of a broadcast
 * (Hoefler, Siebert, Rehm 2007). A datagram may be lost, doubled, or come late; one that comes is
 * whole, of this communicator and from another rank. Whatever else arrives is counted and dropped:
 * whoever needs what is missing repairs.
 *
 * Two implementations: `udp`, and `verbs` (one InfiniBand or RoCE queue pair of unreliable
 * datagrams). Non-blocking but for open; not thread-safe: the runtime serialises. To sleep: arm,
 * look whether it is ready, then poll its descriptor for reading. That order loses no wake-up.
 */
#ifndef FTC_TRANSPORT_MULTICAST_MULTICAST_H
#define FTC_TRANSPORT_MULTICAST_MULTICAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buffer.h"
#include "base/log.h"
#include "transport/multicast/datagram.h"
#include "transport/multicast/drill.h"

#define FTC_MULTICAST_RECEIVES     5  /* pre-posted, unless the setup says otherwise */
#define FTC_MULTICAST_PIECES       2  /* at most, of a payload: head and value of a message */
#define FTC_MULTICAST_RANDOM       14 /* bytes: 112 bits */
#define FTC_MULTICAST_RECEIVES_MAX 4096

/* Whom a job's datagrams reach, and its key. The address is ff1x:<random> in IPv6, with scope
 * link-local, or interface-local on a loopback, and 239.<the first three of random> in IPv4; verbs
 * takes the IPv6 one for an MGID on InfiniBand, the IPv4 one on RoCE. Jobs may meet on one all the
 * same: the communicator in each datagram tells them apart. */
struct ftc_multicast_group {
    unsigned char random[FTC_MULTICAST_RANDOM];
    uint16_t port; /* udp: 16384..32767, below the kernel's own ephemeral ports */
    unsigned char communicator[FTC_COMMUNICATOR_SIZE];
};

/* Of FTC_MULTICAST_DRAWN random bytes, drawn once per job. Address, port and key go over the wire:
 * they keep jobs apart, and are no secret. */
#define FTC_MULTICAST_DRAWN (FTC_MULTICAST_RANDOM + 2 + FTC_COMMUNICATOR_SIZE)
void ftc_multicast_group_make(struct ftc_multicast_group *group, const unsigned char *drawn);

/* The same FTC_MULTICAST_DRAWN bytes on every node of a job: of the job's secret, which does not
 * follow from them. */
void ftc_multicast_group_derive(unsigned char *drawn, const unsigned char *secret, size_t size);

struct ftc_multicast_setup {
    int ranks, self;
    struct ftc_multicast_group group;
    /* Where: interfaces by name or by address, verbs: or devices; a comma between them, rank r
     * takes entry r mod their number. NULL or "": udp takes the loopback, verbs the first device.
     * An address decides between IPv4 and IPv6; by name it is IPv6 where the interface can
     * multicast it (a loopback can not, as Linux sets it up), else IPv4. */
    const char *interfaces;
    int receives; /* datagrams that may wait to be received, before the next are lost; 0: FTC_MULTICAST_RECEIVES.
                     udp: at least that many, or what the system gives a socket */
    struct ftc_multicast_drill drill; /* all zero: none */
    const struct ftc_log *log;
};

struct ftc_multicast_counters {
    uint64_t sent; /* datagrams */
    uint64_t
        send_failed; /* no room, or refused; verbs: also what was sent and then completed in error */
    uint64_t received;         /* given to the caller */
    uint64_t own;              /* copies of what this rank sent */
    uint64_t foreign, corrupt; /* dropped: datagram.h */
    uint64_t receive_failed;   /* verbs: completions in error */
    struct ftc_multicast_drilled drilled;
};

struct ftc_multicast; /* transport/multicast/internal.h */
struct ftc_multicast_ops;
extern const struct ftc_multicast_ops ftc_multicast_udp, ftc_multicast_verbs;

/* Join the group: datagrams sent from now on may be received. Verbs waits for the network, 10 s at
 * most. FTC_ERR_ARG, FTC_ERR_CONFIG (the setup), FTC_ERR_UNSUPPORTED (nothing here that can
 * multicast: go on without), FTC_ERR_SYSTEM (verbs: also when too little memory may be locked),
 * FTC_ERR_NOMEM. */
int ftc_multicast_open(struct ftc_multicast **out, const struct ftc_multicast_ops *ops,
                       const struct ftc_multicast_setup *setup);
void ftc_multicast_close(struct ftc_multicast *multicast); /* NULL is legal */

/* Bytes of payload that one datagram may have. */
size_t ftc_multicast_payload_max(const struct ftc_multicast *multicast);

/* One datagram; `fields` without the source, which is this rank. 1 to FTC_MULTICAST_PIECES pieces,
 * read before it returns. What cannot go out at once counts as lost. */
void ftc_multicast_send(struct ftc_multicast *multicast, const struct ftc_datagram *fields,
                        const struct iovec *pieces, int count);

/* The next datagram: 1, *fields and *payload (the caller's reference); 0 if there is none, or none
 * among many that had to be dropped; FTC_ERR_NOMEM (it is lost); FTC_ERR_SYSTEM: nothing more will
 * come, close it and go on without. The source is another rank of the job. */
int ftc_multicast_receive(struct ftc_multicast *multicast, struct ftc_datagram *fields,
                          struct ftc_buffer **payload);

/* Readable when something came since arm() was last called; it need not be a datagram to
 * receive. */
int ftc_multicast_fd(const struct ftc_multicast *multicast);
/* Before each sleep, and before the look: let the descriptor tell of what comes next.
 * FTC_ERR_SYSTEM, as receive. */
int ftc_multicast_arm(struct ftc_multicast *multicast);
/* Is there anything to receive? */
bool ftc_multicast_ready(struct ftc_multicast *multicast);

void ftc_multicast_counters(const struct ftc_multicast *multicast,
                            struct ftc_multicast_counters *counters);

#endif
