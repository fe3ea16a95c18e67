/* The verbs transport: its life, its device, and what it shares with TCP. */
#include "transport/verbs/verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/error.h"
#include "transport/verbs/internal.h"

#define MEMORY        (16u << 20)
#define UNANSWERED_MS 2000
#define CHANNEL       0 /* which descriptor of the wire: see ftc_tcp_watch_wire() */
#define DEVICE        1

/* --- descriptors --- */

static void device_event(struct ftc_tcp *tcp)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    struct ibv_async_event event;
    if (ibv_get_async_event(verbs->device.context, &event) != 0)
        return;
    enum ibv_event_type type = event.event_type;
    bool fatal =
        type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_DEVICE_FATAL || type == IBV_EVENT_QP_FATAL;
    ibv_ack_async_event(&event); /* before anything is destroyed, since that waits for this */
    if (fatal || type == IBV_EVENT_PORT_ERR)
        ftc_tcp_note(tcp, FTC_TCP_BROKEN, "%s: %s",
                     ibv_get_device_name(verbs->device.context->device), ibv_event_type_str(type));
    if (fatal) /* rare enough to make all links anew */
        ftc_verbs_fail_all(tcp, EIO);
}

static void verbs_wake(struct ftc_tcp *tcp, int which)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    struct ibv_cq *completions;
    void *context;
    if (which == DEVICE) {
        device_event(tcp);
    } else if (ibv_get_cq_event(verbs->channel, &completions, &context) == 0) {
        ibv_ack_cq_events(completions, 1);
        verbs->armed = false;
    }
}

/* The socket is always watched. It is silent until the link ends. */
static void verbs_wait(struct ftc_tcp *tcp, struct ftc_tcp_peer *peer)
{
    (void)tcp;
    (void)peer;
}

/* --- life --- */

static void close_device(struct ftc_tcp *tcp)
{
    struct ftc_verbs *verbs = (struct ftc_verbs *)tcp;
    ftc_verbs_pool_close(&verbs->pool);
    if (verbs->completions != NULL)
        ibv_destroy_cq(verbs->completions);
    if (verbs->channel != NULL)
        ibv_destroy_comp_channel(verbs->channel);
    if (verbs->domain != NULL)
        ibv_dealloc_pd(verbs->domain);
    ftc_verbs_device_close(&verbs->device);
}

static int cannot(const struct ftc_verbs *verbs, const char *what)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot %s on %s: %m%s", what,
                         ibv_get_device_name(verbs->device.context->device),
                         errno == ENOMEM ? ": raise memlock (`ulimit -l`), or use tcp" : "");
}

static int set_nonblocking(const struct ftc_verbs *verbs, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return cannot(verbs, "set up a channel");
    return FTC_SUCCESS;
}

/* How many slots there are, and so how many requests. The completion queue has half as many places
 * more, for completions of queue pairs that are gone. */
static int count_slots(unsigned *slots, const struct ftc_verbs *verbs, size_t memory)
{
    struct ibv_device_attr attributes;
    size_t least = (size_t)verbs->tcp.ranks * FTC_VERBS_SHARE_LEAST * FTC_VERBS_SLOT_SIZE;
    if (memory == 0)
        memory = least > MEMORY ? least : MEMORY;
    errno = ibv_query_device(verbs->device.context, &attributes);
    if (errno != 0)
        return cannot(verbs, "read the limits");
    size_t most = (size_t)attributes.max_cqe / 3 * 2;
    *slots = (unsigned)(memory / FTC_VERBS_SLOT_SIZE < most ? memory / FTC_VERBS_SLOT_SIZE : most);
    if (*slots < FTC_VERBS_SHARE_LEAST)
        return ftc_error_set(FTC_ERR_ARG, "%zu bytes of registered memory are too few: %d at least",
                             memory, FTC_VERBS_SHARE_LEAST * FTC_VERBS_SLOT_SIZE);
    return FTC_SUCCESS;
}

static int make_queues(struct ftc_verbs *verbs, size_t memory)
{
    unsigned slots = 0;
    int rc = count_slots(&slots, verbs, memory);
    if (rc != 0)
        return rc;
    verbs->domain = ibv_alloc_pd(verbs->device.context);
    if (verbs->domain == NULL)
        return cannot(verbs, "allocate a protection domain");
    verbs->channel = ibv_create_comp_channel(verbs->device.context);
    if (verbs->channel == NULL)
        return cannot(verbs, "make a completion channel");
    verbs->completions =
        ibv_create_cq(verbs->device.context, (int)(slots + slots / 2), NULL, verbs->channel, 0);
    if (verbs->completions == NULL)
        return cannot(verbs, "make a completion queue");
    rc = ftc_verbs_pool_open(&verbs->pool, verbs->domain, slots);
    if (rc == 0)
        rc = set_nonblocking(verbs, verbs->channel->fd);
    return rc != 0 ? rc : set_nonblocking(verbs, verbs->device.context->async_fd);
}

/* The longest time-out of a try with which all tries end within unanswered_ms, but about 1 ms at
 * least. Gives n for 4.096 us times 2 to the power of n. */
static uint8_t timeout_of(unsigned unanswered_ms)
{
    uint64_t all = unanswered_ms * FTC_NS_PER_MS;
    uint8_t timeout = 8;
    while (timeout < 31 && (4096ull << (timeout + 1)) * (FTC_VERBS_RETRIES + 1) <= all)
        timeout++;
    return timeout;
}

