/*
 * The inside of the multicast transports, for their own files. multicast.c has what is the same for
 * all: envelope, drill, counters. An implementation only moves bytes: whole datagrams out and in.
 */
#ifndef FTC_TRANSPORT_MULTICAST_INTERNAL_H
#define FTC_TRANSPORT_MULTICAST_INTERNAL_H

#include "transport/multicast/interface.h"
#include "transport/multicast/multicast.h"

struct ftc_multicast_ops {
    const char *name;

    /* Fills in datagram_max. The setup was checked. */
    int (*open)(struct ftc_multicast **out, const struct ftc_multicast_setup *setup);
    void (*close)(struct ftc_multicast *multicast); /* frees it */

    /* One datagram of these pieces, datagram_max bytes at most. False: it could not go out at
     * once. */
    bool (*push)(struct ftc_multicast *multicast, const struct iovec *pieces, int count);
    /* The next one from the wire, whatever it is, into `bytes`, which has room for datagram_max: 1
     * and its size, 0, or FTC_ERR_SYSTEM. One that is longer is cut. */
    int (*pull)(struct ftc_multicast *multicast, unsigned char *bytes, size_t *size);

    int (*fd)(const struct ftc_multicast *multicast);
    int (*arm)(struct ftc_multicast *multicast);
    bool (*ready)(struct ftc_multicast *multicast);
};

struct ftc_multicast { /* each implementation embeds it first */
    const struct ftc_multicast_ops *ops;
    const struct ftc_log *log;
    uint32_t ranks, self;
    unsigned char communicator[FTC_COMMUNICATOR_SIZE];
    size_t datagram_max;    /* bytes of a datagram on the wire, envelope included */
    unsigned char *scratch; /* the datagram that is looked at: datagram_max bytes */
    bool told;              /* that one could not be sent */
    struct ftc_multicast_drill_state drill;
    struct ftc_multicast_counters counters;
};

/* The group's address of that family on that interface, with its port. */
socklen_t ftc_multicast_group_address(struct sockaddr_storage *address,
                                      const struct ftc_multicast_group *group, int family,
                                      const struct ftc_multicast_interface *interface);

#endif
