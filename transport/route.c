/* One transport out of several. */
#include "transport/route.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"
#include "base/set.h"
#include "transport/tcp.h"
#include "transport/verbs.h"

/* In place of an enum ftc_carrier: the rank has not said where it is. */
#define NOT_YET FTC_CARRIERS

/* A message to a rank for which nothing is chosen yet. */
struct held {
    struct held *next;
    struct ftc_buffer *head;
    struct ftc_value value;
    bool urgent;
};

struct queue {
    struct held *first, *last;
};

/* What a transport asks for the part of an endpoint that is its own. */
struct part {
    struct ftc_segment *segment;
    enum ftc_carrier carrier;
    char text[FTC_ENDPOINT_SIZE];
};

struct route {
    struct ftc_transport base;
    struct ftc_transport_setup setup;
    int8_t order[FTC_CARRIERS + 1];
    struct ftc_transport *carrier[FTC_CARRIERS]; /* NULL: not needed, or not possible here */
    struct part part[FTC_CARRIERS];
    char endpoint[FTC_ENDPOINT_SIZE];
    int8_t *chosen;      /* by rank: enum ftc_carrier, or NOT_YET */
    struct queue *queue; /* by rank */
    struct ftc_set waiting, closed;
    int waiting_count;
    int turn;      /* whom receive() asks first */
    int fd, epoll; /* of the carriers; -1: there is none; several are behind the epoll */
};

/* --- endpoints --- */

/* A copy of what `rank` wrote: shared memory, not trusted. False: not yet. */
static bool read_endpoint(struct ftc_segment *segment, int rank, char text[FTC_ENDPOINT_SIZE])
{
    const struct ftc_slot *slot = ftc_segment_slot(segment, rank);
    const char *shared = ftc_segment_endpoint(segment, rank);

    /* Pairs with the release of the phase: the text is there. */
    if (shared == NULL || atomic_load_explicit(&slot->phase, memory_order_acquire) < FTC_PHASE_JOINED)
        return false;
    memcpy(text, shared, FTC_ENDPOINT_SIZE);
    text[FTC_ENDPOINT_SIZE - 1] = '\0';
    return true;
}

/* The part "tcp:..." of such a text, moved to its start. False: there is none. */
static bool find_part(char text[FTC_ENDPOINT_SIZE], enum ftc_carrier carrier)
{
    const char *name = ftc_carrier_name(carrier);
    size_t length = strlen(name);

    for (char *word = text, *end; *word != '\0'; word = end) {
        word += strspn(word, " ");
        end = word + strcspn(word, " ");
        if (strncmp(word, name, length) != 0 || word[length] != ':')
            continue;
        size_t size = (size_t)(end - word);
        memmove(text, word, size);
        text[size] = '\0';
        return true;
    }
    return false;
}

/* As ftc_tcp_setup.endpoint and ftc_verbs_setup.endpoint. */
static const char *endpoint_of(void *context, int rank)
{
    struct part *part = context;

    if (!read_endpoint(part->segment, rank, part->text) || !find_part(part->text, part->carrier))
        return NULL;
    return part->text;
}

/* --- choosing --- */

static const char *order_text(const struct route *route, char text[64])
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; route->order[i] >= 0; i++)
        used += (size_t)snprintf(text + used, 64 - used, "%s%s", i > 0 ? "," : "",
                                 ftc_carrier_name((enum ftc_carrier)route->order[i]));
    return text;
}

static enum ftc_reach reaches(const struct route *route, enum ftc_carrier carrier, int rank)
{
    struct ftc_transport *transport = route->carrier[carrier];

    return transport->ops->reach == NULL ? FTC_REACH_YES : transport->ops->reach(transport, rank);
}

/* enum ftc_carrier, NOT_YET, or an error. */
static int choose(const struct route *route, int rank)
{
    char text[FTC_ENDPOINT_SIZE] = "", part[FTC_ENDPOINT_SIZE], order[64];
    bool known = read_endpoint(route->setup.segment, rank, text);
    int unreached = -1; /* better than none: it goes on trying */

    for (int i = 0; route->order[i] >= 0; i++) {
        enum ftc_carrier carrier = (enum ftc_carrier)route->order[i];
        if (route->carrier[carrier] == NULL)
            continue;
        if (carrier == FTC_CARRIER_SHM) {
            if (ftc_segment_is_local(route->setup.segment, rank))
                return FTC_CARRIER_SHM;
            continue;
        }
        if (!known)
            return NOT_YET;
        memcpy(part, text, sizeof(part));
        if (!find_part(part, carrier))
            continue;
        enum ftc_reach reach = reaches(route, carrier, rank);
        if (reach != FTC_REACH_NO)
            return reach == FTC_REACH_YES ? (int)carrier : NOT_YET;
        unreached = (int)carrier;
    }
    if (unreached >= 0)
        return unreached;
    return ftc_error_set(
        FTC_ERR_SYSTEM,
        "rank %d cannot be reached: its endpoint is \"%.100s\", transport.order here is %s; give "
        "all nodes one that they have in common, such as tcp",
        rank, text, order_text(route, order));
}

