/* The listening socket: its address, its port, and the addresses that others are told. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

#define BACKLOG 1024

/* Can a rank of another host use the address? A link-local one means nothing without an
 * interface. */
static bool usable(const struct ifaddrs *entry)
{
    if (entry->ifa_addr == NULL || (entry->ifa_flags & IFF_UP) == 0)
        return false;
    if (entry->ifa_addr->sa_family == AF_INET)
        return true;
    return entry->ifa_addr->sa_family == AF_INET6 &&
           !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr);
}

/* Append addresses of one family: those of the interface `name`, or (NULL) of all interfaces that
 * are loopback, or are not. */
static void collect(struct ftc_tcp_endpoint *found, const struct ifaddrs *list, int family,
                    const char *name, bool loopback)
{
    for (; list != NULL && found->count < FTC_TCP_ADDRESSES; list = list->ifa_next) {
        if (!usable(list) || list->ifa_addr->sa_family != family)
            continue;
        if (name != NULL ? strcmp(list->ifa_name, name) != 0
                         : ((list->ifa_flags & IFF_LOOPBACK) != 0) != loopback)
            continue;
        struct sockaddr_storage *address = &found->address[found->count++];
        memset(address, 0, sizeof(*address));
        memcpy(address, list->ifa_addr,
               family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    }
}

/* IPv4 comes first, since it is more often routed. Loopback comes only if there is nothing else: on
 * another host a loopback address is somebody else. */
static int find_addresses(struct ftc_tcp_endpoint *found, const char *name)
{
    struct ifaddrs *list;
    found->count = 0;
    if (getifaddrs(&list) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot list the interfaces: %m");
    for (int loopback = 0; loopback <= 1 && found->count == 0; loopback++) {
        collect(found, list, AF_INET, name, loopback);
        collect(found, list, AF_INET6, name, loopback);
    }
    freeifaddrs(list);
    if (found->count == 0)
        return ftc_error_set(FTC_ERR_CONFIG,
                             "no interface or address \"%s\" is up here: see `ip address`",
                             name != NULL ? name : "");
    return FTC_SUCCESS;
}

/* A socket that listens. -1 and errno: there is none. */
static int try_port(const struct sockaddr_storage *where, bool all, unsigned port)
{
    struct sockaddr_storage address = *where;
    int off = 0, on = 1;
    ftc_tcp_address_set_port(&address, port);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (all && address.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (port != 0) /* connections that linger from an earlier job do not take the port */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&address, ftc_tcp_address_size(&address)) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int try_range(const struct ftc_tcp *tcp, const struct sockaddr_storage *where, bool all)
{
    unsigned port = tcp->setup.port,
             last = tcp->setup.port_last > port ? tcp->setup.port_last : port;
    int fd = -1;
    for (; fd < 0 && port <= last; port++) {
        fd = try_port(where, all, port);
        if (fd < 0 && errno != EADDRINUSE)
            break;
    }
    return fd;
}

static int failed(const struct ftc_tcp *tcp)
{
    unsigned first = tcp->setup.port,
             last = tcp->setup.port_last > first ? tcp->setup.port_last : first;
    const char *remedy = "";
    if (errno == EADDRINUSE)
        remedy = ": give a wider range of ports, or 0";
    else if (errno == EMFILE)
        remedy = ": raise the limit, `ulimit -n`";
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot listen on ports %u to %u: %m%s", first, last,
                         remedy);
}

/* Put the port that the socket got into every address. */
static int publish(struct ftc_tcp *tcp, struct ftc_tcp_endpoint *found)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(tcp->listener, (struct sockaddr *)&address, &size) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot find the port: %m");
    for (int i = 0; i < found->count; i++)
        ftc_tcp_address_set_port(&found->address[i], ftc_tcp_address_port(&address));
    ftc_tcp_endpoint_format(tcp->endpoint, found);
    return FTC_SUCCESS;
}

static void listen_everywhere(struct ftc_tcp *tcp)
{
    struct sockaddr_storage any = {.ss_family = AF_INET6};
    tcp->listener = try_range(tcp, &any, true);
    if (tcp->listener < 0 && errno == EAFNOSUPPORT) {
        any.ss_family = AF_INET;
        tcp->listener = try_range(tcp, &any, true);
    }
}

int ftc_tcp_listen(struct ftc_tcp *tcp)
{
    struct ftc_tcp_endpoint found = {.protocol = tcp->wire->protocol, .count = 1};
    const char *where = tcp->setup.address;
    bool all = where == NULL || where[0] == '\0';
    int rc = FTC_SUCCESS;
    if (all)
        rc = find_addresses(&found, NULL);
    else if (ftc_tcp_address_parse(&found.address[0], where) != 0)
        rc = find_addresses(&found, where);
    if (rc != 0)
        return rc;
    if (all) {
        listen_everywhere(tcp);
    } else {
        found.count = 1; /* a socket has one address: the interface's first */
        tcp->listener = try_range(tcp, &found.address[0], false);
    }
    return tcp->listener < 0 ? failed(tcp) : publish(tcp, &found);
}
