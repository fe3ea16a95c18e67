/* The RDMA device of a rank, and the address by which others reach it. */
#ifndef FTC_TRANSPORT_VERBS_DEVICE_H
#define FTC_TRANSPORT_VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <sys/socket.h>

struct ftc_verbs_device {
    struct ibv_context *context; /* NULL: none */
    uint8_t port;
    bool ethernet;
    uint8_t gid_index;
    union ibv_gid gid;
    uint16_t lid;
    enum ibv_mtu mtu;
    struct sockaddr_storage address; /* on Ethernet that of the GID; otherwise it has no family */
};

/* Open the device whose name is `wanted`, or that has the interface or the address `wanted`. NULL
 * or "": the first one that can be used. FTC_ERR_UNSUPPORTED: there is no device that can be used,
 * or no library; FTC_ERR_CONFIG: no device fits `wanted`; FTC_ERR_SYSTEM: a device cannot be
 * opened. */
int ftc_verbs_device_open(struct ftc_verbs_device *device, const char *wanted);
void ftc_verbs_device_close(struct ftc_verbs_device *device);

#endif
