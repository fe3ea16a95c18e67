/*
 * Choosing a device. On Ethernet (RoCE version 2) the choice is by the GIDs of the device, which
 * are the IP addresses of its network interfaces: IPv4 before IPv6, no link-local ones. On
 * InfiniBand it is the first GID of the port.
 */
#include "transport/verbs/device.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "base/error.h"
#include "transport/tcp/endpoint.h"
#include "transport/verbs/library.h"

#define GIDS 256

/* The IP address that a GID stands for. */
static void gid_address(struct sockaddr_storage *address, const union ibv_gid *gid)
{
    struct in6_addr bytes;
    memset(address, 0, sizeof(*address));
    memcpy(&bytes, gid->raw, sizeof(bytes));
    if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
        address->ss_family = AF_INET;
        memcpy(&((struct sockaddr_in *)address)->sin_addr, gid->raw + 12, 4);
    } else {
        address->ss_family = AF_INET6;
        ((struct sockaddr_in6 *)address)->sin6_addr = bytes;
    }
}

static bool link_local(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static bool same_address(const struct sockaddr_storage *one, const struct sockaddr_storage *other)
{
    return one->ss_family == other->ss_family &&
           (one->ss_family == AF_INET
                ? memcmp(&((const struct sockaddr_in *)one)->sin_addr,
                         &((const struct sockaddr_in *)other)->sin_addr, 4) == 0
                : memcmp(&((const struct sockaddr_in6 *)one)->sin6_addr,
                         &((const struct sockaddr_in6 *)other)->sin6_addr, 16) == 0);
}

/* Does `wanted` mean this device, by name, interface or address? */
static bool meant(const struct ibv_context *context, const struct ibv_gid_entry *entry,
                  const struct sockaddr_storage *address, const char *wanted)
{
    char name[IF_NAMESIZE];
    struct sockaddr_storage given;
    if (wanted == NULL || wanted[0] == '\0' ||
        strcmp(wanted, ibv_get_device_name(context->device)) == 0)
        return true;
    if (entry->ndev_ifindex != 0 && if_indextoname(entry->ndev_ifindex, name) != NULL &&
        strcmp(wanted, name) == 0)
        return true;
    return ftc_tcp_address_parse(&given, wanted) == 0 && same_address(&given, address);
}

/* Take this GID if it fits, and is better than the one that was found before. */
static void consider(struct ftc_verbs_device *device, struct ibv_context *context,
                     const struct ibv_gid_entry *entry, const char *wanted)
{
    struct ibv_port_attr port;
    struct sockaddr_storage address = {0};
    bool ethernet = entry->gid_type != IBV_GID_TYPE_IB;
    if (ethernet)
        gid_address(&address, &entry->gid);
    if (entry->gid_type == IBV_GID_TYPE_ROCE_V1 || link_local(&address) ||
        entry->gid_index > UINT8_MAX || (!ethernet && entry->gid_index != 0) ||
        !meant(context, entry, &address, wanted))
        return;
    if (device->port != 0 && (device->address.ss_family == AF_INET || address.ss_family != AF_INET))
        return;
    if (ibv_query_port(context, (uint8_t)entry->port_num, &port) != 0 ||
        port.state != IBV_PORT_ACTIVE)
        return;
    device->port = (uint8_t)entry->port_num;
    device->ethernet = ethernet;
    device->gid_index = (uint8_t)entry->gid_index;
    device->gid = entry->gid;
    device->lid = port.lid;
    device->mtu = port.active_mtu;
    device->address = address;
}

static bool fits(struct ftc_verbs_device *device, struct ibv_context *context, const char *wanted)
{
    struct ibv_gid_entry entries[GIDS];
    ssize_t count = ibv_query_gid_table(context, entries, GIDS, 0);
    device->port = 0;
    device->address.ss_family = AF_UNSPEC;
    for (ssize_t i = 0; i < count; i++)
        consider(device, context, &entries[i], wanted);
    return device->port != 0;
}

static int none(const char *wanted, int devices, int failure)
{
    bool named = wanted != NULL && wanted[0] != '\0';
    if (devices == 0 && !named)
        return ftc_error_set(
            FTC_ERR_UNSUPPORTED,
            "there is no RDMA device here: use tcp, or make one on an interface: `rdma link add "
            "rxe0 type rxe netdev eth0`");
    if (failure != 0) {
        errno = failure;
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot open an RDMA device: %m: see the rights of /dev/infiniband");
    }
    if (!named)
        return ftc_error_set(
            FTC_ERR_UNSUPPORTED,
            "no RDMA device has a port that is up and an IP address: see `rdma link` and `ip "
            "address`");
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "no RDMA device with a port that is up is \"%s\" or has it: see `rdma link` and `ip "
        "address`",
        wanted);
}

int ftc_verbs_device_open(struct ftc_verbs_device *device, const char *wanted)
{
    int count = 0, failure = 0;
    *device = (struct ftc_verbs_device){0};
    int rc = ftc_verbs_library_load();
    if (rc != 0)
        return rc;
    /* Otherwise a fork() of the application could take pages away from the device. The call fails
     * if the application has used verbs without it before. Then its forks are at its own risk
     * already. */
    (void)ibv_fork_init();
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; list != NULL && i < count && device->context == NULL; i++) {
        struct ibv_context *context = ibv_open_device(list[i]);
        if (context == NULL)
            failure = errno;
        else if (fits(device, context, wanted))
            device->context = context;
        else
            ibv_close_device(context);
    }
    if (list != NULL)
        ibv_free_device_list(list);
    return device->context != NULL ? FTC_SUCCESS : none(wanted, list != NULL ? count : 0, failure);
}

void ftc_verbs_device_close(struct ftc_verbs_device *device)
{
    if (device->context != NULL)
        ibv_close_device(device->context);
    device->context = NULL;
}
