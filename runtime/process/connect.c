/* Opens the transport of this rank, and tells others where it listens. */
#include "runtime/process/connect.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "transport/multicast/interface.h"
#include "transport/route/route.h"
#include "transport/tcp/tcp.h"
#include "transport/verbs/verbs.h"

_Static_assert(FTC_CONFIG_SHM == FTC_CARRIER_SHM && FTC_CONFIG_VERBS == FTC_CARRIER_VERBS &&
                   FTC_CONFIG_LIST_MAX == FTC_CARRIERS + 1,
               "transport.order has the names of enum ftc_carrier");

/* tcp.md, "Patience". Where ranks share cores, a look takes the time in which another one would
 * work. If each rank of this node has a core of its own, the yields outlast an allreduce. */
#define SOCKET_YIELDS     4
#define OWN_SOCKET_YIELDS 1000

static struct ftc_tcp_setup tcp_of(const struct ftc_config *c,
                                   const struct ftc_segment_header *header)
{
    return (struct ftc_tcp_setup){.job = header->cluster,
                                  .secret = header->secret,
                                  .secret_size = sizeof(header->secret),
                                  .seal = (enum ftc_tcp_seal)c->seal,
                                  .address = c->tcp_address,
                                  .port = (unsigned)c->tcp_port,
                                  .port_last = (unsigned)c->tcp_port_last,
                                  .congestion = c->tcp_congestion};
}

static struct ftc_verbs_setup verbs_of(const struct ftc_config *c,
                                       const struct ftc_segment_header *header, const char *device)
{
    return (struct ftc_verbs_setup){.job = header->cluster,
                                    .secret = header->secret,
                                    .secret_size = sizeof(header->secret),
                                    .interface = device,
                                    .address = c->tcp_address,
                                    .port = (unsigned)c->verbs_port,
                                    .port_last = (unsigned)c->verbs_port_last,
                                    .unanswered_ms = (unsigned)c->verbs_timeout_ms,
                                    .memory = (size_t)c->verbs_memory};
}

/* Verbs cannot be sealed: the card writes to memory without a look of the processor. The default
 * order names verbs for all hosts, so leaving them out is worth a warning only where the order was
 * chosen. */
static const struct ftc_transport_ops *verbs_unless_sealed(const struct ftc_process *process)
{
    const struct ftc_config *c = &process->config;
    bool usual = c->transport_order[0] == FTC_CARRIER_SHM && c->verbs_device[0] == '\0';

    if (c->seal == FTC_TCP_SEAL_OFF || !ftc_config_goes_by(c, FTC_CARRIER_VERBS))
        return &ftc_transport_verbs;
    FTC_LOG(&process->log, usual ? FTC_LOG_INFO : FTC_LOG_WARN,
            "messages go without verbs, which transport.seal = %s cannot protect: take verbs out "
            "of transport.order, or set transport.seal to off",
            ftc_tcp_seal_name((enum ftc_tcp_seal)c->seal));
    return NULL;
}

static int open_transport(struct ftc_process *process)
{
    const struct ftc_segment_header *header = ftc_segment_header(process->segment);
    char device[FTC_MULTICAST_ENTRY];
    struct ftc_tcp_setup tcp = tcp_of(&process->config, header);
    struct ftc_verbs_setup verbs = verbs_of(&process->config, header, device);
    struct ftc_route_setup route = {.order = process->config.transport_order,
                                    .ops = {[FTC_CARRIER_SHM] = &ftc_transport_shm,
                                            [FTC_CARRIER_VERBS] = verbs_unless_sealed(process),
                                            [FTC_CARRIER_TCP] = &ftc_transport_tcp}};
    struct ftc_transport_setup setup = {.ranks = process->size,
                                        .self = process->rank,
                                        .log = &process->log,
                                        .pool = process->pool,
                                        .segment = process->segment,
                                        .bell = &process->bell,
                                        .tcp = &tcp,
                                        .verbs = &verbs,
                                        .route = &route};
    int rc = ftc_multicast_entry(device, process->config.verbs_device, process->rank);

    if (rc != 0)
        return ftc_error_set(rc, "transport.verbs_device: %s", ftc_last_error());
    return ftc_transport_route.open(&process->transport, &setup);
}

/* A look at sockets costs system calls. If both ends are on one host, the look even takes the time
 * in which the kernel would bring the message. So the rank gives way after each look. */
static int sleep_on_sockets(struct ftc_process *process)
{
    bool own = process->patience.spins > 0;

    if (!ftc_route_has(process->transport, FTC_CARRIER_VERBS)) /* with verbs it looks at memory */
        process->patience = (struct ftc_patience){.yields = own ? OWN_SOCKET_YIELDS : SOCKET_YIELDS,
                                                  .board_yields = process->patience.board_yields,
                                                  .naps = !own};
    return ftc_bell_poll(&process->bell);
}

int ftc_connect(struct ftc_process *process)
{
    int rc = ftc_bell_open(&process->bell, process->segment, process->rank);

    if (rc == 0)
        rc = open_transport(process);
    if (rc == 0 && process->transport->ops->descriptor(process->transport) >= 0)
        rc = sleep_on_sockets(process);
    if (rc == 0)
        ftc_bell_outside(&process->bell, FTC_SLEEP_SOCKET);
    return rc;
}

static void write_endpoint(struct ftc_process *process)
{
    char *place = ftc_segment_own_endpoint(process->segment, process->rank);
    const char *(*endpoint)(const struct ftc_transport *) = process->transport->ops->endpoint;

    if (place != NULL && endpoint != NULL)
        snprintf(place, FTC_ENDPOINT_SIZE, "%s", endpoint(process->transport));
}

/* The launchers tell the ranks of other nodes. */
void ftc_connect_announce(struct ftc_process *process)
{
    write_endpoint(process);
    atomic_store(&process->standing->joined_ns, ftc_clock_now());
    atomic_store_explicit(&process->slot->activity.since_ns, ftc_clock_now(), memory_order_relaxed);
    atomic_store_explicit(&process->standing->phase, FTC_PHASE_JOINED, memory_order_release);
    ftc_bell_ring_launcher(&process->bell);
    if (ftc_config_leaves_node(&process->config))
        ftc_bell_ring_all(&process->bell);
}
