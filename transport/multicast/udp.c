/*
 * Multicast by UDP. There is one socket. It is bound to the address and port of the group, so that
 * nothing else that reaches this host comes in. Its receive buffer takes the place of posted
 * receives. A filter in the kernel keeps datagrams of other jobs out of that buffer, so that they
 * cannot take the room of the job's own. Datagrams do not leave the link: the system's hop limit
 * for multicast is 1.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/multicast/internal.h"

#define DATAGRAM_MAX 7680 /* upper limit: with its additions the kernel charges 8 KiB */
#define HEADERS_IPV6 (40 + 8)
#define HEADERS_IPV4 (20 + 8)
#define BUFFER_EXTRA 768 /* about what the kernel charges for a datagram beyond its bytes */
#define HEADER_UDP   8   /* bytes that a filter sees before the datagram */

struct udp {
    struct ftc_multicast base;
    int socket;
    struct sockaddr_storage group;
    socklen_t group_size;
    uint32_t dropped; /* the kernel's counter when it was last read: it wraps */
};

/* --- where --- */

/* Does the system have a route for a datagram to the group? Linux gives a loopback none for IPv6
 * multicast. */
static bool routed(const struct ftc_multicast_interface *interface,
                   const struct ftc_multicast_group *group)
{
    struct sockaddr_storage address;
    socklen_t size = ftc_multicast_group_address(&address, group, interface->family, interface);
    int probe = socket(interface->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool yes = probe >= 0 && connect(probe, (struct sockaddr *)&address, size) == 0;
    if (probe >= 0)
        close(probe);
    return yes;
}

static bool fits(const struct ftc_multicast_interface *interface, const char *entry,
                 const struct ftc_multicast_group *group)
{
    if (entry[0] == '\0' ? !interface->loopback : !ftc_multicast_interface_named(interface, entry))
        return false;
    return interface->family == AF_INET || routed(interface, group);
}

static int choose(struct ftc_multicast_interface *chosen, const struct ftc_multicast_setup *setup)
{
    struct ftc_multicast_interface *all;
    char entry[FTC_MULTICAST_ENTRY];
    int count, i = 0;
    int rc = ftc_multicast_entry(entry, setup->interfaces, setup->self);
    if (rc == 0)
        rc = ftc_multicast_interfaces(&all, &count);
    if (rc != 0)
        return rc;
    while (i < count && !fits(&all[i], entry, &setup->group))
        i++;
    if (i < count)
        *chosen = all[i];
    else if (entry[0] == '\0')
        rc = ftc_error_set(FTC_ERR_UNSUPPORTED,
                           "no loopback interface is up: `ip link set lo up`, or name another");
    else
        rc = ftc_error_set(
            FTC_ERR_CONFIG,
            "no interface or address \"%s\" is up here and can multicast: see `ip address`", entry);
    free(all);
    return rc;
}

/* --- the socket --- */

static int failed(const char *what, const struct ftc_multicast_interface *interface)
{
    return ftc_error_set(errno == ENOMEM ? FTC_ERR_NOMEM : FTC_ERR_SYSTEM, "cannot %s on %s: %m",
                         what, interface->name);
}

static int set(int socket, int level, int option, int value)
{
    return setsockopt(socket, level, option, &value, sizeof(value));
}

static int join_6(struct udp *udp, const struct ftc_multicast_interface *interface)
{
    const struct sockaddr_in6 *group = (const struct sockaddr_in6 *)&udp->group;
    struct ipv6_mreq request = {.ipv6mr_multiaddr = group->sin6_addr,
                                .ipv6mr_interface = interface->index};
    if (set(udp->socket, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0) != 0 ||
        set(udp->socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1) != 0 ||
        set(udp->socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface->index) != 0)
        return failed("set up an IPv6 multicast socket", interface);
    if (setsockopt(udp->socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request)) != 0)
        return failed("join the IPv6 multicast group", interface);
    return 0;
}

static int join_4(struct udp *udp, const struct ftc_multicast_interface *interface)
{
    const struct sockaddr_in *group = (const struct sockaddr_in *)&udp->group;
    const struct sockaddr_in *source = (const struct sockaddr_in *)&interface->address;
    struct ip_mreqn request = {.imr_multiaddr = group->sin_addr,
                               .imr_address = source->sin_addr,
                               .imr_ifindex = (int)interface->index};
    if (set(udp->socket, IPPROTO_IP, IP_MULTICAST_ALL, 0) != 0 ||
        set(udp->socket, IPPROTO_IP, IP_MULTICAST_LOOP, 1) != 0 ||
        setsockopt(udp->socket, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request)) != 0)
        return failed("set up a multicast socket", interface);
    if (setsockopt(udp->socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)) != 0)
        return failed("join the multicast group", interface);
    return 0;
}

