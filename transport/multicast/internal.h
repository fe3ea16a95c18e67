/*
 * The inside of the multicast transports, for their own files. multicast.c has what they share:
 * envelope, drill, counters. An implementation only moves whole datagrams out and in.
 */
#ifndef FTC_TRANSPORT_MULTICAST_INTERNAL_H
#define FTC_TRANSPORT_MULTICAST_INTERNAL_H

#include "transport/multicast/interface.h"
#include "transport/multicast/multicast.h"

struct ftc_multicast_ops {
    const char *name;

    /* Fills in datagram_max. The setup has been checked. */
    int (*open)(struct ftc_multicast **out, const struct ftc_multicast_setup *setup);
    void (*close)(struct ftc_multicast *multicast); /* also frees it */

    /* Send one datagram of these pieces, at most datagram_max bytes. False: it could not be sent at
     * once. */
    bool (*push)(struct ftc_multicast *multicast, const struct iovec *pieces, int count);
    /* Take the next datagram from the wire, whatever it is, into `bytes`, which has room for
     * datagram_max bytes. A longer one is cut. 1: it is there, with its size; 0: there is none;
     * FTC_ERR_SYSTEM. */
    int (*pull)(struct ftc_multicast *multicast, unsigned char *bytes, size_t *size);

    int (*fd)(const struct ftc_multicast *multicast);
    int (*arm)(struct ftc_multicast *multicast);
    bool (*ready)(struct ftc_multicast *multicast);
    void (*count)(struct ftc_multicast *multicast); /* brings counters.dropped up to date */
};

struct ftc_multicast { /* the first member of each implementation */
    const struct ftc_multicast_ops *ops;
    const struct ftc_log *log;
    uint32_t ranks, self;
    unsigned char job_key[FTC_JOB_KEY_SIZE];
    size_t datagram_max;    /* bytes of a datagram on the wire, with its envelope */
    unsigned char *scratch; /* the datagram that is being looked at: datagram_max bytes */
    bool told;              /* the log says already that a datagram could not be sent */
    bool told_foreign;      /* the log says already that datagrams of others come */
    struct ftc_multicast_drill_state drill;
    struct ftc_multicast_counters counters;
};

/* Log which group it is, and how many bits of its address are random. `more` says how to get more:
 * "" if there are none to be had. Rank 0 does it at level info. */
void ftc_multicast_log_group(const struct ftc_multicast_setup *setup, const char *transport,
                             const char *where, size_t datagram_max, int bits, const char *more);

/* The address of the group, with its port, for this family and interface. */
socklen_t ftc_multicast_group_address(struct sockaddr_storage *address,
                                      const struct ftc_multicast_group *group, int family,
                                      const struct ftc_multicast_interface *interface);

#endif
