/*
 * Every program of the user can cut the file of the node segment short. An access to the part that
 * is gone raises SIGBUS. The handler here ends the job with a message, and leaves nothing behind.
 */
#ifndef FTC_LAUNCHER_BUS_H
#define FTC_LAUNCHER_BUS_H

#include "launcher/ranks.h"
#include "node/segment/segment.h"

/* The handler guards `segment` from this call to ftc_bus_unguard(). `ranks`, `segment`, and
 * `directory` and `lock` of the job (node/jobs.h) must stay valid until then. `ranks` may still be
 * empty. */
void ftc_bus_guard(struct ftc_ranks *ranks, struct ftc_segment *segment, const char *directory,
                   int lock);
void ftc_bus_unguard(void);

#endif
