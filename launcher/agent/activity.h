/* What a rank does: its words of the segment, as bytes for the agents of other nodes, and back.
 * People see them there by ftcoll-status. Times travel as ages. */
#ifndef FTC_LAUNCHER_AGENT_ACTIVITY_H
#define FTC_LAUNCHER_AGENT_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>

#include "node/segment/segment.h"

/* The largest number of bytes of one rank, in a job of so many ranks. */
size_t ftc_agent_activity_room(int ranks);
/* Returns how many bytes it has written; 0: there is no room. */
size_t ftc_agent_activity_write(struct ftc_segment *segment, int rank, unsigned char *bytes,
                                size_t room);
/* Write what ranks of `node`, another one, do into the segment: the bytes of several ranks may
 * follow one another. False: those of a rank are malformed, and none from there on is taken. */
bool ftc_agent_activity_take(struct ftc_segment *segment, int node, const unsigned char *bytes,
                             size_t size);

#endif
