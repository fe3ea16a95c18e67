/*
 * The messages on the way from one rank to another, as one number. A channel is a queue of message
 * numbers. Queues are interned, so a global state holds one number for each channel. 0 is the empty
 * queue.
 */
#ifndef FTC_SIM_EXPLORE_CHANNEL_H
#define FTC_SIM_EXPLORE_CHANNEL_H

#include "sim/explore/table.h"

struct ftc_channel {
    uint32_t head; /* the first message */
    uint32_t rest; /* the queue without the first message */
};

struct ftc_channels {
    struct ftc_table longer; /* queue << 32 | message -> the queue with this message at its end */
    struct ftc_channel *queue;
    size_t room;
    uint32_t count;
};

int ftc_channels_init(struct ftc_channels *channels); /* FTC_ERR_NOMEM */
void ftc_channels_fini(struct ftc_channels *channels);
/* FTC_ERR_NOMEM. */
int ftc_channels_append(struct ftc_channels *channels, uint32_t *queue, uint32_t message);
size_t ftc_channels_bytes(const struct ftc_channels *channels);

#endif
