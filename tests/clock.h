/* Time for programs that tests start. ftcoll.h alone is enough for them, so base/clock.h is not. */
#ifndef FTC_TEST_CLOCK_H
#define FTC_TEST_CLOCK_H

#include <time.h>

/* In seconds, from an origin of its own. It never goes back. */
static inline double test_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A signal may end it earlier. */
static inline void test_nap(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

#endif
