/*
 * Unreliable datagrams from one rank to all others at once. Each holds one fragment of a broadcast
 * (Hoefler, Siebert, Rehm 2007). A datagram may be lost, doubled or late. One that is delivered is
 * whole, of this job and from another rank. Everything else that arrives is counted and
 * dropped. The caller has to repair what is missing.
 *
 * There are two implementations: `udp`, and `verbs` (one InfiniBand or RoCE queue pair of
 * unreliable datagrams). No call waits but open. Not thread-safe: the runtime makes one call at a
 * time.
 *
 * To sleep: call arm; look whether it is ready; then poll its descriptor for reading. In that order
 * no wake-up is lost.
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

#define FTC_MULTICAST_RECEIVES     5  /* posted in advance, unless the setup says otherwise */
#define FTC_MULTICAST_PIECES       2  /* most pieces of a payload: head and value of a message */
#define FTC_MULTICAST_RANDOM       14 /* bytes: 112 bits */
#define FTC_MULTICAST_RECEIVES_MAX 4096
#define FTC_MULTICAST_SAMPLE       1024 /* a power of 2 */

/*
 * The group that the datagrams of a job reach, and the key of the job.
 *
 * The IPv6 address is ff1x:<random>, with scope link-local, or interface-local on a loopback. The
 * IPv4 address is 239.<the first three bytes of random>. verbs makes its MGID from the IPv6 address
 * on InfiniBand, and from the IPv4 address on RoCE. Two jobs may still have the same address: the
 * job key in each datagram tells them apart. What has another key is dropped before it takes
 * room from the job: by UDP by the kernel (transport/multicast/udp.c), by verbs by the device
 * (transport/multicast/verbs.c).
 */
struct ftc_multicast_group {
    unsigned char random[FTC_MULTICAST_RANDOM];
    uint16_t port; /* udp: 16384..32767, which is below the ephemeral ports of the kernel */
    unsigned char job_key[FTC_JOB_KEY_SIZE];
};

/* Make the group of FTC_MULTICAST_DRAWN random bytes, which are drawn once for each job. Address,
 * port and key are sent in the clear. They keep jobs apart, and are no secret. */
#define FTC_MULTICAST_DRAWN (FTC_MULTICAST_RANDOM + 2 + FTC_JOB_KEY_SIZE)
void ftc_multicast_group_make(struct ftc_multicast_group *group, const unsigned char *drawn);

/* FTC_MULTICAST_DRAWN bytes that are the same on every node of a job. They follow from the secret
 * of the job; the secret does not follow from them. */
void ftc_multicast_group_derive(unsigned char *drawn, const unsigned char *secret, size_t size);

struct ftc_multicast_setup {
    int ranks, self;
    struct ftc_multicast_group group;
    /*
     * Where to send and listen: interfaces by name or by address; for verbs also devices. The
     * entries of a list have a comma between them, and rank r takes entry r mod their number. NULL
     * or "": udp takes the loopback, verbs the first device.
     *
     * An address decides between IPv4 and IPv6. By name it is IPv6 if the interface can send
     * multicast by IPv6 (a loopback cannot, as Linux sets it up), and IPv4 otherwise. verbs on
     * Ethernet is always IPv4.
     */
    const char *interfaces;
    /* How many datagrams may wait to be received; further ones are lost. 0: FTC_MULTICAST_RECEIVES.
     * udp: at least that many, if the system gives a socket so much room. */
    int receives;
    struct ftc_multicast_drill drill; /* all zero: no drill */
    const struct ftc_log *log;
};

struct ftc_multicast_counters {
    uint64_t sent;        /* datagrams */
    uint64_t send_failed; /* no room, or refused; verbs: also sends that completed with an error */
    uint64_t received;    /* delivered to the caller */
    uint64_t own;         /* copies of what this rank sent */
    uint64_t foreign, corrupt; /* dropped; see datagram.h */
    /* udp: dropped by the kernel. Either it was foreign: the kernel lets one in
     * FTC_MULTICAST_SAMPLE of those through, which then counts as foreign. Or the socket had no
     * room for it. verbs: what the port refused, for any queue pair, because of its Q_Key. */
    uint64_t dropped;
    uint64_t receive_failed; /* verbs: completions with an error */
    struct ftc_multicast_drilled drilled;
};

struct ftc_multicast; /* transport/multicast/internal.h */
struct ftc_multicast_ops;
extern const struct ftc_multicast_ops ftc_multicast_udp, ftc_multicast_verbs;

/* Join the group. Datagrams that are sent from now on may be received. verbs waits for the network,
 * 10 s at most. FTC_ERR_ARG; FTC_ERR_CONFIG: the setup is wrong; FTC_ERR_UNSUPPORTED: nothing here
 * can multicast, so go on without it; FTC_ERR_SYSTEM (verbs: also when too little memory may be
 * locked); FTC_ERR_NOMEM. */
int ftc_multicast_open(struct ftc_multicast **out, const struct ftc_multicast_ops *ops,
                       const struct ftc_multicast_setup *setup);
void ftc_multicast_close(struct ftc_multicast *multicast); /* NULL is legal */

/* The bytes of payload that one datagram can have. */
size_t ftc_multicast_payload_max(const struct ftc_multicast *multicast);

/* Send one datagram. The source in `fields` is ignored: it is this rank. `pieces`: 1 to
 * FTC_MULTICAST_PIECES, which are read before the call returns. A datagram that cannot be sent at
 * once counts as lost. */
void ftc_multicast_send(struct ftc_multicast *multicast, const struct ftc_datagram *fields,
                        const struct iovec *pieces, int count);

/* The next datagram, which is of another rank of the job. 1: *fields and *payload (the reference is
 * the caller's). 0: there is none, or none after many that had to be dropped. FTC_ERR_NOMEM: it is
 * lost. FTC_ERR_SYSTEM: nothing more will come; close it and go on without. */
int ftc_multicast_receive(struct ftc_multicast *multicast, struct ftc_datagram *fields,
                          struct ftc_buffer **payload);

/* The descriptor is readable when something has come since the last arm(). That need not be a
 * datagram that can be received. */
int ftc_multicast_fd(const struct ftc_multicast *multicast);
/* Let the descriptor tell of what comes from now on. To be called before each sleep, and before the
 * look. FTC_ERR_SYSTEM: as for receive. */
int ftc_multicast_arm(struct ftc_multicast *multicast);
/* Is there something to receive? */
bool ftc_multicast_ready(struct ftc_multicast *multicast);

void ftc_multicast_counters(struct ftc_multicast *multicast,
                            struct ftc_multicast_counters *counters);

#endif