static int bind_group(struct udp *udp, const struct ftc_multicast_interface *interface)
{
    /* All ranks of a host bind the same address and port. */
    if (set(udp->socket, SOL_SOCKET, SO_REUSEADDR, 1) == 0 &&
        bind(udp->socket, (struct sockaddr *)&udp->group, udp->group_size) == 0)
        return 0;
    if (errno == EADDRINUSE)
        return ftc_error_set(
            FTC_ERR_SYSTEM, "the multicast group's port is taken by another program: start the job "
                            "again, it draws another");
    return failed("bind the multicast group", interface);
}

static int size_datagrams(struct udp *udp, const struct ftc_multicast_interface *interface)
{
    int headers = interface->family == AF_INET6 ? HEADERS_IPV6 : HEADERS_IPV4;
    struct ifreq request = {0};
    memcpy(request.ifr_name, interface->name, IFNAMSIZ);
    if (ioctl(udp->socket, SIOCGIFMTU, &request) != 0)
        return failed("read the MTU", interface);
    int room = request.ifr_mtu - headers;
    if (room <= FTC_DATAGRAM_HEAD)
        return ftc_error_set(FTC_ERR_UNSUPPORTED,
                             "an MTU of %d on %s is too small: give it at least %d",
                             request.ifr_mtu, interface->name, headers + FTC_DATAGRAM_HEAD + 1);
    udp->base.datagram_max = (size_t)(room < DATAGRAM_MAX ? room : DATAGRAM_MAX);
    return 0;
}

/* The size of the receive buffer, in bytes as a caller asks for them: the system doubles these. */
static size_t buffer_size(const struct udp *udp)
{
    int doubled = 0;
    socklen_t size = sizeof(doubled);
    getsockopt(udp->socket, SOL_SOCKET, SO_RCVBUF, &doubled, &size);
    return (size_t)doubled / 2;
}

/* Make room for setup->receives datagrams, if the system's default has less. The system doubles
 * what is asked, for its own needs, and gives no more than net.core.rmem_max. So less room is no
 * error. */
static void size_buffer(struct udp *udp, const struct ftc_multicast_setup *setup)
{
    size_t each = udp->base.datagram_max + BUFFER_EXTRA, wanted = (size_t)setup->receives * each;
    size_t got = buffer_size(udp);
    if (wanted <= got)
        return;
    set(udp->socket, SOL_SOCKET, SO_RCVBUF, wanted < INT32_MAX / 2 ? (int)wanted : INT32_MAX / 2);
    got = buffer_size(udp);
    if (wanted > got)
        FTC_LOG(setup->log, FTC_LOG_DEBUG,
                "multicast by udp: room for %zu datagrams, not %d: raise net.core.rmem_max to %zu",
                got / each, setup->receives, wanted);
}

/*
 * Let the kernel drop datagrams whose job key differs, before they take room in the buffer. One in
 * FTC_MULTICAST_SAMPLE of them passes, so that the rank learns of strangers: the kernel counts them
 * together with datagrams that found no room. Without a filter the rank judges every datagram.
 */
static void filter_strangers(struct udp *udp, const struct ftc_multicast_setup *setup)
{
    enum { WORDS = FTC_JOB_KEY_SIZE / 4, STRANGER = 2 * WORDS + 1, DROP = STRANGER + 3 };
    struct sock_filter code[DROP + 1];
    for (unsigned i = 0; i < WORDS; i++) {
        uint32_t word;
        memcpy(&word, setup->group.job_key + 4 * i, 4);
        code[2 * i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                   HEADER_UDP + FTC_DATAGRAM_KEY + 4 * i);
        code[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(word), 0,
                                                       STRANGER - (2 * i + 2));
    }
    code[STRANGER - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    code[STRANGER] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                  (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM));
    code[STRANGER + 1] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FTC_MULTICAST_SAMPLE - 1, 1, 0);
    code[STRANGER + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    code[DROP] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {DROP + 1, code};
    if (setsockopt(udp->socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) != 0)
        FTC_LOG(setup->log, FTC_LOG_DEBUG,
                "multicast by udp: no filter against datagrams of other jobs (%m); each rank drops "
                "them itself");
}

