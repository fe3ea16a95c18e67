/* A transport that sends to each rank by one of several others. */
#include "transport/route/route.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/route/internal.h"
#include "transport/tcp/tcp.h"
#include "transport/verbs/verbs.h"

/* --- life --- */

static void route_close(struct ftc_transport *transport)
{
    struct ftc_route *route = (struct ftc_route *)transport;

    for (int carrier = 0; carrier < FTC_CARRIERS; carrier++)
        if (route->carrier[carrier] != NULL)
            route->carrier[carrier]->ops->close(route->carrier[carrier]);
    for (int rank = ftc_sparse_next(&route->peers, 0); rank >= 0;
         rank = ftc_sparse_next(&route->peers, rank + 1))
        ftc_route_drop_held(route, rank);
    if (route->epoll >= 0)
        close(route->epoll);
    ftc_set_fini(&route->waiting);
    ftc_set_fini(&route->closed);
    ftc_sparse_fini(&route->peers);
    free(route);
}

/* Do the open carriers reach all ranks, so that no other carrier is needed? */
static bool reaches_all(const struct ftc_route *route)
{
    int local;

    ftc_segment_local(route->setup.segment, &local);
    return route->carrier[FTC_CARRIER_TCP] != NULL ||
           (route->carrier[FTC_CARRIER_SHM] != NULL && local == route->setup.ranks);
}

/* Go without verbs. Most hosts have no device, so this is worth only an info line. It is a warning
 * if a device is there and fails, or was asked for by name, or if the order has no TCP. */
static int go_without(const struct ftc_route *route, int why)
{
    bool alternative = false;

    for (int i = 0; route->order[i] >= 0; i++)
        alternative = alternative || route->order[i] == FTC_CARRIER_TCP;
    enum ftc_log_level level =
        why == FTC_ERR_UNSUPPORTED && alternative ? FTC_LOG_INFO : FTC_LOG_WARN;
    FTC_LOG(route->setup.log, level, "messages go without verbs: %s", ftc_last_error());
    return FTC_SUCCESS;
}

static int open_carrier(struct ftc_route *route, const struct ftc_transport_ops *ops,
                        enum ftc_carrier carrier)
{
    struct ftc_transport_setup setup = route->setup;
    struct ftc_tcp_setup tcp;
    struct ftc_verbs_setup verbs;

    route->part[carrier] = (struct ftc_route_part){.segment = setup.segment, .carrier = carrier};
    if (setup.tcp != NULL) {
        tcp = *setup.tcp;
        tcp.endpoint = ftc_route_endpoint_of;
        tcp.context = &route->part[carrier];
        setup.tcp = &tcp;
    }
    if (setup.verbs != NULL) {
        verbs = *setup.verbs;
        verbs.endpoint = ftc_route_endpoint_of;
        verbs.context = &route->part[carrier];
        setup.verbs = &verbs;
    }
    int rc = ops->open(&route->carrier[carrier], &setup);
    return rc != 0 && rc != FTC_ERR_NOMEM && carrier == FTC_CARRIER_VERBS ? go_without(route, rc)
                                                                          : rc;
}

static int open_carriers(struct ftc_route *route)
{
    const struct ftc_route_setup *setup = route->setup.route;
    int local, rc = FTC_SUCCESS;

    ftc_segment_local(route->setup.segment, &local);
    for (int i = 0; rc == 0 && route->order[i] >= 0 && !reaches_all(route); i++) {
        enum ftc_carrier carrier = (enum ftc_carrier)route->order[i];
        bool useful =
            carrier == FTC_CARRIER_SHM
                ? local > 1 || local == route->setup.ranks
                : ftc_segment_own_endpoint(route->setup.segment, route->setup.self) != NULL;
        if (setup->ops[carrier] != NULL && useful)
            rc = open_carrier(route, setup->ops[carrier], carrier);
    }
    return rc;
}

