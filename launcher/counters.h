/* The counters of a rank as few bytes: only those that are not 0. So they travel to other nodes
 * (launcher/agent/wire.h), and are kept there for the report. */
#ifndef FTC_LAUNCHER_COUNTERS_H
#define FTC_LAUNCHER_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "node/segment/segment.h"

#define FTC_COUNTERS_NUMBERS (sizeof(struct ftc_counters) / sizeof(uint64_t))
#define FTC_COUNTERS_PACKED  (FTC_COUNTERS_NUMBERS * 9) /* the most bytes */

/* Returns how many bytes it has written. */
size_t ftc_counters_pack(const struct ftc_counters *counters,
                         unsigned char bytes[FTC_COUNTERS_PACKED]);
/* False: the bytes are no packed counters. */
bool ftc_counters_unpack(struct ftc_counters *counters, const unsigned char *bytes, size_t size);

#endif
