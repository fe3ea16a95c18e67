/* The addresses of this host: see multicast/interface.h. */
#include "transport/multicast/interface.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool usable(const struct ifaddrs *one, int family)
{
    return one->ifa_addr != NULL && one->ifa_addr->sa_family == family &&
           (one->ifa_flags & IFF_UP) != 0;
}

static void describe(struct ftc_multicast_interface *interface, const struct ifaddrs *one)
{
    memset(interface, 0, sizeof(*interface));
    snprintf(interface->name, sizeof(interface->name), "%s", one->ifa_name);
    interface->index = if_nametoindex(one->ifa_name);
    interface->family = one->ifa_addr->sa_family;
    interface->loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    interface->address_size =
        interface->family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    memcpy(&interface->address, one->ifa_addr, interface->address_size);
}

int ftc_multicast_interfaces(struct ftc_multicast_interface **out, int *count)
{
    static const int families[] = {AF_INET6, AF_INET};
    struct ifaddrs *list, *one;
    int all = 0, used = 0;
    if (getifaddrs(&list) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot list the network interfaces: %m");
    for (one = list; one != NULL; one = one->ifa_next)
        all++;
    struct ftc_multicast_interface *interfaces = calloc((size_t)all + 1, sizeof(*interfaces));
    if (interfaces == NULL) {
        freeifaddrs(list);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d network interfaces", all);
    }
    for (int i = 0; i < 2; i++)
        for (one = list; one != NULL; one = one->ifa_next)
            if (usable(one, families[i]))
                describe(&interfaces[used++], one);
    freeifaddrs(list);
    *out = interfaces;
    *count = used;
    return 0;
}

bool ftc_multicast_interface_named(const struct ftc_multicast_interface *interface,
                                   const char *entry)
{
    char text[NI_MAXHOST];
    if (strcmp(interface->name, entry) == 0)
        return true;
    if (getnameinfo((const struct sockaddr *)&interface->address, interface->address_size, text,
                    sizeof(text), NULL, 0, NI_NUMERICHOST) != 0)
        return false;
    if (strchr(entry, '%') == NULL)
        text[strcspn(text, "%")] = '\0'; /* cuts off the interface of a link-local address */
    return strcmp(text, entry) == 0;
}

int ftc_multicast_entry(char entry[FTC_MULTICAST_ENTRY], const char *list, int rank)
{
    int count = 1;
    entry[0] = '\0';
    if (list == NULL || list[0] == '\0')
        return 0;
    for (const char *at = strchr(list, ','); at != NULL; at = strchr(at + 1, ','))
        count++;
    const char *start = list;
    for (int i = 0; i < rank % count; i++)
        start = strchr(start, ',') + 1;
    size_t length = strcspn(start, ",");
    if (length == 0 || length >= FTC_MULTICAST_ENTRY)
        return ftc_error_set(
            FTC_ERR_CONFIG,
            "\"%s\" has an entry that is empty or too long: give names, with one comma "
            "between two",
            list);
    memcpy(entry, start, length);
    entry[length] = '\0';
    return 0;
}
