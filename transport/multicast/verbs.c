/*
 * Multicast by libibverbs and librdmacm, with one queue pair of unreliable datagrams. The receives
 * that are posted are all the room that there is. If a rank is late, what finds no receive is lost.
 * This is no error.
 *
 * The Q_Key of the queue pair is the job's. A device drops a datagram with another Q_Key before the
 * datagram takes a receive, so datagrams of other jobs take none. Only a counter of the port has
 * them.
 *
 * On RoCE the group is an IPv4 address, since the connection manager refuses to join IPv6 groups
 * there. On InfiniBand it is the IPv6 address, of which 80 random bits go into the MGID.
 *
 * One block of registered memory holds the slots. First come those of receives. Each of these has
 * the 40 bytes of the global route header before the datagram. Then come those of datagrams that
 * are being sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "transport/multicast/internal.h"
#include "transport/verbs/library.h"

#define ROUTE_HEADER 40 /* bytes; InfiniBand specification, volume 1, 8.3 */
#define SENDS        32 /* datagrams that are being sent, at most */
#define JOIN_NS      (10 * FTC_NS_PER_S)
#define REFUSED_NS   (100 * FTC_NS_PER_MS) /* between two questions to the device */

struct verbs {
    struct ftc_multicast base;
    struct ftc_multicast_interface interface;
    struct rdma_event_channel *events;
    struct rdma_cm_id *id;
    struct ibv_pd *domain;
    struct ibv_comp_channel *channel;
    struct ibv_cq *receive_cq, *send_cq;

    unsigned char *memory;
    struct ibv_mr *region;
    size_t slot; /* bytes */
    int receives;
    uint64_t free[SENDS]; /* the slots for sending that are not in use */
    int free_count;

    struct sockaddr_storage group;
    bool joined;
    struct ibv_ah *route;
    uint32_t queue_pair; /* of the group */
    uint32_t queue_key;  /* of the job */

    uint32_t refused;    /* the counter of the port when it was last read */
    uint64_t refused_at; /* when that was; 0: never */

    bool has_next; /* `next` is a completion that is not handled yet */
    struct ibv_wc next;
    char broken[64]; /* why nothing more will come; "": it works */
};

static unsigned char *slot_bytes(const struct verbs *verbs, uint64_t slot)
{
    return verbs->memory + slot * verbs->slot;
}

static int tell_broken(const struct verbs *verbs)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "the multicast queue pair on %s failed: %s",
                         ibv_get_device_name(verbs->id->verbs->device), verbs->broken);
}

static int broken(struct verbs *verbs, const char *why)
{
    snprintf(verbs->broken, sizeof(verbs->broken), "%s", why);
    return tell_broken(verbs);
}

static bool is_broken(const struct verbs *verbs)
{
    return verbs->broken[0] != '\0';
}

/* Take the next completion of the queue. False: there is none, or the queue is broken. */
static bool poll_queue(struct verbs *verbs, struct ibv_cq *queue, struct ibv_wc *done)
{
    int count = ibv_poll_cq(queue, 1, done);
    if (count < 0)
        broken(verbs, "cannot read a completion queue");
    return count > 0;
}

/* --- receiving --- */

static int post_receive(struct verbs *verbs, uint64_t slot)
{
    struct ibv_sge piece = {(uintptr_t)slot_bytes(verbs, slot), (uint32_t)verbs->slot,
                            verbs->region->lkey};
    struct ibv_recv_wr request = {.wr_id = slot, .sg_list = &piece, .num_sge = 1}, *bad;
    errno = ibv_post_recv(verbs->id->qp, &request, &bad);
    return errno == 0 ? 0 : broken(verbs, strerror(errno));
}

static bool next_completion(struct verbs *verbs)
{
    if (!verbs->has_next)
        verbs->has_next = poll_queue(verbs, verbs->receive_cq, &verbs->next);
    return verbs->has_next;
}

