/* The channels of a cluster; for its own files. */
#ifndef FTC_SIM_MODEL_CLUSTER_CHANNEL_H
#define FTC_SIM_MODEL_CLUSTER_CHANNEL_H

#include "sim/model/cluster.h"

/* Room for a message at the end of a channel. */
struct ftc_cluster_message *ftc_cluster_enqueue(struct ftc_cluster *c,
                                                struct ftc_cluster_channel *channel);
/* The first one. The caller gets the reference to its bytes. */
struct ftc_cluster_message ftc_cluster_dequeue(struct ftc_cluster *c,
                                               struct ftc_cluster_channel *channel);
/* Only the first `keep` messages stay. */
void ftc_cluster_cut_channel(struct ftc_cluster *c, struct ftc_cluster_channel *channel, int keep);
/* All of them, when they are empty. */
void ftc_cluster_free_channels(struct ftc_cluster *c);

#endif
