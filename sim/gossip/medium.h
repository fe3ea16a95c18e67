/* The messages of a simulated aggregation on their way. They take time, and some get lost. */
#ifndef FTC_SIM_GOSSIP_MEDIUM_H
#define FTC_SIM_GOSSIP_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/timed/distance.h"
#include "sim/timed/queue.h"

#define FTC_GOSSIP_TICKS   1024 /* virtual time in one unit of cost */
#define FTC_GOSSIP_CLASSES 8    /* most classes of distances */

enum ftc_gossip_cost_kind {
    FTC_GOSSIP_CONSTANT, /* one unit */
    FTC_GOSSIP_RANDOM,   /* exponential, with mean 1 */
    /* by links of a 3-d torus with ranks at random places; gossip in a torus has only neighbours */
    FTC_GOSSIP_HOPS,
    FTC_GOSSIP_FAT_TREE, /* by links of a fat tree with ranks in order (sim/timed/distance.h) */
    /* by the smallest group that both ranks are in, as measured on a fat tree (Wimmer 2016, tables
     * 5.4 and 5.5) */
    FTC_GOSSIP_MEASURED,
};

/* What a message between two ranks costs, in units of time. */
struct ftc_gossip_cost {
    enum ftc_gossip_cost_kind kind;
    int radix; /* fat tree */
    /* measured: ranks are in groups of size[i] in order, and two of a group are time[i] apart.
     * Sizes ascend; the last size is INT_MAX, for all ranks. */
    int classes, size[FTC_GOSSIP_CLASSES];
    double time[FTC_GOSSIP_CLASSES];
};

/* Parse "constant", "random", "hops", "fat-tree", "fat-tree:RADIX", or classes, as
 * "16=2.9,256=3.9,all=5". FTC_ERR_ARG, with cause and remedy. */
int ftc_gossip_cost_parse(struct ftc_gossip_cost *cost, const char *text);

struct ftc_medium {
    struct ftc_gossip_cost cost;
    double loss;   /* share of whole messages that get lost, 0 .. 1 */
    bool announce; /* the receiver of a lost message gets an event without item */
    /* Each message comes in the round after its own. A round takes as long as its most expensive
     * message (Wimmer 2016, section 5.4). */
    bool rounds;
    uint64_t *random;
    uint64_t now;     /* of the events; in rounds only the number of the round counts */
    uint64_t elapsed; /* virtual time */
    uint64_t longest; /* of the messages of this round */
    struct ftc_distance distance;
    struct ftc_queue queue;
};

struct ftc_packet {
    size_t size;
    unsigned char bytes[];
};

/* `near`: if messages cost hops, ranks are placed as the neighbourhood of gossip, so each message
 * goes one hop. FTC_ERR_NOMEM. fini() is legal after init() failed, and frees packets that are
 * still on their way. */
int ftc_medium_init(struct ftc_medium *medium, const struct ftc_gossip_cost *cost, bool near,
                    int ranks, uint64_t seed);
void ftc_medium_fini(struct ftc_medium *medium);

/* Send a packet: the item of a later event of this kind. If the packet gets lost, there is no
 * event, or one without an item. `earliest` (may be NULL) keeps a channel in order: the packet
 * arrives no earlier than *earliest, and the next one no earlier than this one. FTC_ERR_NOMEM. */
int ftc_medium_send(struct ftc_medium *medium, int kind, int from, int to, const void *bytes,
                    size_t size, uint64_t *earliest);
/* Schedule an event without an item at time `until`. FTC_ERR_NOMEM. */
int ftc_medium_wait(struct ftc_medium *medium, int kind, int rank, uint64_t until);
/* Take the next event; `now` becomes its time. False: no event is left. The caller frees the
 * item. */
bool ftc_medium_next(struct ftc_medium *medium, struct ftc_event *event);
/* For an engine with rounds that delivers messages itself: draw whether a message of this round
 * gets lost. Lost or not, it counts for the time of the round. */
bool ftc_medium_loses(struct ftc_medium *medium, int from, int to);
void ftc_medium_end_round(struct ftc_medium *medium);
/* What the most expensive message between two of so many ranks costs; if it is random, in the
 * mean. */
uint64_t ftc_medium_most(const struct ftc_medium *medium, int ranks);

#endif