static int verbs_pull(struct ftc_multicast *multicast, unsigned char *bytes, size_t *size)
{
    struct verbs *verbs = (struct verbs *)multicast;
    for (int looked = 0; looked < verbs->receives && !is_broken(verbs) && next_completion(verbs);
         looked++) {
        const struct ibv_wc *done = &verbs->next;
        bool good = done->status == IBV_WC_SUCCESS && done->byte_len >= ROUTE_HEADER;
        verbs->has_next = false;
        /* Everything that is posted from now on would come back like this, too. */
        if (done->status == IBV_WC_WR_FLUSH_ERR)
            return broken(verbs, ibv_wc_status_str(done->status));
        if (good) {
            *size = done->byte_len - ROUTE_HEADER;
            memcpy(bytes, slot_bytes(verbs, done->wr_id) + ROUTE_HEADER, *size);
        } else {
            multicast->counters.receive_failed++;
        }
        int rc = post_receive(verbs, done->wr_id);
        if (rc != 0 || good)
            return rc != 0 ? rc : 1;
    }
    return is_broken(verbs) ? tell_broken(verbs) : 0;
}

static bool verbs_ready(struct ftc_multicast *multicast)
{
    struct verbs *verbs = (struct verbs *)multicast;
    return next_completion(verbs) || is_broken(verbs);
}

static int verbs_fd(const struct ftc_multicast *multicast)
{
    return ((const struct verbs *)multicast)->channel->fd;
}

/* Completions from now on make the channel readable. The caller looks afterwards for those that
 * were before. */
static int verbs_arm(struct ftc_multicast *multicast)
{
    struct verbs *verbs = (struct verbs *)multicast;
    struct ibv_cq *cq;
    void *context;
    unsigned events = 0;
    while (ibv_get_cq_event(verbs->channel, &cq, &context) == 0)
        events++;
    if (events > 0)
        ibv_ack_cq_events(verbs->receive_cq, events);
    errno = ibv_req_notify_cq(verbs->receive_cq, 0);
    return errno == 0 ? 0 : broken(verbs, strerror(errno));
}

/* --- sending --- */

/* Take back the slots of datagrams that have been sent. */
static void reap(struct verbs *verbs)
{
    struct ibv_wc done;
    while (verbs->free_count < SENDS && poll_queue(verbs, verbs->send_cq, &done)) {
        verbs->free[verbs->free_count++] = done.wr_id;
        if (done.status != IBV_WC_SUCCESS)
            verbs->base.counters.send_failed++;
    }
}

static bool verbs_push(struct ftc_multicast *multicast, const struct iovec *pieces, int count)
{
    struct verbs *verbs = (struct verbs *)multicast;
    reap(verbs);
    if (is_broken(verbs) || verbs->free_count == 0) {
        errno = is_broken(verbs) ? EIO : ENOBUFS;
        return false;
    }
    uint64_t slot = verbs->free[verbs->free_count - 1];
    unsigned char *bytes = slot_bytes(verbs, slot);
    struct ibv_sge piece = {(uintptr_t)bytes, 0, verbs->region->lkey};
    struct ibv_send_wr request = {.wr_id = slot,
                                  .sg_list = &piece,
                                  .num_sge = 1,
                                  .opcode = IBV_WR_SEND,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .wr.ud = {verbs->route, verbs->queue_pair, verbs->queue_key}},
                       *bad;
    for (int i = 0; i < count; i++) {
        if (pieces[i].iov_len > 0)
            memcpy(bytes + piece.length, pieces[i].iov_base, pieces[i].iov_len);
        piece.length += (uint32_t)pieces[i].iov_len;
    }
    errno = ibv_post_send(verbs->id->qp, &request, &bad);
    if (errno != 0)
        return false;
    verbs->free_count--;
    return true;
}

/* --- where --- */

static bool is_ethernet(const struct rdma_cm_id *id)
{
    struct ibv_port_attr port;
    return ibv_query_port(id->verbs, id->port_num, &port) == 0 &&
           port.link_layer == IBV_LINK_LAYER_ETHERNET;
}

/* An identifier that is bound to the address. NULL: no RDMA device has that address. */
static struct rdma_cm_id *bind_address(struct rdma_event_channel *events,
                                       struct ftc_multicast_interface *interface)
{
    struct rdma_cm_id *id;
    if (interface->loopback || rdma_create_id(events, &id, NULL, RDMA_PS_UDP) != 0)
        return NULL;
    if (rdma_bind_addr(id, (struct sockaddr *)&interface->address) == 0 && id->verbs != NULL)
        return id;
    rdma_destroy_id(id);
    return NULL;
}

static bool fits(const struct ftc_multicast_interface *interface, const struct rdma_cm_id *id,
                 const char *entry)
{
    if (is_ethernet(id) && interface->family != AF_INET)
        return false;
    return entry[0] == '\0' || strcmp(entry, ibv_get_device_name(id->verbs->device)) == 0 ||
           ftc_multicast_interface_named(interface, entry);
}

