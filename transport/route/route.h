/*
 * The transport of a job: to each rank by the first of several transports that reaches it. Shared
 * memory reaches ranks of the same node; another one those that name it in their endpoint (the node
 * segment), which may be long after this end was opened: until then messages wait here, and until
 * it is known whether that one gets through (ops->reach). A choice is for good, so that order is
 * kept.
 *
 * Messages of ranks of a refused node are dropped (docs/design/nodes.md, rule 6). Descriptors and
 * timers are those of the transports behind it; not thread-safe either.
 */
#ifndef FTC_TRANSPORT_ROUTE_ROUTE_H
#define FTC_TRANSPORT_ROUTE_ROUTE_H

#include <stdint.h>

#include "transport/transport.h"

struct ftc_route_setup {
    const int8_t *order;                               /* enum ftc_carrier, then -1 */
    const struct ftc_transport_ops *ops[FTC_CARRIERS]; /* NULL: not in this build */
};

/*
 * open() wants setup->segment and bell; of setup->tcp and setup->verbs the endpoint callback is the
 * route's own. If all ranks are reached by shared memory, *out is that transport itself, and there
 * is no endpoint(). FTC_ERR_CONFIG: no transport of the order reaches a rank.
 */
extern const struct ftc_transport_ops ftc_transport_route;

/* Can messages go by this one, of a route? */
bool ftc_route_has(const struct ftc_transport *transport, enum ftc_carrier carrier);

/* As ftc_transport_ops.ready, for who need not hear of sockets now: they are a system call away,
 * and the descriptor goes on to tell of them. */
bool ftc_route_ready_but_sockets(struct ftc_transport *transport);

#endif
