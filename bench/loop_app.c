/*
 * The program that the benchmarks run. First it makes some allreduces. Then it does one of these
 * until it is killed or the time is over:
 *
 *   loop_app reduce SECONDS     allreduce after allreduce
 *   loop_app pace SECONDS       allreduce, then sleep for a millisecond
 *   loop_app busy SECONDS       allreduce, then compute for some milliseconds
 *   loop_app compute SECONDS    computes, outside the library
 *   loop_app sleep SECONDS      sleeps, outside the library
 *
 * Two modes are applications that compute between broadcasts of rank 0. Rank 0 prints the mean time
 * of a round in us. Each rank "computes" asleep, as on a core of its own, so that more ranks than
 * cores do not take turns for it, and for a time that it draws, US on average and at most twice US:
 *
 *   loop_app bcast SECONDS US           compute, broadcast
 *   loop_app bcast-reduce SECONDS US    compute for half as long, broadcast, compute for the other
 *                                       half, reduce to rank 0
 */
#include <ftcoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define FIRST_OPERATIONS 20
#define ROUNDS           50 /* between two looks at the clock */

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

static void check(ftc_comm *world, int rc)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "loop_app: %s\n", ftc_last_error());
    ftc_abort(world, 1);
}

/* Is the time over at any rank? Every rank gets the same answer, so all leave the loop together. */
static int over(ftc_comm *world, double end)
{
    int32_t mine = now() >= end, any = 0;
    check(world, ftc_allreduce(&mine, &any, 1, FTC_INT32, FTC_MAX, world));
    return any;
}

/* "Compute" for a time that is drawn, `mean` on average. */
static void compute_for(double mean)
{
    if (mean > 0)
        nap(2 * mean * drand48());
}

/* The applications that compute between broadcasts. */
static void compute_rounds(ftc_comm *world, double end, double compute, int reduces)
{
    double value = 1, sum = 0, start = now();
    long rounds = 0;

    srand48(ftc_rank(world));
    prctl(PR_SET_TIMERSLACK, 1); /* or every sleep takes 50 us longer */
    do {
        for (int i = 0; i < ROUNDS; i++) {
            compute_for(reduces ? compute / 2 : compute);
            check(world, ftc_bcast(&value, 1, FTC_DOUBLE, 0, world));
            if (!reduces)
                continue;
            compute_for(compute / 2);
            check(world, ftc_reduce(&value, &sum, 1, FTC_DOUBLE, FTC_SUM, 0, world));
        }
        rounds += ROUNDS;
    } while (!over(world, end));
    if (ftc_rank(world) == 0)
        printf("%.2f\n", (now() - start) * 1e6 / (double)rounds);
}

int main(int argc, char **argv)
{
    ftc_comm *world;
    if (argc != 3 && !(argc == 4 && strncmp(argv[1], "bcast", 5) == 0))
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
    else if (argc == 4)
        compute_rounds(world, end, atof(argv[3]) / 1e6, strcmp(mode, "bcast-reduce") == 0);
    while (!over(world, end)) {
        if (strcmp(mode, "pace") == 0)
            nap(0.001);
        else if (strcmp(mode, "busy") == 0)
            spin(0.005);
    }
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
