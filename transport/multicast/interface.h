/* The addresses of this host, to find the one that a setup names. For the multicast transports' own
 * files. */
#ifndef FTC_TRANSPORT_MULTICAST_INTERFACE_H
#define FTC_TRANSPORT_MULTICAST_INTERFACE_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#define FTC_MULTICAST_ENTRY                                                                        \
    64 /* bytes of an entry: an interface's name, an address, a device's name */

struct ftc_multicast_interface {
    char name[IF_NAMESIZE];
    unsigned index;
    int family; /* AF_INET6 or AF_INET */
    bool loopback;
    struct sockaddr_storage address;
    socklen_t address_size;
};

/* All of them that are up, IPv6 before IPv4, for free(). FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_multicast_interfaces(struct ftc_multicast_interface **out, int *count);

/* Is it meant by this entry: its name, or its address? */
bool ftc_multicast_interface_named(const struct ftc_multicast_interface *interface,
                                   const char *entry);

/* Entry `rank` mod their number of a comma-separated list, "" if the list is NULL or empty.
 * FTC_ERR_CONFIG: an empty entry of a list, or one that is too long. */
int ftc_multicast_entry(char entry[FTC_MULTICAST_ENTRY], const char *list, int rank);

#endif
