/* The endpoint of a rank: where it listens, as the text "tcp:v1;address,address;port" or
 * "verbs:v1;...". The addresses are IPv4 or IPv6, in numbers. No I/O. */
#ifndef FTC_TRANSPORT_TCP_ENDPOINT_H
#define FTC_TRANSPORT_TCP_ENDPOINT_H

#include <stddef.h>
#include <sys/socket.h>

#include "transport/tcp/protocol.h"

#define FTC_TCP_ADDRESSES     8
#define FTC_TCP_ENDPOINT_SIZE 512 /* bytes of the text, with its NUL */

struct ftc_tcp_endpoint {
    enum ftc_tcp_protocol protocol; /* from the first word of the text */
    int count;
    /* In the order in which they are tried, each with the port. */
    struct sockaddr_storage address[FTC_TCP_ADDRESSES];
};

/* FTC_ERR_PROTO: the text is malformed, has another version, or has more than FTC_TCP_ADDRESSES
 * addresses. */
int ftc_tcp_endpoint_parse(struct ftc_tcp_endpoint *endpoint, const char *text);
/* The endpoint must have at least one address. */
void ftc_tcp_endpoint_format(char text[FTC_TCP_ENDPOINT_SIZE],
                             const struct ftc_tcp_endpoint *endpoint);

/* The size and the port of an IPv4 or IPv6 address. */
socklen_t ftc_tcp_address_size(const struct sockaddr_storage *address);
unsigned ftc_tcp_address_port(const struct sockaddr_storage *address);
void ftc_tcp_address_set_port(struct sockaddr_storage *address, unsigned port);
/* An address from its text in numbers; the port is 0. FTC_ERR_PROTO: the text is no address. */
int ftc_tcp_address_parse(struct sockaddr_storage *address, const char *text);

#endif
