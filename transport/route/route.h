/*
 * The transport of a job (docs/design/tcp.md, "In a job"). It sends to each rank by the first of
 * several transports, the carriers, that reaches this rank. Shared memory reaches the ranks of the
 * same node. Another carrier reaches the ranks whose endpoint in the node segment names it, if
 * messages get through (ops->reach). Both may be known only long after this end was opened. Until
 * then messages wait here. The choice for a rank is final, so its messages stay in order.
 *
 * Messages from ranks of a refused node are dropped (docs/design/nodes.md, rule 6). Descriptors and
 * timers are those of the carriers. Not thread-safe.
 */
#ifndef FTC_TRANSPORT_ROUTE_ROUTE_H
#define FTC_TRANSPORT_ROUTE_ROUTE_H

#include <stdint.h>

#include "transport/transport.h"

struct ftc_route_setup {
    const int8_t *order;                               /* enum ftc_carrier in order, then -1 */
    const struct ftc_transport_ops *ops[FTC_CARRIERS]; /* NULL: this build does not have it */
};

/*
 * open() needs setup->segment and setup->bell. The endpoint callbacks of setup->tcp and
 * setup->verbs are replaced by the route's own. If shared memory reaches all ranks, *out is that
 * transport itself, and it has no endpoint(). FTC_ERR_CONFIG: no carrier of the order can reach
 * some rank.
 */
extern const struct ftc_transport_ops ftc_transport_route;

/* Does this transport have the carrier? False if it is no route. */
bool ftc_route_has(const struct ftc_transport *transport, enum ftc_carrier carrier);

/* As ftc_transport_ops.ready, without a look at sockets, which would cost a system call. For
 * callers that need not hear of sockets now: the descriptor goes on to tell of them. */
bool ftc_route_ready_but_sockets(struct ftc_transport *transport);

#endif
