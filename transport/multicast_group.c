/* A job's multicast group: drawn, as text, as an address. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "transport/multicast_inside.h"

#define PORT_FIRST 16384u
#define PORT_COUNT 16384u /* divides 65536, so that all are as likely */

void ftc_multicast_group_make(struct ftc_multicast_group *group, const unsigned char *drawn)
{
    uint16_t port;
    memcpy(group->random, drawn, FTC_MULTICAST_RANDOM);
    memcpy(&port, drawn + FTC_MULTICAST_RANDOM, 2);
    group->port = (uint16_t)(PORT_FIRST + port % PORT_COUNT);
    memcpy(group->communicator, drawn + FTC_MULTICAST_RANDOM + 2, FTC_COMMUNICATOR_SIZE);
}

int ftc_multicast_group_draw(struct ftc_multicast_group *group)
{
    unsigned char drawn[FTC_MULTICAST_DRAWN];
    /* Up to 256 bytes come at once, whole, once the kernel's generator is seeded. */
    if (getrandom(drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
        return ftc_error_set(FTC_ERR_SYSTEM, "no random bytes for a multicast group: %m");
    ftc_multicast_group_make(group, drawn);
    return 0;
}

static char *write_hex(char *text, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text += sprintf(text, "%02x", bytes[i]);
    return text;
}

void ftc_multicast_group_format(const struct ftc_multicast_group *group, char text[FTC_MULTICAST_GROUP_TEXT])
{
    char *end = write_hex(text, group->random, FTC_MULTICAST_RANDOM);
    end += sprintf(end, "-%" PRIu16 "-", group->port);
    write_hex(end, group->communicator, FTC_COMMUNICATOR_SIZE);
}

static const char *read_hex(const char *text, unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size && text != NULL; i++) {
        text = sscanf(text, "%2hhx", &bytes[i]) == 1 ? text + 2 : NULL;
    }
    return text;
}

/* Read leniently; it is right if it would be written so. */
int ftc_multicast_group_parse(struct ftc_multicast_group *group, const char *text)
{
    struct ftc_multicast_group read = {.port = 0};
    char again[FTC_MULTICAST_GROUP_TEXT] = "";
    size_t length = strnlen(text, sizeof(again));
    unsigned port = 0;
    if (length < sizeof(again) && length > 28 + 1 + 1 + 32 && sscanf(text + 28, "-%5u-", &port) == 1 &&
        port >= PORT_FIRST && port < PORT_FIRST + PORT_COUNT) {
        read.port = (uint16_t)port;
        read_hex(text, read.random, FTC_MULTICAST_RANDOM);
        read_hex(text + length - 32, read.communicator, FTC_COMMUNICATOR_SIZE);
        ftc_multicast_group_format(&read, again);
    }
    if (strcmp(text, again) != 0 || length == 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "\"%.*s\" is no multicast group: it must be one that the launcher wrote",
                             FTC_MULTICAST_GROUP_TEXT, text);
    *group = read;
    return 0;
}

static socklen_t address_6(struct sockaddr_in6 *address, const struct ftc_multicast_group *group,
                           unsigned interface, bool loopback)
{
    unsigned char *bytes = address->sin6_addr.s6_addr;
    address->sin6_family = AF_INET6;
    address->sin6_port = htons(group->port);
    address->sin6_scope_id = interface;
    bytes[0] = 0xff;
    bytes[1] = loopback ? 0x11 : 0x12; /* transient; interface-local or link-local */
    memcpy(bytes + 2, group->random, FTC_MULTICAST_RANDOM);
    return sizeof(*address);
}

static socklen_t address_4(struct sockaddr_in *address, const struct ftc_multicast_group *group)
{
    unsigned char *bytes = (unsigned char *)&address->sin_addr;
    address->sin_family = AF_INET;
    address->sin_port = htons(group->port);
    bytes[0] = 239; /* administratively scoped */
    memcpy(bytes + 1, group->random, 3);
    return sizeof(*address);
}

socklen_t ftc_multicast_group_address(struct sockaddr_storage *address,
                                      const struct ftc_multicast_group *group, int family,
                                      const struct ftc_multicast_interface *interface)
{
    memset(address, 0, sizeof(*address));
    if (family == AF_INET6)
        return address_6((struct sockaddr_in6 *)address, group, interface->index, interface->loopback);
    return address_4((struct sockaddr_in *)address, group);
}
