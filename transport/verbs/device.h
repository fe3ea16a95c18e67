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
    struct sockaddr_storage address; /* on Ethernet, the GID's; else no family */
};

/* Open the device that `wanted` is the name, an interface or an address of; NULL or "": the
 * first usable. FTC_ERR_UNSUPPORTED: there is none; FTC_ERR_CONFIG: none of them is it;
 * FTC_ERR_SYSTEM. */
int ftc_verbs_device_open(struct ftc_verbs_device *device, const char *wanted);
void ftc_verbs_device_close(struct ftc_verbs_device *device);

#endif
