/* The conformance suite on TCP as a job uses it: TCP is chosen, with endpoints from the node
 * segment. */
#include <stdio.h>

#include "transport/route/route.h"
#include "transport/tcp/tcp.h"
#include "transport_suite.h"

static int open_route(struct ftc_transport **out, struct ftc_transport_setup *setup,
                      const char *directory)
{
    static const int8_t order[] = {FTC_CARRIER_TCP, FTC_CARRIER_SHM, -1};
    static const struct ftc_route_setup route = {
        .order = order,
        .ops = {[FTC_CARRIER_SHM] = &ftc_transport_shm, [FTC_CARRIER_TCP] = &ftc_transport_tcp}};
    const struct ftc_segment_header *header = ftc_segment_header(setup->segment);
    struct ftc_tcp_setup tcp = {.job = header->cluster,
                                .secret = header->secret,
                                .secret_size = sizeof(header->secret),
                                .address = "127.0.0.1"};
    (void)directory;
    setup->tcp = &tcp;
    setup->route = &route;
    int rc = ftc_transport_route.open(out, setup);
    if (rc != 0)
        return rc;
    struct ftc_standing *standing = ftc_segment_standing(setup->segment, setup->self);
    snprintf(ftc_segment_own_endpoint(setup->segment, setup->self), FTC_ENDPOINT_SIZE, "%s",
             (*out)->ops->endpoint(*out));
    atomic_store_explicit(&standing->phase, FTC_PHASE_JOINED, memory_order_release);
    return 0;
}

static bool settled(const struct ftc_transport *transport)
{
    return transport->ops->settled(transport);
}

int main(void)
{
    static const struct transport_kit kit = {
        .ops = &ftc_transport_route, .open = open_route, .settled = settled, .endpoints = true};
    return transport_suite_run(&kit);
}
