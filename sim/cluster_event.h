/* The events of a cluster: numbers for them, which are pending, which one is next. */
#ifndef FTC_SIM_CLUSTER_EVENT_H
#define FTC_SIM_CLUSTER_EVENT_H

#include "sim/cluster.h"

enum ftc_cluster_event_class {
    FTC_CLUSTER_ARRIVAL,
    FTC_CLUSTER_NOTICE,
    FTC_CLUSTER_TIMER,
    FTC_CLUSTER_CALL,
    FTC_CLUSTER_CLASSES
};

struct ftc_cluster_event {
    enum ftc_cluster_event_class kind;
    int a, b; /* from, to; observer, dead; rank */
};

int ftc_cluster_event_count(int n);
struct ftc_cluster_event ftc_cluster_event_of(int n, int event);
void ftc_cluster_set_pending(struct ftc_cluster *c, int event, bool pending);
int ftc_cluster_pick(struct ftc_cluster *c); /* one enabled event */

uint64_t ftc_cluster_mix(uint64_t x); /* a good hash of 64 bits */

#define FTC_CLUSTER_BROADCAST_SIZE 24
/* What root broadcasts in operation op. */
void ftc_cluster_broadcast_value(int op, int root, unsigned char bytes[FTC_CLUSTER_BROADCAST_SIZE]);

#endif