/* Take the first address that a device has and that the entry means. */
static int choose(struct verbs *verbs, const char *entry)
{
    struct ftc_multicast_interface *all;
    int count;
    int rc = ftc_multicast_interfaces(&all, &count);
    if (rc != 0)
        return rc;
    for (int i = 0; i < count && verbs->id == NULL; i++) {
        struct rdma_cm_id *id = bind_address(verbs->events, &all[i]);
        if (id != NULL && fits(&all[i], id, entry)) {
            verbs->id = id;
            verbs->interface = all[i];
        } else if (id != NULL) {
            rdma_destroy_id(id);
        }
    }
    free(all);
    if (verbs->id != NULL)
        return 0;
    if (entry[0] == '\0')
        return ftc_error_set(FTC_ERR_UNSUPPORTED,
                             "no RDMA device has a network interface with an IPv4 address: give it "
                             "one by `ip address add`, or use udp");
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "no RDMA device is \"%s\" or has it, with an IPv4 address: see `rdma link` and "
        "`ip address`",
        entry);
}

static int find_device(struct verbs *verbs, const struct ftc_multicast_setup *setup)
{
    char entry[FTC_MULTICAST_ENTRY];
    int count = 0;
    int rc = ftc_multicast_entry(entry, setup->interfaces, setup->self);
    if (rc == 0)
        rc = ftc_verbs_library_load();
    if (rc != 0)
        return rc;
    /* Otherwise a fork() of the application could take pages away from the device. The call fails
     * if the application has used verbs without it before. Then its forks are at its own risk
     * already. */
    (void)ibv_fork_init();
    struct ibv_device **devices = ibv_get_device_list(&count);
    if (devices != NULL)
        ibv_free_device_list(devices);
    if (devices == NULL || count == 0)
        return ftc_error_set(FTC_ERR_UNSUPPORTED, "there is no RDMA device here: use udp");
    verbs->events = rdma_create_event_channel();
    if (verbs->events == NULL)
        return ftc_error_set(FTC_ERR_UNSUPPORTED,
                             "cannot use the RDMA connection manager (%m): load the kernel "
                             "module rdma_ucm, or use udp");
    return choose(verbs, entry);
}

/* --- what it takes --- */

static int failed(const struct verbs *verbs, const char *what)
{
    const char *device = ibv_get_device_name(verbs->id->verbs->device);
    struct rlimit limit = {0};
    if (errno != ENOMEM)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot %s on %s: %m", what, device);
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return ftc_error_set(
        FTC_ERR_SYSTEM,
        "cannot %s on %s: out of memory that may be locked: raise memlock (`ulimit -l`), "
        "%llu KiB now",
        what, device, (unsigned long long)limit.rlim_cur / 1024);
}

static int failed_queue(const struct verbs *verbs, const char *what)
{
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "cannot make %s for %d datagrams on %s: %m: lower multicast.receives, or "
                         "raise memlock (`ulimit -l`)",
                         what, verbs->receives, ibv_get_device_name(verbs->id->verbs->device));
}

static int set_nonblocking(const struct verbs *verbs, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return failed(verbs, "set up a completion channel");
    return 0;
}