/* On Ethernet, peers meet at the address of the device. So the way to it has been tried before it
 * carries messages. But if the setup has an address and no device, this rank listens only at that
 * address. */
static void meet_at_device(struct ftc_verbs *verbs, const struct ftc_verbs_setup *setup)
{
    const struct sockaddr_storage *address = &verbs->device.address;
    const void *bytes = address->ss_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
    bool named = setup->interface != NULL && setup->interface[0] != '\0';
    bool elsewhere = setup->address != NULL && setup->address[0] != '\0' && !named;
    if (!verbs->device.ethernet || elsewhere)
        return;
    inet_ntop(address->ss_family, bytes, verbs->address, sizeof(verbs->address));
    verbs->tcp.setup.address = verbs->address;
    verbs->tcp.source = *address;
}

static int start(struct ftc_verbs *verbs, const struct ftc_verbs_setup *setup)
{
    struct ftc_tcp *tcp = &verbs->tcp;
    int rc = ftc_verbs_device_open(&verbs->device, setup->interface);
    if (rc == 0)
        rc = make_queues(verbs, setup->memory);
    if (rc == 0)
        meet_at_device(verbs, setup);
    if (rc == 0)
        rc = ftc_tcp_start(tcp);
    if (rc == 0)
        rc = ftc_tcp_watch_wire(tcp, verbs->channel->fd, CHANNEL);
    if (rc == 0)
        rc = ftc_tcp_watch_wire(tcp, verbs->device.context->async_fd, DEVICE);
    if (rc == 0)
        FTC_LOG(tcp->log, FTC_LOG_DEBUG, "verbs: %s, %s, up to %u KiB registered",
                ibv_get_device_name(verbs->device.context->device), tcp->endpoint,
                verbs->pool.most * (FTC_VERBS_SLOT_SIZE / 1024));
    return rc;
}

static const struct ftc_tcp_wire wire = {
    .ops = &ftc_transport_verbs,
    .protocol = FTC_TCP_PROTOCOL_VERBS,
    .versions = {FTC_TCP_WIRE_VERSION, FTC_TCP_WIRE_VERSION},
    .begin = ftc_verbs_begin,
    .step = ftc_verbs_step,
    .wait = verbs_wait,
    .send = ftc_verbs_send,
    .receive = ftc_verbs_receive,
    .acknowledge = ftc_verbs_acknowledge,
    .end = ftc_verbs_end,
    .poll = ftc_verbs_poll,
    .arm = ftc_verbs_arm,
    .wake = verbs_wake,
    .close = close_device,
};

static int verbs_open(struct ftc_transport **out, const struct ftc_transport_setup *setup)
{
    static const struct ftc_verbs_setup none = {0};
    const struct ftc_verbs_setup *given = setup->verbs != NULL ? setup->verbs : &none;
    struct ftc_tcp_setup tcp = {.job = given->job,
                                .secret = given->secret,
                                .secret_size = given->secret_size,
                                .address = given->address,
                                .port = given->port,
                                .port_last = given->port_last,
                                .endpoint = given->endpoint,
                                .context = given->context};
    struct ftc_transport_setup shared = *setup;
    shared.tcp = &tcp;
    int rc = ftc_tcp_check_setup(&shared);
    if (rc != 0)
        return rc;
    struct ftc_verbs *verbs = calloc(1, sizeof(*verbs));
    if (verbs == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    ftc_tcp_fill_in(&verbs->tcp, &shared, &wire);
    unsigned unanswered_ms = given->unanswered_ms > 0 ? given->unanswered_ms : UNANSWERED_MS;
    verbs->timeout = timeout_of(unanswered_ms);
    verbs->tcp.reach_ns = unanswered_ms * FTC_NS_PER_MS;
    rc = start(verbs, given);
    if (rc != 0)
        ftc_tcp_close(&verbs->tcp.base);
    else
        *out = &verbs->tcp.base;
    return rc;
}

/* --- accessors --- */

const char *ftc_verbs_endpoint(const struct ftc_transport *transport)
{
    return ftc_tcp_endpoint(transport);
}

bool ftc_verbs_settled(const struct ftc_transport *transport)
{
    return ftc_tcp_settled(transport);
}

uint64_t ftc_verbs_count(const struct ftc_transport *transport, enum ftc_tcp_event event)
{
    return ftc_tcp_count(transport, event);
}

size_t ftc_verbs_registered(const struct ftc_transport *transport)
{
    return (size_t)((const struct ftc_verbs *)transport)->pool.made * FTC_VERBS_SLOT_SIZE;
}

bool ftc_verbs_break(struct ftc_transport *transport, int rank)
{
    const struct ftc_tcp_peer *peer = ftc_tcp_known((const struct ftc_tcp *)transport, rank);
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
    return peer != NULL && peer->link != NULL && peer->link->queue_pair != NULL &&
           ibv_modify_qp(peer->link->queue_pair->queue_pair, &attributes, IBV_QP_STATE) == 0;
}

const struct ftc_transport_ops ftc_transport_verbs = {
    .name = "verbs",
    .caps = 0,
    .open = verbs_open,
    .send = ftc_tcp_send,
    .flush = ftc_tcp_flush,
    .receive = ftc_tcp_receive,
    .ready = ftc_tcp_ready,
    .descriptor = ftc_tcp_descriptor,
    .reach = ftc_tcp_reach,
    .close_peer = ftc_tcp_close_peer,
    .endpoint = ftc_verbs_endpoint,
    .settled = ftc_verbs_settled,
    .unreachable = ftc_tcp_unreachable,
    .close = ftc_tcp_close,
};