static int check_reach(const struct ftc_route *route)
{
    char order[64];
    int local;

    ftc_segment_local(route->setup.segment, &local);
    bool far = route->carrier[FTC_CARRIER_TCP] != NULL || route->carrier[FTC_CARRIER_VERBS] != NULL;
    bool near = far || route->carrier[FTC_CARRIER_SHM] != NULL || route->setup.ranks == 1;
    if (local > 1 && !near)
        return ftc_error_set(FTC_ERR_CONFIG,
                             "transport.order: by %s the ranks of a node cannot reach one another "
                             "here; add shm, or tcp",
                             ftc_route_order_text(route, order));
    if (local < route->setup.ranks && !far)
        return ftc_error_set(
            FTC_ERR_CONFIG,
            "transport.order: by %s ranks of another node cannot be reached from here; add tcp",
            ftc_route_order_text(route, order));
    return FTC_SUCCESS;
}

/* Join the endpoints of the carriers: "verbs:... tcp:...", in the order of the carriers. */
static int join_endpoints(struct ftc_route *route)
{
    size_t used = 0;

    for (int i = 0; route->order[i] >= 0; i++) {
        const struct ftc_transport *carrier = route->carrier[route->order[i]];
        if (carrier == NULL || carrier->ops->endpoint == NULL)
            continue;
        int length = snprintf(route->endpoint + used, sizeof(route->endpoint) - used, "%s%s",
                              used > 0 ? " " : "", carrier->ops->endpoint(carrier));
        if (length < 0 || used + (size_t)length >= sizeof(route->endpoint))
            return ftc_error_set(FTC_ERR_SYSTEM,
                                 "the addresses of this rank take more than %d characters: set "
                                 "transport.tcp_address to one of them",
                                 FTC_ENDPOINT_SIZE - 1);
        used += (size_t)length;
    }
    return FTC_SUCCESS;
}