static int hold(struct route *route, int to, struct ftc_buffer *head, const struct ftc_value *value,
                bool urgent)
{
    struct queue *queue = &route->queue[to];
    struct held *held = calloc(1, sizeof(*held));

    if (held == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message to rank %d", to);
    held->head = ftc_buffer_ref(head);
    held->urgent = urgent;
    if (value != NULL && value->buffer != NULL)
        ftc_value_set(&held->value, value);
    if (queue->first == NULL) {
        queue->first = held;
        ftc_set_add(&route->waiting, to);
        route->waiting_count++;
    } else {
        queue->last->next = held;
    }
    queue->last = held;
    return FTC_SUCCESS;
}

static void drop_first(struct route *route, int to)
{
    struct queue *queue = &route->queue[to];
    struct held *held = queue->first;

    queue->first = held->next;
    ftc_buffer_unref(held->head);
    ftc_value_drop(&held->value);
    free(held);
    if (queue->first != NULL)
        return;
    queue->last = NULL;
    ftc_set_remove(&route->waiting, to);
    route->waiting_count--;
}

static void settle_choice(struct route *route, int rank, enum ftc_carrier carrier)
{
    struct ftc_slot *own = ftc_segment_slot(route->setup.segment, route->setup.self);
    uint32_t count = atomic_load_explicit(&own->carriers[carrier], memory_order_relaxed);

    route->chosen[rank] = (int8_t)carrier;
    atomic_store_explicit(&own->carriers[carrier], count + 1, memory_order_relaxed);
    FTC_LOG(route->setup.log, FTC_LOG_DEBUG, "messages to rank %d go by %s", rank, ftc_carrier_name(carrier));
}

/* What waited goes first. As choose(). */
static int decide(struct route *route, int rank)
{
    int rc = FTC_SUCCESS;

    if (route->chosen[rank] == NOT_YET) {
        int choice = choose(route, rank);
        if (choice < 0 || choice == NOT_YET)
            return choice;
        settle_choice(route, rank, (enum ftc_carrier)choice);
    }
    struct ftc_transport *carrier = route->carrier[route->chosen[rank]];
    while (rc == 0 && route->queue[rank].first != NULL) {
        struct held *held = route->queue[rank].first;
        rc = carrier->ops->send(carrier, rank, held->head, &held->value, held->urgent);
        if (rc == 0)
            drop_first(route, rank);
    }
    return rc == 0 ? (int)route->chosen[rank] : rc;
}

/* --- life --- */

static void route_close(struct ftc_transport *transport)
{
    struct route *route = (struct route *)transport;

    for (int carrier = 0; carrier < FTC_CARRIERS; carrier++)
        if (route->carrier[carrier] != NULL)
            route->carrier[carrier]->ops->close(route->carrier[carrier]);
    if (route->queue != NULL)
        for (int rank = 0; rank < route->setup.ranks; rank++)
            while (route->queue[rank].first != NULL)
                drop_first(route, rank);
    if (route->epoll >= 0)
        close(route->epoll);
    ftc_set_fini(&route->waiting);
    ftc_set_fini(&route->closed);
    free(route->queue);
    free(route->chosen);
    free(route);
}

/* Is there nobody whom another transport could have to reach? */
static bool reaches_all(const struct route *route)
{
    int local;

    ftc_segment_local(route->setup.segment, &local);
    return route->carrier[FTC_CARRIER_TCP] != NULL ||
           (route->carrier[FTC_CARRIER_SHM] != NULL && local == route->setup.ranks);
}

/* Many hosts have no device. One that is there and does not work, or that is all there is, is another matter. */
static int go_without(const struct route *route, int why)
{
    bool alternative = false;

    for (int i = 0; route->order[i] >= 0; i++)
        alternative = alternative || route->order[i] == FTC_CARRIER_TCP;
    enum ftc_log_level level = why == FTC_ERR_UNSUPPORTED && alternative ? FTC_LOG_INFO : FTC_LOG_WARN;
    FTC_LOG(route->setup.log, level, "messages go without verbs: %s", ftc_last_error());
    return FTC_SUCCESS;
}

static int open_carrier(struct route *route, const struct ftc_transport_ops *ops, enum ftc_carrier carrier)
{
    struct ftc_transport_setup setup = route->setup;
    struct ftc_tcp_setup tcp;
    struct ftc_verbs_setup verbs;

    route->part[carrier] = (struct part){.segment = setup.segment, .carrier = carrier};
    if (setup.tcp != NULL) {
        tcp = *setup.tcp;
        tcp.endpoint = endpoint_of;
        tcp.context = &route->part[carrier];
        setup.tcp = &tcp;
    }
    if (setup.verbs != NULL) {
        verbs = *setup.verbs;
        verbs.endpoint = endpoint_of;
        verbs.context = &route->part[carrier];
        setup.verbs = &verbs;
    }
    int rc = ops->open(&route->carrier[carrier], &setup);
    return rc != 0 && rc != FTC_ERR_NOMEM && carrier == FTC_CARRIER_VERBS ? go_without(route, rc) : rc;
}

static int open_carriers(struct route *route)
{
    const struct ftc_route_setup *setup = route->setup.route;
    int local, rc = FTC_SUCCESS;

    ftc_segment_local(route->setup.segment, &local);
    for (int i = 0; rc == 0 && route->order[i] >= 0 && !reaches_all(route); i++) {
        enum ftc_carrier carrier = (enum ftc_carrier)route->order[i];
        bool useful = carrier == FTC_CARRIER_SHM
                          ? local > 1 || local == route->setup.ranks
                          : ftc_segment_endpoint(route->setup.segment, route->setup.self) != NULL;
        if (setup->ops[carrier] != NULL && useful)
            rc = open_carrier(route, setup->ops[carrier], carrier);
    }
    return rc;
}

static int check_reach(const struct route *route)
{
    char order[64];
    int local;

    ftc_segment_local(route->setup.segment, &local);
    bool far = route->carrier[FTC_CARRIER_TCP] != NULL || route->carrier[FTC_CARRIER_VERBS] != NULL;
    bool near = far || route->carrier[FTC_CARRIER_SHM] != NULL || route->setup.ranks == 1;
    if (local > 1 && !near)
        return ftc_error_set(
            FTC_ERR_CONFIG,
            "transport.order: by %s the ranks of a node cannot reach one another here; add shm, or tcp",
            order_text(route, order));
    if (local < route->setup.ranks && !far)
        return ftc_error_set(
            FTC_ERR_CONFIG,
            "transport.order: by %s ranks of another node cannot be reached from here; add tcp",
            order_text(route, order));
    return FTC_SUCCESS;
}

/* Each says where it is, "tcp:... verbs:...". */
static int join_endpoints(struct route *route)
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

static int watch(struct route *route, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (route->epoll < 0)
        route->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (route->epoll >= 0 && epoll_ctl(route->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot watch sockets: %m%s",
                         errno == EMFILE ? "; raise the limit: `ulimit -n`" : "");
}

/* One descriptor is handed on as it is. */
static int join_descriptors(struct route *route)
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

static int make(struct route **out, const struct ftc_transport_setup *setup)
{
    struct route *route = calloc(1, sizeof(*route));

    if (route == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    route->base.ops = &ftc_transport_route;
    route->setup = *setup;
    route->fd = route->epoll = -1;
    memset(route->order, -1, sizeof(route->order));
    for (int i = 0; i < FTC_CARRIERS && setup->route->order[i] >= 0; i++)
        route->order[i] = setup->route->order[i];
    route->queue = calloc((size_t)setup->ranks, sizeof(*route->queue));
    route->chosen = malloc((size_t)setup->ranks);
    if (route->queue == NULL || route->chosen == NULL || ftc_set_init(&route->waiting, setup->ranks) != 0 ||
        ftc_set_init(&route->closed, setup->ranks) != 0) {
        route_close(&route->base);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the transport");
    }
    memset(route->chosen, NOT_YET, (size_t)setup->ranks);
    *out = route;
    return FTC_SUCCESS;
}

/* With shared memory alone nothing is to be chosen: no detour. */
static struct ftc_transport *without_detour(struct route *route)
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
    struct route *route = NULL;
    int rc;

    if (setup->segment == NULL || setup->route == NULL || setup->ranks != ftc_segment_ranks(setup->segment))
        return ftc_error_set(FTC_ERR_ARG, "rank %d of %d does not fit this node's segment", setup->self,
                             setup->ranks);
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
    /* What the caller gave is his. */
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
    struct route *route = (struct route *)transport;

    assert(to >= 0 && to < route->setup.ranks && to != route->setup.self);
    if (ftc_set_has(&route->closed, to))
        return FTC_SUCCESS;
    int choice = decide(route, to);
    if (choice < 0)
        return choice;
    if (choice == NOT_YET)
        return hold(route, to, head, value, urgent);
    return route->carrier[choice]->ops->send(route->carrier[choice], to, head, value, urgent);
}

/* Who has said meanwhile where it is? */
static int look_again(struct route *route)
{
    int rc = FTC_SUCCESS;

    for (int rank = ftc_set_next(&route->waiting, 0); rank >= 0 && rc >= 0;
         rank = ftc_set_next(&route->waiting, rank + 1))
        rc = decide(route, rank);
    return rc < 0 ? rc : FTC_SUCCESS;
}

static int route_flush(struct ftc_transport *transport, bool *idle)
{
    struct route *route = (struct route *)transport;
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

/* After the message was taken out: a rank of a refused node that still sends is heard by nobody once the refusal is known,
 * wherever it was paused. The fence keeps the look from being done before. */
static bool refused(const struct route *route, int carrier, int rank)
{
    if (carrier == FTC_CARRIER_SHM)
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&ftc_segment_slot(route->setup.segment, rank)->refused,
                                memory_order_acquire) != 0;
}

static void route_close_peer(struct ftc_transport *transport, int rank)
{
    struct route *route = (struct route *)transport;

    ftc_set_add(&route->closed, rank);
    while (route->queue[rank].first != NULL)
        drop_first(route, rank);
    for (int i = 0; i < FTC_CARRIERS; i++)
        if (route->carrier[i] != NULL)
            route->carrier[i]->ops->close_peer(route->carrier[i], rank);
}

/* As ftc_transport_ops.receive, from one of them. */
static int receive_by(struct route *route, int carrier, int *from, struct ftc_buffer **message)
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
            FTC_LOG(route->setup.log, FTC_LOG_INFO, "rank %d's node is refused: its messages are dropped",
                    *from);
        route_close_peer(&route->base, *from);
    }
}

