/* The addresses of this host, to find the one that a setup names. For the files of the multicast
 * transports only. */
#ifndef FTC_TRANSPORT_MULTICAST_INTERFACE_H
#define FTC_TRANSPORT_MULTICAST_INTERFACE_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#define FTC_MULTICAST_ENTRY                                                                        \
    64 /* bytes of an entry: name of an interface, address, or name of a device */

struct ftc_multicast_interface {
    char name[IF_NAMESIZE];
    unsigned index;
    int family; /* AF_INET6 or AF_INET */
    bool loopback;
    struct sockaddr_storage address;
    socklen_t address_size;
};

/* All addresses of interfaces that are up, IPv6 before IPv4. *out is for free(). FTC_ERR_SYSTEM,
 * FTC_ERR_NOMEM. */
int ftc_multicast_interfaces(struct ftc_multicast_interface **out, int *count);

/* Does this entry mean the interface: is it the interface's name, or its address? */
bool ftc_multicast_interface_named(const struct ftc_multicast_interface *interface,
                                   const char *entry);

/* Entry number `rank` mod the number of entries of a comma-separated list. "" if the list is NULL
 * or empty. FTC_ERR_CONFIG: the entry is empty or too long. */
int ftc_multicast_entry(char entry[FTC_MULTICAST_ENTRY], const char *list, int rank);

#endif
