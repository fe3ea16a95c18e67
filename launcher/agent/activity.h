/* What a rank does: its words of the segment, as bytes for the agents of other nodes, and back.
 * People see them there by ftcoll-status. Times travel as ages. */
#ifndef FTC_LAUNCHER_AGENT_ACTIVITY_H
#define FTC_LAUNCHER_AGENT_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>

#include "node/segment/segment.h"

/* The largest number of bytes for a job of so many ranks. */
size_t ftc_agent_activity_room(int ranks);
size_t ftc_agent_activity_write(struct ftc_segment *segment, int rank, unsigned char *bytes,
                                size_t room);
/* Write the bytes into the slot of a rank of another node. False: they are malformed, and nothing
 * was changed. */
bool ftc_agent_activity_take(struct ftc_segment *segment, int rank, const unsigned char *bytes,
                             size_t size);

#endif
