/* The messages of a simulated aggregation on their way. They take time, and some get lost. */
#ifndef FTC_SIM_GOSSIP_MEDIUM_H
#define FTC_SIM_GOSSIP_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/timed/distance.h"
#include "sim/timed/queue.h"

#define FTC_GOSSIP_TICKS 1024 /* virtual time that a message of mean cost takes */

enum ftc_gossip_cost {
    FTC_GOSSIP_CONSTANT,
    FTC_GOSSIP_RANDOM, /* exponential, with the same mean */
    /* by links of a 3-d torus with ranks at random places; gossip in a torus has only neighbours */
    FTC_GOSSIP_HOPS,
    FTC_GOSSIP_COSTS
};
const char *ftc_gossip_cost_name(enum ftc_gossip_cost cost);

struct ftc_medium {
    enum ftc_gossip_cost cost;
    double loss; /* share of whole messages that get lost, 0 .. 1 */
    uint64_t *random;
    uint64_t now;
    struct ftc_distance distance;
    struct ftc_queue queue;
};

struct ftc_packet {
    size_t size;
    unsigned char bytes[];
};

/* `near`: ranks are placed as the neighbourhood of gossip, so each message goes one hop.
 * FTC_ERR_NOMEM. fini() is legal after init() failed, and frees packets that are still on their
 * way. */
int ftc_medium_init(struct ftc_medium *medium, enum ftc_gossip_cost cost, bool near, int ranks,
                    uint64_t seed);
void ftc_medium_fini(struct ftc_medium *medium);

/* Send a packet: the item of a later event of this kind. If the packet gets lost, there is no
 * event. `earliest` (may be NULL) keeps a channel in order: the packet arrives no earlier than
 * *earliest, and the next one no earlier than this one. FTC_ERR_NOMEM. */
int ftc_medium_send(struct ftc_medium *medium, int kind, int from, int to, const void *bytes,
                    size_t size, uint64_t *earliest);
/* Schedule an event without an item at time `until`. FTC_ERR_NOMEM. */
int ftc_medium_wait(struct ftc_medium *medium, int kind, int rank, uint64_t until);
/* Take the next event; `now` becomes its time. False: no event is left. The caller frees the
 * item. */
bool ftc_medium_next(struct ftc_medium *medium, struct ftc_event *event);
/* Draw whether a message gets lost. */
bool ftc_medium_loses(struct ftc_medium *medium);

#endif
