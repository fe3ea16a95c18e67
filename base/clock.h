/* Time: one monotonic clock in nanoseconds, the same for all processes of a machine. And a counter
 * for short times. */
#ifndef FTC_BASE_CLOCK_H
#define FTC_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define FTC_NS_PER_MS 1000000ull
#define FTC_NS_PER_S  1000000000ull

uint64_t ftc_clock_now(void); /* CLOCK_MONOTONIC, ns */
/* CLOCK_REALTIME, ns since the epoch: to show to people, never to wait for. */
uint64_t ftc_clock_realtime(void);

/* A faster clock, in ticks of its own: the time-stamp counter of the processor. False: it is not
 * known to run at one rate and alike on all cores, because the kernel does not make its own clock
 * of it. */
bool ftc_clock_has_counter(void);

/* The counter, or ftc_clock_now(). `counter` is what ftc_clock_has_counter() said. */
static inline uint64_t ftc_clock_ticks(bool counter)
{
#if defined(__x86_64__)
    if (counter)
        return __builtin_ia32_rdtsc();
#endif
    (void)counter;
    return ftc_clock_now();
}

#endif
