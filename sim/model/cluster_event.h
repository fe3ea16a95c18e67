/* The events of a cluster: numbers for them, which are pending, how old they are, which one is
 * next. */
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
    int a, b; /* from, to; observer, dead; rank */
};

void ftc_cluster_make_events(struct ftc_cluster *c); /* none pending; for ftc_cluster_new() */
void ftc_cluster_free_events(struct ftc_cluster *c);

int ftc_cluster_event_count(int n);
struct ftc_cluster_event ftc_cluster_event_of(int n, int event);
int ftc_cluster_event_number(int n, struct ftc_cluster_event event);
void ftc_cluster_set_pending(struct ftc_cluster *c, int event, bool pending);

/* One enabled event, by chance. With a bias (PCT: Burckhardt et al., "A randomized scheduler with
 * probabilistic guarantees of finding bugs", 2010) mostly that of the highest priority, and
 * priorities change now and then. */
int ftc_cluster_pick(struct ftc_cluster *c);

/* By age, that is since when they are pending and not held: the event that `passed` enabled ones
 * are older than (the youngest if there are not so many), and how many are older than this one. */
int ftc_cluster_aged(const struct ftc_cluster *c, uint64_t passed);
uint64_t ftc_cluster_age(const struct ftc_cluster *c, int event);

#endif
