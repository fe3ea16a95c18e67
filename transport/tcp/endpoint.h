/* Where a rank listens, as text: "tcp:v1;address,address;port" or "verbs:v1;...", IPv4 or IPv6
 * addresses in numbers. No I/O. */
#ifndef FTC_TRANSPORT_TCP_ENDPOINT_H
#define FTC_TRANSPORT_TCP_ENDPOINT_H

#include <stddef.h>
#include <sys/socket.h>

#include "transport/tcp/protocol.h"

#define FTC_TCP_ADDRESSES     8
#define FTC_TCP_ENDPOINT_SIZE 512 /* of the text, with its end */

struct ftc_tcp_endpoint {
    enum ftc_tcp_protocol protocol; /* by the first word: "tcp" or "verbs" */
    int count;
    struct sockaddr_storage
        address[FTC_TCP_ADDRESSES]; /* in the order in which they are tried, each with the port */
};

/* FTC_ERR_PROTO: malformed, of another version, or more addresses than there is room for. */
int ftc_tcp_endpoint_parse(struct ftc_tcp_endpoint *endpoint, const char *text);
/* At least one address. */
void ftc_tcp_endpoint_format(char text[FTC_TCP_ENDPOINT_SIZE],
                             const struct ftc_tcp_endpoint *endpoint);

/* The size of an IPv4 or IPv6 address, and its port. */
socklen_t ftc_tcp_address_size(const struct sockaddr_storage *address);
unsigned ftc_tcp_address_port(const struct sockaddr_storage *address);
void ftc_tcp_address_set_port(struct sockaddr_storage *address, unsigned port);
/* An address without a port from its numbers. FTC_ERR_PROTO. */
int ftc_tcp_address_parse(struct sockaddr_storage *address, const char *text);

#endif
