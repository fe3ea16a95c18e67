/*
 * libpmix calls the accept() of this file, since the dynamic linker looks in the program first.
 * accept() runs in libpmix's listening thread.
 *
 * accept() reports each failure as ECONNABORTED. libpmix then goes on without a message, while
 * other errors end its listening for good. To close the port, this file puts another descriptor in
 * its place, at which nothing ever happens. So libpmix's thread waits, and is joined, as if nothing
 * had changed.
 */
#include "launcher/pmix_listener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A client that is silent for so long is dropped: libpmix serves no other client meanwhile. */
#define HELLO_SECONDS 2
/* libpmix waits by select(), which takes no descriptor from here on. */
#define HIGHEST_FD  1024
#define SHORTAGE_MS 10

/* These are global: accept() has no argument that could lead to them. */
static atomic_uint_fast64_t refused_others, refused_unknown;

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage room;
};

struct question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 socket;
};

struct answer {
    struct nlmsghdr header;
    struct inet_diag_msg socket;
    char attributes[512];
};

static void copy_address(const union address *address, __be16 *port, __be32 where[4])
{
    if (address->any.sa_family == AF_INET6) {
        *port = address->v6.sin6_port;
        memcpy(where, &address->v6.sin6_addr, sizeof(address->v6.sin6_addr));
    } else {
        *port = address->v4.sin_port;
        memcpy(where, &address->v4.sin_addr, sizeof(address->v4.sin_addr));
    }
}

/* Find the owner of the socket from `peer` to `own`, and store it in *uid. `kernel` is a socket of
 * sock_diag. False: the kernel does not tell, or that socket is closed. */
static bool ask_owner(int kernel, const union address *peer, const union address *own, uid_t *uid)
{
    struct question question = {
        .header = {.nlmsg_len = sizeof(question),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .socket = {.sdiag_family = (__u8)peer->any.sa_family,
                   .sdiag_protocol = IPPROTO_TCP,
                   .idiag_states = 1u << TCP_ESTABLISHED,
                   .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
    };
    struct answer answer;
    struct inet_diag_sockid *id = &question.socket.id;
    copy_address(peer, &id->idiag_sport, id->idiag_src);
    copy_address(own, &id->idiag_dport, id->idiag_dst);
    ssize_t got = -1;
    if (send(kernel, &question, sizeof(question), 0) == (ssize_t)sizeof(question))
        got = recv(kernel, &answer, sizeof(answer), 0);
    if (got < (ssize_t)offsetof(struct answer, attributes) ||
        answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        answer.socket.idiag_state != TCP_ESTABLISHED)
        return false;
    *uid = answer.socket.idiag_uid;
    return true;
}

static bool is_internet(const union address *address)
{
    return address->any.sa_family == AF_INET || address->any.sa_family == AF_INET6;
}

/* Does the other end belong to this user? A socket that is not of the internet protocols counts as
 * such. Refused ones are counted. */
static bool is_of_this_user(int kernel, int fd)
{
    union address own, peer;
    socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
    uid_t uid = 0;
    bool named = getsockname(fd, &own.any, &own_size) == 0;
    if (named && !is_internet(&own))
        return true;
    bool told = named && getpeername(fd, &peer.any, &peer_size) == 0 &&
                ask_owner(kernel, &peer, &own, &uid);
    if (told && uid == geteuid())
        return true;
    atomic_fetch_add(told ? &refused_others : &refused_unknown, 1);
    return false;
}

/* The connection waits in the queue while descriptors or memory are short. */
static void wait_in_shortage(int error)
{
    if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)
        (void)poll(NULL, 0, SHORTAGE_MS);
}

__attribute__((visibility("default"))) int accept(int listener, __SOCKADDR_ARG address,
                                                  socklen_t *restrict size)
{
    /* Open this socket before accepting: each accepted connection must be checked by it. */
    int kernel = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    int fd = kernel >= 0 ? accept4(listener, address, size, SOCK_CLOEXEC) : -1;
    if (fd < 0)
        wait_in_shortage(errno);
    bool own = fd >= 0 && is_of_this_user(kernel, fd);
    if (kernel >= 0)
        close(kernel);
    if (fd >= 0 && !own)
        close(fd);
    if (!own) {
        errno = ECONNABORTED;
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = HELLO_SECONDS},
                     sizeof(struct timeval));
    return fd;
}

int ftc_pmix_listener_find(int port)
{
    for (int fd = 0; fd < HIGHEST_FD; fd++) {
        union address own;
        socklen_t size = sizeof(own);
        int listens = 0;
        socklen_t listens_size = sizeof(listens);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0 || !listens)
            continue;
        if (getsockname(fd, &own.any, &size) == 0 && is_internet(&own) &&
            ntohs(own.v4.sin_port) == port)
            return fd; /* both families of addresses have the port at the same place */
    }
    return -1;
}

bool ftc_pmix_listener_close(int listener)
{
    int silent = listener >= 0 ? eventfd(0, EFD_CLOEXEC) : -1;
    if (silent < 0)
        return listener < 0;
    (void)shutdown(listener, SHUT_RDWR); /* wakes libpmix, which may wait for a connection now */
    bool closed = dup3(silent, listener, O_CLOEXEC) >= 0;
    close(silent);
    return closed;
}

struct ftc_pmix_refused ftc_pmix_listener_refused(void)
{
    return (struct ftc_pmix_refused){.others = atomic_load(&refused_others),
                                     .unknown = atomic_load(&refused_unknown)};
}