static int watch(struct ftc_route *route, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (route->epoll < 0)
        route->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (route->epoll >= 0 && epoll_ctl(route->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot watch sockets: %m%s",
                         errno == EMFILE ? "; raise the limit: `ulimit -n`" : "");
}

/* Several descriptors are joined by an epoll. A single one is used as it is. */
static int join_descriptors(struct ftc_route *route)
{
    int rc = FTC_SUCCESS;

    for (int i = 0; rc == 0 && i < FTC_CARRIERS; i++) {
        struct ftc_transport *carrier = route->carrier[i];
        int fd = carrier != NULL ? carrier->ops->descriptor(carrier) : -1;
        if (fd < 0)
            continue;
        if (route->fd >= 0 && route->epoll < 0)
            rc = watch(route, route->fd);
        if (rc == 0 && route->fd >= 0)
            rc = watch(route, fd);
        route->fd = route->epoll >= 0 ? route->epoll : fd;
    }
    return rc;
}

static int make(struct ftc_route **out, const struct ftc_transport_setup *setup)
{
    struct ftc_route *route = calloc(1, sizeof(*route));

    if (route == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    route->base.ops = &ftc_transport_route;
    route->setup = *setup;
    route->fd = route->epoll = -1;
    memset(route->order, -1, sizeof(route->order));
    for (int i = 0; i < FTC_CARRIERS && setup->route->order[i] >= 0; i++)
        route->order[i] = setup->route->order[i];
    if (ftc_sparse_init(&route->peers, setup->ranks, sizeof(struct ftc_route_peer)) != 0 ||
        ftc_set_init(&route->waiting, setup->ranks) != 0 ||
        ftc_set_init(&route->closed, setup->ranks) != 0) {
        route_close(&route->base);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    }
    *out = route;
    return FTC_SUCCESS;
}

/* If there is only shared memory, nothing has to be chosen, and the caller gets that transport
 * itself. */
static struct ftc_transport *without_detour(struct ftc_route *route)
{
    struct ftc_transport *shm = route->carrier[FTC_CARRIER_SHM];
    int carriers = 0;

    for (int i = 0; i < FTC_CARRIERS; i++)
        carriers += route->carrier[i] != NULL;
    if (shm == NULL || carriers > 1)
        return &route->base;
    route->carrier[FTC_CARRIER_SHM] = NULL;
    route_close(&route->base);
    return shm;
}

static int route_open(struct ftc_transport **out, const struct ftc_transport_setup *setup)
{
    struct ftc_route *route = NULL;
    int rc;

    if (setup->segment == NULL || setup->route == NULL ||
        setup->ranks != ftc_segment_ranks(setup->segment))
        return ftc_error_set(FTC_ERR_ARG, "rank %d of %d does not fit this node's segment",
                             setup->self, setup->ranks);
    rc = make(&route, setup);
    if (rc != 0)
        return rc;
    rc = open_carriers(route);
    if (rc == 0)
        rc = check_reach(route);
    if (rc == 0)
        rc = join_endpoints(route);
    if (rc == 0)
        rc = join_descriptors(route);
    /* These belong to the caller, and may be gone after this call. */
    route->setup.tcp = NULL;
    route->setup.verbs = NULL;
    route->setup.route = NULL;
    if (rc != 0)
        route_close(&route->base);
    else
        *out = without_detour(route);
    return rc;
}

/* --- the other operations --- */

static int route_send(struct ftc_transport *transport, int to, struct ftc_buffer *head,
                      const struct ftc_value *value, bool urgent)
{
    struct ftc_route *route = (struct ftc_route *)transport;

    assert(to >= 0 && to < route->setup.ranks && to != route->setup.self);
    if (ftc_set_has(&route->closed, to))
        return FTC_SUCCESS;
    int choice = ftc_route_decide(route, to);
    if (choice < 0)
        return choice;
    if (choice == FTC_ROUTE_NOT_YET)
        return ftc_route_hold(route, to, head, value, urgent);
    return route->carrier[choice]->ops->send(route->carrier[choice], to, head, value, urgent);
}

/* Ask again for the ranks for which messages wait: a carrier may have become known. */
static int look_again(struct ftc_route *route)
{
    int rc = FTC_SUCCESS;

    for (int rank = ftc_set_next(&route->waiting, 0); rank >= 0 && rc >= 0;
         rank = ftc_set_next(&route->waiting, rank + 1))
        rc = ftc_route_decide(route, rank);
    return rc < 0 ? rc : FTC_SUCCESS;
}

static int route_flush(struct ftc_transport *transport, bool *idle)
{
    struct ftc_route *route = (struct ftc_route *)transport;
    int rc = route->waiting_count > 0 ? look_again(route) : FTC_SUCCESS;
    bool one;

    *idle = route->waiting_count == 0;
    for (int i = 0; rc == 0 && i < FTC_CARRIERS; i++) {
        if (route->carrier[i] == NULL)
            continue;
        rc = route->carrier[i]->ops->flush(route->carrier[i], &one);
        *idle = *idle && one;
    }
    return rc;
}

/* Does the rank belong to a refused node? This is asked after the message was taken out. So once
 * the refusal is known, nobody hears a rank that still sends, even if this process was paused in
 * between (docs/design/nodes.md, rule 6). The fence keeps the look from being moved before that. */
static bool refused(const struct ftc_route *route, int carrier, int rank)
{
    if (carrier == FTC_CARRIER_SHM)
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&ftc_segment_standing(route->setup.segment, rank)->refused,
                                memory_order_acquire) != 0;
}

static void route_close_peer(struct ftc_transport *transport, int rank)
{
    struct ftc_route *route = (struct ftc_route *)transport;

    ftc_set_add(&route->closed, rank);
    ftc_route_drop_held(route, rank);
    for (int i = 0; i < FTC_CARRIERS; i++)
        if (route->carrier[i] != NULL)
            route->carrier[i]->ops->close_peer(route->carrier[i], rank);
}

/* As ftc_transport_ops.receive, from one carrier. */
static int receive_by(struct ftc_route *route, int carrier, int *from, struct ftc_buffer **message)
{
    struct ftc_transport *transport = route->carrier[carrier];

    for (;;) {
        int rc = transport->ops->receive(transport, from, message);
        if ((rc != 1 && rc != FTC_ERR_PROTO) || !refused(route, carrier, *from))
            return rc;
        if (rc == 1)
            ftc_buffer_unref(*message);
        *message = NULL;
        if (!ftc_set_has(&route->closed, *from))
            FTC_LOG(route->setup.log, FTC_LOG_INFO,
                    "rank %d's node is refused: its messages are dropped", *from);
        route_close_peer(&route->base, *from);
    }
}

static void route_expect(struct ftc_transport *transport, int from)
{
    struct ftc_route *route = (struct ftc_route *)transport;
    bool none = from == route->setup.self;
    const struct ftc_route_peer *peer = from >= 0 ? ftc_sparse_find(&route->peers, from) : NULL;
    int chosen = peer != NULL && peer->chosen ? peer->carrier : FTC_ROUTE_NOT_YET;

    for (int i = 0; i < FTC_CARRIERS; i++)
        if (route->carrier[i] != NULL && route->carrier[i]->ops->expect != NULL)
            route->carrier[i]->ops->expect(route->carrier[i], none || i == chosen ? from : -1);
}

/* The carriers are asked in turn. */
static int route_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message)
{
    struct ftc_route *route = (struct ftc_route *)transport;

    for (int i = 0; i < FTC_CARRIERS; i++) {
        int carrier = (route->turn + i) % FTC_CARRIERS;
        if (route->carrier[carrier] == NULL)
            continue;
        int rc = receive_by(route, carrier, from, message);
        if (rc == 0)
            continue;
        route->turn = (carrier + 1) % FTC_CARRIERS;
        return rc;
    }
    return 0;
}