static int make_memory(struct verbs *verbs)
{
    long page = sysconf(_SC_PAGESIZE);
    struct ibv_port_attr port;
    if (ibv_query_port(verbs->id->verbs, verbs->id->port_num, &port) != 0)
        return failed(verbs, "read the MTU");
    verbs->base.datagram_max = (size_t)128 << port.active_mtu; /* IBV_MTU_256 is 1 */
    verbs->slot = ROUTE_HEADER + verbs->base.datagram_max;
    size_t size = verbs->slot * (size_t)(verbs->receives + SENDS);
    /* Whole pages, with nothing else in them: a child that fork() makes does not get the pages of
     * registered memory. */
    size = (size + (size_t)page - 1) / (size_t)page * (size_t)page;
    errno = posix_memalign((void **)&verbs->memory, (size_t)page, size);
    if (errno != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %zu bytes of datagrams", size);
    memset(verbs->memory, 0, size);
    verbs->region = ibv_reg_mr(verbs->domain, verbs->memory, size, IBV_ACCESS_LOCAL_WRITE);
    return verbs->region != NULL ? 0 : failed(verbs, "register memory");
}

static int make_queues(struct verbs *verbs)
{
    struct ibv_context *device = verbs->id->verbs;
    verbs->domain = ibv_alloc_pd(device);
    if (verbs->domain == NULL)
        return failed(verbs, "make a protection domain");
    verbs->channel = ibv_create_comp_channel(device);
    if (verbs->channel == NULL)
        return failed(verbs, "make a completion channel");
    verbs->receive_cq = ibv_create_cq(device, verbs->receives, NULL, verbs->channel, 0);
    verbs->send_cq = ibv_create_cq(device, SENDS, NULL, NULL, 0);
    if (verbs->receive_cq == NULL || verbs->send_cq == NULL)
        return failed_queue(verbs, "completion queues");
    struct ibv_qp_init_attr attributes = {.send_cq = verbs->send_cq,
                                          .recv_cq = verbs->receive_cq,
                                          .qp_type = IBV_QPT_UD,
                                          .cap = {.max_send_wr = SENDS,
                                                  .max_recv_wr = (uint32_t)verbs->receives,
                                                  .max_send_sge = 1,
                                                  .max_recv_sge = 1}};
    if (rdma_create_qp(verbs->id, verbs->domain, &attributes) != 0)
        return failed_queue(verbs, "a queue pair");
    return set_nonblocking(verbs, verbs->channel->fd);
}

static int post_receives(struct verbs *verbs)
{
    int rc = 0;
    for (int slot = 0; slot < verbs->receives && rc == 0; slot++)
        rc = post_receive(verbs, (uint64_t)slot);
    for (int slot = 0; slot < SENDS; slot++)
        verbs->free[verbs->free_count++] = (uint64_t)(verbs->receives + slot);
    return rc;
}

/* --- the group --- */

/* The next event of the connection manager. NULL: the deadline has passed (errno ETIMEDOUT), or
 * there is an error. */
static struct rdma_cm_event *await_event(struct verbs *verbs, uint64_t deadline)
{
    struct rdma_cm_event *event;
    for (;;) {
        uint64_t now = ftc_clock_now();
        struct pollfd item = {.fd = verbs->events->fd, .events = POLLIN};
        int timeout = now < deadline ? (int)((deadline - now) / FTC_NS_PER_MS) + 1 : 0;
        int rc = poll(&item, 1, timeout);
        if (rc > 0)
            return rdma_get_cm_event(verbs->events, &event) == 0 ? event : NULL;
        if (rc == 0)
            errno = ETIMEDOUT;
        if (rc == 0 || errno != EINTR)
            return NULL;
    }
}

/* The Q_Key that the queue pairs of the job have in common: 31 bits of its key. A Q_Key with the
 * top bit is for privileged programs. */
static uint32_t queue_key_of(const struct ftc_multicast_group *group)
{
    uint32_t word;
    memcpy(&word, group->job_key, sizeof(word));
    return ntohl(word) & 0x7fffffff;
}

/* Refuse datagrams of other jobs from now on. The connection manager made the queue pair with a
 * Q_Key that all programs know. */
static int refuse_strangers(struct verbs *verbs, const struct ftc_multicast_group *group)
{
    verbs->queue_key = queue_key_of(group);
    struct ibv_qp_attr attributes = {.qkey = verbs->queue_key};
    errno = ibv_modify_qp(verbs->id->qp, &attributes, IBV_QP_QKEY);
    return errno == 0 ? 0 : failed(verbs, "set the Q_Key of a queue pair");
}

/* The datagrams that the port has refused because of their Q_Key. The port does not say which queue
 * pair refused them, and stops counting at 65,535. */
static uint32_t refused_by(const struct verbs *verbs)
{
    struct ibv_port_attr port;
    if (ibv_query_port(verbs->id->verbs, verbs->id->port_num, &port) != 0)
        return verbs->refused;
    return port.qkey_viol_cntr;
}

static void verbs_count(struct ftc_multicast *multicast)
{
    struct verbs *verbs = (struct verbs *)multicast;
    uint64_t now = ftc_clock_now();
    if (now - verbs->refused_at < REFUSED_NS)
        return;
    uint32_t refused = refused_by(verbs);
    if (refused > verbs->refused) /* else nothing came, or an administrator has set it back */
        multicast->counters.dropped += refused - verbs->refused;
    verbs->refused = refused;
    verbs->refused_at = now;
}

/* Take from the join where datagrams to the group go. */
static int take_route(struct verbs *verbs, const struct rdma_cm_event *event)
{
    struct ibv_ah_attr attributes = event->param.ud.ah_attr;
    if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN) {
        errno = event->status < 0 ? -event->status : EPROTO;
        return failed(verbs, "join the multicast group");
    }
    verbs->queue_pair = event->param.ud.qp_num;
    verbs->route = ibv_create_ah(verbs->domain, &attributes);
    return verbs->route != NULL ? 0 : failed(verbs, "make an address handle");
}

