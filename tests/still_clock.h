/* The clock for deadlines of tests. It goes on by at most a step from one look to the next, so a
 * machine that stands still, or is busy with other things, uses up no deadline. Only loops that
 * look at it all the time may use it. */
#ifndef FTC_TEST_STILL_CLOCK_H
#define FTC_TEST_STILL_CLOCK_H

#include "base/clock.h"

#define TEST_CLOCK_STEP_NS (5 * FTC_NS_PER_MS)

struct test_clock {
    uint64_t looked_ns; /* 0: never */
    uint64_t lag_ns;    /* behind the machine's clock */
};

/* `now` is the time of the machine's clock. */
static inline uint64_t test_clock_read(struct test_clock *clock, uint64_t now)
{
    uint64_t passed = clock->looked_ns != 0 ? now - clock->looked_ns : 0;

    clock->looked_ns = now;
    clock->lag_ns += passed > TEST_CLOCK_STEP_NS ? passed - TEST_CLOCK_STEP_NS : 0;
    return now - clock->lag_ns;
}

static inline uint64_t test_clock_now(void)
{
    static struct test_clock clock;

    return test_clock_read(&clock, ftc_clock_now());
}

#endif
