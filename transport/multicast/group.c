/* The address of a job's multicast group. */
#include <nettle/sha2.h>
#include <string.h>

#include "transport/multicast/internal.h"

#define PORT_FIRST 16384u
#define PORT_COUNT 16384u /* divides 65536, so that all ports are equally likely */

_Static_assert(FTC_MULTICAST_DRAWN <= SHA256_DIGEST_SIZE, "one digest is enough for a group");

void ftc_multicast_group_derive(unsigned char *drawn, const unsigned char *secret, size_t size)
{
    static const uint8_t purpose[] = "ftcoll multicast group";
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, sizeof(purpose), purpose);
    sha256_update(&context, size, secret);
    sha256_digest(&context, FTC_MULTICAST_DRAWN, drawn);
}

void ftc_multicast_group_make(struct ftc_multicast_group *group, const unsigned char *drawn)
{
    uint16_t port;
    memcpy(group->random, drawn, FTC_MULTICAST_RANDOM);
    memcpy(&port, drawn + FTC_MULTICAST_RANDOM, 2);
    group->port = (uint16_t)(PORT_FIRST + port % PORT_COUNT);
    memcpy(group->job_key, drawn + FTC_MULTICAST_RANDOM + 2, FTC_JOB_KEY_SIZE);
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
        return address_6((struct sockaddr_in6 *)address, group, interface->index,
                         interface->loopback);
    return address_4((struct sockaddr_in *)address, group);
}

void ftc_multicast_log_group(const struct ftc_multicast_setup *setup, const char *transport,
                             const char *where, size_t datagram_max, int bits, const char *more)
{
    FTC_LOG(
        setup->log, setup->self == 0 ? FTC_LOG_INFO : FTC_LOG_DEBUG,
        "multicast by %s: %s, %zu bytes a datagram; %d bits of the group's address are random%s%s",
        transport, where, datagram_max, bits, more[0] != '\0' ? ": " : "", more);
}
