/* The text of an endpoint. It comes from another process, so each length is checked. */
#include "transport/tcp/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const char *const prefixes[FTC_TCP_PROTOCOLS] = {"tcp:v1;", "verbs:v1;"};

socklen_t ftc_tcp_address_size(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

unsigned ftc_tcp_address_port(const struct sockaddr_storage *address)
{
    return ntohs(address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

void ftc_tcp_address_set_port(struct sockaddr_storage *address, unsigned port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
}

int ftc_tcp_address_parse(struct sockaddr_storage *address, const char *text)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    memset(address, 0, sizeof(*address));
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
        address->ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
        address->ss_family = AF_INET6;
    else
        return ftc_error_set(FTC_ERR_PROTO, "\"%.60s\" is no IPv4 or IPv6 address in numbers",
                             text);
    return FTC_SUCCESS;
}

static int malformed(const char *text)
{
    return ftc_error_set(FTC_ERR_PROTO,
                         "endpoint \"%.100s\" is neither tcp:v1;ADDRESS,...;PORT nor verbs:v1;...",
                         text);
}

/* A port from 1 to 65535, of digits only. 0: it is none. */
static unsigned parse_port(const char *text)
{
    unsigned port = 0;
    if (*text == '\0' || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text))
        return 0;
    for (; *text != '\0'; text++)
        port = port * 10 + (unsigned)(*text - '0');
    return port <= 65535 ? port : 0;
}

static int parse_addresses(struct ftc_tcp_endpoint *endpoint, const char *list, size_t size)
{
    for (const char *end = list + size; list <= end;) {
        char one[INET6_ADDRSTRLEN] = "";
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t length = (size_t)((comma != NULL ? comma : end) - list);
        if (length >= sizeof(one) || endpoint->count == FTC_TCP_ADDRESSES)
            return ftc_error_set(FTC_ERR_PROTO,
                                 "an endpoint has an overlong address or more than %d",
                                 FTC_TCP_ADDRESSES);
        memcpy(one, list, length);
        int rc = ftc_tcp_address_parse(&endpoint->address[endpoint->count++], one);
        if (rc != 0)
            return rc;
        list += length + 1;
    }
    return FTC_SUCCESS;
}

/* The text behind the first word. NULL: that word is unknown. */
static const char *skip_prefix(struct ftc_tcp_endpoint *endpoint, const char *text)
{
    if (strnlen(text, FTC_TCP_ENDPOINT_SIZE) == FTC_TCP_ENDPOINT_SIZE)
        return NULL;
    for (int i = 0; i < FTC_TCP_PROTOCOLS; i++)
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0) {
            endpoint->protocol = (enum ftc_tcp_protocol)i;
            return text + strlen(prefixes[i]);
        }
    return NULL;
}

int ftc_tcp_endpoint_parse(struct ftc_tcp_endpoint *endpoint, const char *text)
{
    const char *list = skip_prefix(endpoint, text);
    endpoint->count = 0;
    if (list == NULL)
        return malformed(text);
    const char *semicolon = strchr(list, ';');
    unsigned port = semicolon != NULL ? parse_port(semicolon + 1) : 0;
    if (port == 0)
        return malformed(text);
    int rc = parse_addresses(endpoint, list, (size_t)(semicolon - list));
    for (int i = 0; i < endpoint->count; i++)
        ftc_tcp_address_set_port(&endpoint->address[i], port);
    return rc;
}

static const char *address_text(char text[INET6_ADDRSTRLEN], const struct sockaddr_storage *address)
{
    const void *bytes = address->ss_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
    return inet_ntop(address->ss_family, bytes, text, INET6_ADDRSTRLEN);
}

void ftc_tcp_endpoint_format(char text[FTC_TCP_ENDPOINT_SIZE],
                             const struct ftc_tcp_endpoint *endpoint)
{
    char one[INET6_ADDRSTRLEN];
    /* It always has room: 8 addresses of 45 characters. */
    int used = snprintf(text, FTC_TCP_ENDPOINT_SIZE, "%s", prefixes[endpoint->protocol]);
    for (int i = 0; i < endpoint->count; i++)
        used += snprintf(text + used, (size_t)(FTC_TCP_ENDPOINT_SIZE - used), "%s%s",
                         i > 0 ? "," : "", address_text(one, &endpoint->address[i]));
    snprintf(text + used, (size_t)(FTC_TCP_ENDPOINT_SIZE - used), ";%u",
             ftc_tcp_address_port(&endpoint->address[0]));
}
