/* What a rank does, for people on other nodes (ftcoll-status): its words in the segment, as bytes
 * and back. Times travel as ages. */
#ifndef FTC_LAUNCHER_AGENT_ACTIVITY_H
#define FTC_LAUNCHER_AGENT_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>

#include "node/segment/segment.h"

/* Largest number of bytes for a job of so many ranks. */
size_t ftc_agent_activity_room(int ranks);
size_t ftc_agent_activity_write(struct ftc_segment *segment, int rank, unsigned char *bytes,
                                size_t room);
/* Into the slot of a remote rank. False: malformed, nothing was changed. */
bool ftc_agent_activity_take(struct ftc_segment *segment, int rank, const unsigned char *bytes,
                             size_t size);

#endif
