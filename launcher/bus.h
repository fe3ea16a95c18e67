/*
 * The node segment is a file that every program of the user may cut short. An access to the part
 * that is gone raises SIGBUS. The handler here ends the job with a message, and leaves nothing
 * behind.
 */
#ifndef FTC_LAUNCHER_BUS_H
#define FTC_LAUNCHER_BUS_H

#include "launcher/ranks.h"
#include "node/segment/segment.h"

/* The handler guards `segment` from this call to ftc_bus_unguard(). Until then these must stay:
 * `ranks`, which may still be empty, `segment`, and `directory` and `lock` of the job
 * (node/jobs.h). */
void ftc_bus_guard(struct ftc_ranks *ranks, struct ftc_segment *segment, const char *directory,
                   int lock);
void ftc_bus_unguard(void);

#endif
