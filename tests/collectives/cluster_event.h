/* The events of a cluster: numbers for them, which are pending, which one is next. */
#ifndef FTC_TEST_CLUSTER_EVENT_H
#define FTC_TEST_CLUSTER_EVENT_H

#include "cluster.h"

enum cluster_event_class { CLUSTER_ARRIVAL, CLUSTER_NOTICE, CLUSTER_TIMER, CLUSTER_CALL, CLUSTER_CLASSES };

struct cluster_event {
    enum cluster_event_class kind;
    int a, b; /* from, to; observer, dead; rank */
};

int cluster_event_count(int n);
struct cluster_event cluster_event_of(int n, int event);
void cluster_set_pending(struct cluster *c, int event, bool pending);
int cluster_pick(struct cluster *c); /* one enabled event */

uint64_t cluster_mix(uint64_t x); /* a good hash of 64 bits */

#define CLUSTER_BROADCAST_SIZE 24
/* What root broadcasts in operation op. */
void cluster_broadcast_value(int op, int root, unsigned char bytes[CLUSTER_BROADCAST_SIZE]);

#endif
