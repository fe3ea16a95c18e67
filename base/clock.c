/* The clocks. clock_gettime() needs no system call, because the vDSO serves it. */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now); /* cannot fail: the clocks exist and the address is valid */
    return (uint64_t)now.tv_sec * FTC_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t ftc_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t ftc_clock_realtime(void)
{
    return read_clock(CLOCK_REALTIME);
}

bool ftc_clock_has_counter(void)
{
    char name[16] = "";
#if defined(__x86_64__)
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

    if (file != NULL && fgets(name, sizeof(name), file) == NULL)
        name[0] = '\0';
    if (file != NULL)
        fclose(file);
#endif
    return strcmp(name, "tsc\n") == 0;
}
