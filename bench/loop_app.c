/*
 * The program that the benchmarks run. First it makes some allreduces. Then it does one of these
 * until it is killed or the time is over:
 *
 *   loop_app reduce SECONDS     allreduce after allreduce
 *   loop_app pace SECONDS       allreduce, then sleep for a millisecond
 *   loop_app busy SECONDS       allreduce, then compute for some milliseconds
 *   loop_app compute SECONDS    computes, outside the library
 *   loop_app sleep SECONDS      sleeps, outside the library
 */
#include <ftcoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_OPERATIONS 20

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void spin(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        for (volatile int i = 0; i < 10000; i++)
            ;
}

static void nap(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&time, &time) != 0)
        ;
}

/* Is the time over at any rank? Every rank gets the same answer, so all leave the loop together. */
static int over(ftc_comm *world, double end)
{
    int32_t mine = now() >= end, any = 0;
    if (ftc_allreduce(&mine, &any, 1, FTC_INT32, FTC_MAX, world) != FTC_SUCCESS) {
        fprintf(stderr, "loop_app: %s\n", ftc_last_error());
        ftc_abort(world, 1);
    }
    return any;
}

int main(int argc, char **argv)
{
    ftc_comm *world;
    if (argc != 3)
        return 2;
    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "loop_app: %s\n", ftc_last_error());
        return 1;
    }
    const char *mode = argv[1];
    double seconds = atof(argv[2]), end = now() + seconds;
    for (int i = 0; i < FIRST_OPERATIONS; i++)
        over(world, end);
    if (strcmp(mode, "compute") == 0)
        spin(seconds);
    else if (strcmp(mode, "sleep") == 0)
        nap(seconds);
    while (!over(world, end)) {
        if (strcmp(mode, "pace") == 0)
            nap(0.001);
        else if (strcmp(mode, "busy") == 0)
            spin(0.005);
    }
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
