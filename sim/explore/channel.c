/* Gives numbers to queues of messages. */
#include "sim/explore/channel.h"

#include <stdlib.h>

#include "base/error.h"

int ftc_channels_init(struct ftc_channels *channels)
{
    *channels = (struct ftc_channels){.count = 1};
    return ftc_array_grow((void **)&channels->queue, &channels->room, 0, sizeof(*channels->queue));
}

void ftc_channels_fini(struct ftc_channels *channels)
{
    ftc_table_fini(&channels->longer);
    free(channels->queue);
    *channels = (struct ftc_channels){0};
}

/* The rest of the longer queue is the rest of the shorter one with the same message at its end. */
static int add(struct ftc_channels *channels, uint32_t *queue, uint32_t message)
{
    struct ftc_channel longer = {.head = message};

    if (*queue != 0) {
        longer = channels->queue[*queue];
        int rc = ftc_channels_append(channels, &longer.rest, message);
        if (rc != FTC_SUCCESS)
            return rc;
    }
    int rc = ftc_array_grow((void **)&channels->queue, &channels->room, channels->count,
                            sizeof(*channels->queue));
    if (rc == FTC_SUCCESS)
        rc = ftc_table_put(&channels->longer, (uint64_t)*queue << 32 | message, channels->count);
    if (rc != FTC_SUCCESS)
        return rc;
    channels->queue[channels->count] = longer;
    *queue = channels->count++;
    return FTC_SUCCESS;
}

int ftc_channels_append(struct ftc_channels *channels, uint32_t *queue, uint32_t message)
{
    uint32_t longer = ftc_table_get(&channels->longer, (uint64_t)*queue << 32 | message);

    if (longer == FTC_TABLE_NONE)
        return add(channels, queue, message);
    *queue = longer;
    return FTC_SUCCESS;
}

size_t ftc_channels_bytes(const struct ftc_channels *channels)
{
    return ftc_table_bytes(&channels->longer) + channels->room * sizeof(*channels->queue);
}