static int join_group(struct verbs *verbs, const struct ftc_multicast_group *group)
{
    int family = is_ethernet(verbs->id) ? AF_INET : AF_INET6;
    ftc_multicast_group_address(&verbs->group, group, family, &verbs->interface);
    if (rdma_join_multicast(verbs->id, (struct sockaddr *)&verbs->group, NULL) != 0)
        return failed(verbs, "join the multicast group");
    verbs->joined = true;
    struct rdma_cm_event *event = await_event(verbs, ftc_clock_now() + JOIN_NS);
    if (event == NULL)
        return failed(verbs, "join the multicast group");
    int rc = take_route(verbs, event);
    rdma_ack_cm_event(event);
    return rc;
}

/* --- life --- */

static void leave_group(struct verbs *verbs)
{
    if (verbs->route != NULL)
        ibv_destroy_ah(verbs->route);
    if (verbs->joined)
        rdma_leave_multicast(verbs->id, (struct sockaddr *)&verbs->group);
}

static void verbs_close(struct ftc_multicast *multicast)
{
    struct verbs *verbs = (struct verbs *)multicast;
    leave_group(verbs);
    if (verbs->id != NULL && verbs->id->qp != NULL)
        rdma_destroy_qp(verbs->id);
    if (verbs->receive_cq != NULL)
        ibv_destroy_cq(verbs->receive_cq);
    if (verbs->send_cq != NULL)
        ibv_destroy_cq(verbs->send_cq);
    if (verbs->channel != NULL)
        ibv_destroy_comp_channel(verbs->channel);
    if (verbs->region != NULL)
        ibv_dereg_mr(verbs->region);
    if (verbs->domain != NULL)
        ibv_dealloc_pd(verbs->domain);
    if (verbs->id != NULL)
        rdma_destroy_id(verbs->id);
    if (verbs->events != NULL)
        rdma_destroy_event_channel(verbs->events);
    free(verbs->memory);
    free(verbs);
}

static void log_group(const struct verbs *verbs, const struct ftc_multicast_setup *setup)
{
    bool infiniband = !is_ethernet(verbs->id);
    char where[128];
    snprintf(where, sizeof(where), "%s on %s of %s", infiniband ? "IPv6" : "IPv4",
             ibv_get_device_name(verbs->id->verbs->device), verbs->interface.name);
    ftc_multicast_log_group(setup, "verbs", where, verbs->base.datagram_max, infiniband ? 80 : 24,
                            "for 112, use udp on an interface that has IPv6");
}

static int open_queue_pair(struct verbs *verbs, const struct ftc_multicast_setup *setup)
{
    int rc = find_device(verbs, setup);
    if (rc == 0)
        rc = make_queues(verbs);
    if (rc == 0)
        rc = make_memory(verbs);
    if (rc == 0)
        rc = refuse_strangers(verbs, &setup->group);
    if (rc == 0)
        rc = post_receives(verbs);
    if (rc == 0)
        rc = join_group(verbs, &setup->group);
    if (rc == 0) {
        verbs->refused = refused_by(verbs);
        log_group(verbs, setup);
    }
    return rc;
}

static int verbs_open(struct ftc_multicast **out, const struct ftc_multicast_setup *setup)
{
    struct verbs *verbs = calloc(1, sizeof(*verbs));
    if (verbs == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    verbs->receives = setup->receives;
    int rc = open_queue_pair(verbs, setup);
    if (rc != 0) {
        verbs_close(&verbs->base);
        return rc;
    }
    *out = &verbs->base;
    return 0;
}

const struct ftc_multicast_ops ftc_multicast_verbs = {
    .name = "verbs",
    .open = verbs_open,
    .close = verbs_close,
    .push = verbs_push,
    .pull = verbs_pull,
    .fd = verbs_fd,
    .arm = verbs_arm,
    .ready = verbs_ready,
    .count = verbs_count,
};
