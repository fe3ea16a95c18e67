/*
 * Which congestion control connections use. BBR is for the Internet: it sends each packet by a
 * timer. Between the hosts of a cluster that takes more time than it saves.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "transport/tcp/internal.h"

static bool use(struct ftc_tcp *tcp, int fd, const char *name)
{
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) != 0)
        return false;
    snprintf(tcp->congestion, sizeof(tcp->congestion), "%s", name);
    return true;
}

static bool paces(int fd)
{
    char name[FTC_TCP_CONGESTION_SIZE] = "";
    socklen_t size = sizeof(name) - 1;

    return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0 &&
           strncmp(name, "bbr", 3) == 0;
}

int ftc_tcp_congestion_choose(struct ftc_tcp *tcp)
{
    const char *wanted = tcp->setup.congestion;

    if (wanted == NULL)
        return FTC_SUCCESS;
    if (wanted[0] == '\0') {
        if (paces(tcp->listener) && !use(tcp, tcp->listener, "cubic"))
            (void)use(tcp, tcp->listener, "reno"); /* any user may use reno */
        return FTC_SUCCESS;
    }
    errno = 0;
    if (strlen(wanted) < FTC_TCP_CONGESTION_SIZE && use(tcp, tcp->listener, wanted))
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "transport.tcp_congestion: '%s' cannot be used: %s; `sysctl "
        "net.ipv4.tcp_allowed_congestion_control` lists what can",
        wanted, errno == EPERM ? "it is for root alone" : "this kernel has none of that name");
}

void ftc_tcp_congestion_set(const struct ftc_tcp *tcp, int fd)
{
    if (tcp->congestion[0] != '\0')
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, tcp->congestion,
                         (socklen_t)strlen(tcp->congestion));
}
