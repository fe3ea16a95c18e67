/* Time: one monotonic clock in nanoseconds, the same for all processes of a machine. */
#ifndef FTC_BASE_CLOCK_H
#define FTC_BASE_CLOCK_H

#include <stdint.h>

#define FTC_NS_PER_MS 1000000ull
#define FTC_NS_PER_S  1000000000ull

uint64_t ftc_clock_now(void); /* CLOCK_MONOTONIC, ns */
/* CLOCK_REALTIME, ns since the epoch: to show to people, never to wait for. */
uint64_t ftc_clock_realtime(void);

#endif