static bool any_ready(struct ftc_route *route, bool sockets)
{
    for (int i = 0; i < FTC_CARRIERS; i++)
        if (route->carrier[i] != NULL && (sockets || i != FTC_CARRIER_TCP) &&
            route->carrier[i]->ops->ready(route->carrier[i]))
            return true;
    for (int rank = ftc_set_next(&route->waiting, 0); rank >= 0;
         rank = ftc_set_next(&route->waiting, rank + 1))
        if (ftc_route_choose(route, rank) != FTC_ROUTE_NOT_YET)
            return true;
    return false;
}

static bool route_ready(struct ftc_transport *transport)
{
    return any_ready((struct ftc_route *)transport, true);
}

bool ftc_route_ready_but_sockets(struct ftc_transport *transport)
{
    if (transport->ops != &ftc_transport_route)
        return transport->ops->ready(transport);
    return any_ready((struct ftc_route *)transport, false);
}

static int route_descriptor(struct ftc_transport *transport)
{
    return ((struct ftc_route *)transport)->fd;
}

static const char *route_endpoint(const struct ftc_transport *transport)
{
    return ((const struct ftc_route *)transport)->endpoint;
}

bool ftc_route_has(const struct ftc_transport *transport, enum ftc_carrier carrier)
{
    return transport->ops == &ftc_transport_route &&
           ((const struct ftc_route *)transport)->carrier[carrier] != NULL;
}

static bool route_settled(const struct ftc_transport *transport)
{
    const struct ftc_route *route = (const struct ftc_route *)transport;

    for (int i = 0; i < FTC_CARRIERS; i++) {
        const struct ftc_transport *carrier = route->carrier[i];
        if (carrier != NULL && carrier->ops->settled != NULL && !carrier->ops->settled(carrier))
            return false;
    }
    return route->waiting_count == 0;
}

static int route_unreachable(const struct ftc_transport *transport, int from, uint64_t since_ns)
{
    const struct ftc_route *route = (const struct ftc_route *)transport;
    int lowest = -1;

    for (int i = 0; i < FTC_CARRIERS; i++) {
        const struct ftc_transport *carrier = route->carrier[i];
        if (carrier == NULL || carrier->ops->unreachable == NULL)
            continue;
        int rank = carrier->ops->unreachable(carrier, from, since_ns);
        lowest = rank >= 0 && (lowest < 0 || rank < lowest) ? rank : lowest;
    }
    return lowest;
}

const struct ftc_transport_ops ftc_transport_route = {
    .name = "route",
    .caps = 0,
    .open = route_open,
    .send = route_send,
    .flush = route_flush,
    .receive = route_receive,
    .expect = route_expect,
    .ready = route_ready,
    .descriptor = route_descriptor,
    .close_peer = route_close_peer,
    .endpoint = route_endpoint,
    .settled = route_settled,
    .unreachable = route_unreachable,
    .close = route_close,
};
