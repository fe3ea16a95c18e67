/* The events of a cluster: their numbers, which ones are pending, how old they are, and the choice
 * of the next one. */
#ifndef FTC_SIM_MODEL_CLUSTER_EVENT_H
#define FTC_SIM_MODEL_CLUSTER_EVENT_H

#include "sim/model/cluster.h"

enum ftc_cluster_event_kind {
    FTC_CLUSTER_ARRIVAL,
    FTC_CLUSTER_NOTICE,
    FTC_CLUSTER_TIMER,
    FTC_CLUSTER_CALL,
    FTC_CLUSTER_DATAGRAM,
    FTC_CLUSTER_CLASSES
};

struct ftc_cluster_event {
    enum ftc_cluster_event_kind kind;
    int a, b; /* arrival: from, to; notice: observer, dead; else a is the rank */
};

void ftc_cluster_make_events(struct ftc_cluster *c); /* none is pending; for ftc_cluster_new() */
void ftc_cluster_free_events(struct ftc_cluster *c);

int ftc_cluster_event_count(int n);
struct ftc_cluster_event ftc_cluster_event_of(int n, int event);
int ftc_cluster_event_number(int n, struct ftc_cluster_event event);
void ftc_cluster_set_pending(struct ftc_cluster *c, int event, bool pending);

/* Pick an enabled event at random. With a bias, mostly pick the event of the highest priority, and
 * change priorities now and then (PCT: Burckhardt et al., "A randomized scheduler with
 * probabilistic guarantees of finding bugs", 2010). */
int ftc_cluster_pick(struct ftc_cluster *c);

/* The age of an event counts from when it became enabled (pending and not held).
 * ftc_cluster_aged(): the event that has `passed` older enabled events before it, or the youngest
 * event if there are fewer. ftc_cluster_age(): how many enabled events are older than this one. */
int ftc_cluster_aged(const struct ftc_cluster *c, uint64_t passed);
uint64_t ftc_cluster_age(const struct ftc_cluster *c, int event);

#endif