/* How to get more random bits than an IPv4 group has. */
static const char *more_bits(const struct ftc_multicast_interface *interface)
{
    if (interface->family == AF_INET6)
        return "";
    if (interface->loopback)
        return "for 112, let the loopback multicast by IPv6: `ip -6 route add local ff00::/8 dev "
               "lo table local`";
    return "for 112, give the interface an IPv6 address, and set multicast.interface to its name";
}

static int open_socket(struct udp *udp, const struct ftc_multicast_setup *setup)
{
    struct ftc_multicast_interface interface;
    int rc = choose(&interface, setup);
    if (rc != 0)
        return rc;
    udp->group_size =
        ftc_multicast_group_address(&udp->group, &setup->group, interface.family, &interface);
    udp->socket = socket(interface.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (udp->socket < 0)
        return failed("open a socket", &interface);
    rc = size_datagrams(udp, &interface);
    if (rc == 0)
        filter_strangers(udp, setup); /* before the first datagram can come */
    if (rc == 0)
        rc = bind_group(udp, &interface);
    if (rc == 0)
        rc = interface.family == AF_INET6 ? join_6(udp, &interface) : join_4(udp, &interface);
    if (rc == 0) {
        bool six = interface.family == AF_INET6;
        char where[IF_NAMESIZE + 16];
        snprintf(where, sizeof(where), "%s on %s", six ? "IPv6" : "IPv4", interface.name);
        size_buffer(udp, setup);
        FTC_LOG(setup->log, FTC_LOG_DEBUG, "multicast by udp: room for %zu datagrams",
                buffer_size(udp) / (udp->base.datagram_max + BUFFER_EXTRA));
        ftc_multicast_log_group(setup, "udp", where, udp->base.datagram_max,
                                six ? 8 * FTC_MULTICAST_RANDOM : 24, more_bits(&interface));
    }
    return rc;
}

static void udp_close(struct ftc_multicast *multicast)
{
    struct udp *udp = (struct udp *)multicast;
    if (udp->socket >= 0)
        close(udp->socket);
    free(udp);
}

static int udp_open(struct ftc_multicast **out, const struct ftc_multicast_setup *setup)
{
    struct udp *udp = calloc(1, sizeof(*udp));
    if (udp == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    udp->socket = -1;
    int rc = open_socket(udp, setup);
    if (rc != 0) {
        udp_close(&udp->base);
        return rc;
    }
    *out = &udp->base;
    return 0;
}

/* --- datagrams --- */

static bool udp_push(struct ftc_multicast *multicast, const struct iovec *pieces, int count)
{
    struct udp *udp = (struct udp *)multicast;
    struct msghdr message = {.msg_name = &udp->group,
                             .msg_namelen = udp->group_size,
                             .msg_iov = (struct iovec *)pieces, /* the pieces are only read */
                             .msg_iovlen = (size_t)count};
    ssize_t sent;
    do
        sent = sendmsg(udp->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

static int udp_pull(struct ftc_multicast *multicast, unsigned char *bytes, size_t *size)
{
    struct udp *udp = (struct udp *)multicast;
    ssize_t got;
    do
        got = recv(udp->socket, bytes, multicast->datagram_max, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno != EAGAIN)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot receive multicast datagrams: %m");
    *size = got < 0 ? 0 : (size_t)got;
    return got < 0 ? 0 : 1;
}

static int udp_fd(const struct ftc_multicast *multicast)
{
    return ((const struct udp *)multicast)->socket;
}

/* Nothing to do: a socket is readable as long as something is in it. */
static int udp_arm(struct ftc_multicast *multicast)
{
    (void)multicast;
    return 0;
}

static bool udp_ready(struct ftc_multicast *multicast)
{
    struct pollfd item = {.fd = udp_fd(multicast), .events = POLLIN};
    return poll(&item, 1, 0) > 0;
}

static void udp_count(struct ftc_multicast *multicast)
{
    struct udp *udp = (struct udp *)multicast;
    uint32_t info[SK_MEMINFO_VARS];
    socklen_t size = sizeof(info);
    if (getsockopt(udp->socket, SOL_SOCKET, SO_MEMINFO, info, &size) != 0 || size < sizeof(info))
        return;
    multicast->counters.dropped += info[SK_MEMINFO_DROPS] - udp->dropped;
    udp->dropped = info[SK_MEMINFO_DROPS];
}

const struct ftc_multicast_ops ftc_multicast_udp = {
    .name = "udp",
    .open = udp_open,
    .close = udp_close,
    .push = udp_push,
    .pull = udp_pull,
    .fd = udp_fd,
    .arm = udp_arm,
    .ready = udp_ready,
    .count = udp_count,
};
