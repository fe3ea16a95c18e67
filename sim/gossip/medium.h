/* Messages of a simulated aggregation on their way: they take their time, and get lost. */
#ifndef FTC_SIM_GOSSIP_MEDIUM_H
#define FTC_SIM_GOSSIP_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/timed/distance.h"
#include "sim/timed/queue.h"

#define FTC_GOSSIP_TICKS 1024 /* virtual time of a message of mean cost */

enum ftc_gossip_cost {
    FTC_GOSSIP_CONSTANT,
    FTC_GOSSIP_RANDOM, /* exponential with the same mean */
    FTC_GOSSIP_HOPS, /* by links of a 3-d torus, ranks at random places; gossip in the torus itself: neighbours */
    FTC_GOSSIP_COSTS
};
const char *ftc_gossip_cost_name(enum ftc_gossip_cost cost);

struct ftc_medium {
    enum ftc_gossip_cost cost;
    double loss; /* 0 .. 1, of whole messages */
    uint64_t *random;
    uint64_t now;
    struct ftc_distance distance;
    struct ftc_queue queue;
};

struct ftc_packet {
    size_t size;
    unsigned char bytes[];
};

/* `near`: ranks are where gossip has its links, so that each message goes one hop. FTC_ERR_NOMEM.
 * fini() of one whose init() failed is legal, and frees what is still on its way. */
int ftc_medium_init(struct ftc_medium *medium, enum ftc_gossip_cost cost, bool near, int ranks,
                    uint64_t seed);
void ftc_medium_fini(struct ftc_medium *medium);

/* An event of this kind whose item is the packet; none if it gets lost. `earliest` (NULL: none)
 * keeps a channel in order: the message comes no sooner, and the next one no sooner than it.
 * FTC_ERR_NOMEM. */
int ftc_medium_send(struct ftc_medium *medium, int kind, int from, int to, const void *bytes,
                    size_t size, uint64_t *earliest);
/* An event without an item at that time. FTC_ERR_NOMEM. */
int ftc_medium_wait(struct ftc_medium *medium, int kind, int rank, uint64_t until);
/* The next event; it is `now`. False: nothing is left. The caller frees the item. */
bool ftc_medium_next(struct ftc_medium *medium, struct ftc_event *event);
/* Chance has it that a message gets lost. */
bool ftc_medium_loses(struct ftc_medium *medium);

#endif
