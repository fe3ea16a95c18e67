/* A few ranks that gossip (gossip_net.h) until they have agreed on an end (gossip/end.h). */
#ifndef FTC_TEST_GOSSIP_ENDING_H
#define FTC_TEST_GOSSIP_ENDING_H

#include "base/set.h"
#include "collectives/gossip/end.h"
#include "tests/collectives/gossip_net.h"

#define RANKS_MOST 32
#define COUNT_MOST 4
#define MOST_STEPS 400000
#define ROOM       (2 * (COUNT_MOST + 7)) /* most doubles that a rank contributes */

struct ending {
    struct gossip_net_frame frame;
    struct gossip_net *net;
    struct ftc_gossip_end *end[RANKS_MOST];
    bool entered[RANKS_MOST];
    uint64_t sent[RANKS_MOST]; /* what each rank claims to have sent */
    struct ftc_set failed;
    double average[RANKS_MOST][COUNT_MOST];
};

/* Three elements, on a full graph, in turns where the algorithm can. */
struct gossip_net_frame ending_frame(enum ftc_gossip_algorithm algorithm, int ranks,
                                     double accuracy);
void ending_begin(struct ending *e, const struct gossip_net_frame *frame);
void ending_finish(struct ending *e);
void ending_kill(struct ending *e, int rank); /* the others know of it at once */
bool ending_lives(const struct ending *e, int rank);
void ending_look(struct ending *e);

/* Gossips until each rank has come to the barrier. Returns false if one never does. */
bool ending_barrier(struct ending *e);
/* The second agreement. `failed` is the failed set of its decision. All ranks have the same
 * verdict. */
enum ftc_gossip_verdict ending_decide(struct ending *e, const struct ftc_set *failed);
/* One attempt after the other. */
enum ftc_gossip_verdict ending_run(struct ending *e);

#endif