/* Each in turn. */
static int route_receive(struct ftc_transport *transport, int *from, struct ftc_buffer **message)
{
    struct route *route = (struct route *)transport;

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

static bool route_ready(struct ftc_transport *transport)
{
    struct route *route = (struct route *)transport;

    for (int i = 0; i < FTC_CARRIERS; i++)
        if (route->carrier[i] != NULL && route->carrier[i]->ops->ready(route->carrier[i]))
            return true;
    for (int rank = ftc_set_next(&route->waiting, 0); rank >= 0;
         rank = ftc_set_next(&route->waiting, rank + 1))
        if (choose(route, rank) != NOT_YET)
            return true;
    return false;
}

static int route_descriptor(struct ftc_transport *transport)
{
    return ((struct route *)transport)->fd;
}

static const char *route_endpoint(const struct ftc_transport *transport)
{
    return ((const struct route *)transport)->endpoint;
}

bool ftc_route_has(const struct ftc_transport *transport, enum ftc_carrier carrier)
{
    return transport->ops == &ftc_transport_route &&
           ((const struct route *)transport)->carrier[carrier] != NULL;
}

static bool route_settled(const struct ftc_transport *transport)
{
    const struct route *route = (const struct route *)transport;

    for (int i = 0; i < FTC_CARRIERS; i++) {
        const struct ftc_transport *carrier = route->carrier[i];
        if (carrier != NULL && carrier->ops->settled != NULL && !carrier->ops->settled(carrier))
            return false;
    }
    return route->waiting_count == 0;
}

static int route_unreachable(const struct ftc_transport *transport, int from, uint64_t since_ns)
{
    const struct route *route = (const struct route *)transport;
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
    .ready = route_ready,
    .descriptor = route_descriptor,
    .close_peer = route_close_peer,
    .endpoint = route_endpoint,
    .settled = route_settled,
    .unreachable = route_unreachable,
    .close = route_close,
};
