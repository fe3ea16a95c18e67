/* The channels of a cluster. Private to cluster*.c. */
#ifndef FTC_SIM_MODEL_CLUSTER_CHANNEL_H
#define FTC_SIM_MODEL_CLUSTER_CHANNEL_H

#include "sim/model/cluster.h"

/* Append an empty message to a channel. */
struct ftc_cluster_message *ftc_cluster_enqueue(struct ftc_cluster *c,
                                                struct ftc_cluster_channel *channel);
/* Remove the first message of a channel. The caller gets the reference to its bytes. */
struct ftc_cluster_message ftc_cluster_dequeue(struct ftc_cluster *c,
                                               struct ftc_cluster_channel *channel);
/* Drop all messages of a channel but the first `keep`. */
void ftc_cluster_cut_channel(struct ftc_cluster *c, struct ftc_cluster_channel *channel, int keep);
/* Free all channels. They must be empty. */
void ftc_cluster_free_channels(struct ftc_cluster *c);

#endif
