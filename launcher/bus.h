/*
 * The node segment is a file that every program of the user may cut short. A touch of what is gone raises SIGBUS; here it ends the job:
 * with a message, and with nothing left behind.
 */
#ifndef FTC_LAUNCHER_BUS_H
#define FTC_LAUNCHER_BUS_H

#include "launcher/ranks.h"
#include "node/segment.h"

/* From here on. `ranks`, which may still be empty, and `segment` must stay until ftc_bus_unguard(), and so
 * must `directory` and `lock`, those of the job (node/jobs.h). */
void ftc_bus_guard(struct ftc_ranks *ranks, struct ftc_segment *segment, const char *directory, int lock);
void ftc_bus_unguard(void);

#endif
