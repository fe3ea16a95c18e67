/*
 * Ranks that returned from an operation and are away must still answer for it, also when the
 * question is queued behind a large message. There is one allreduce. Then rank 1 broadcasts 8 MB,
 * and the others come to the broadcast SECONDS later. Each rank prints how long its allreduce took.
 * Run with FTCOLL_TEST_DIE=0@send:3: the coordinator dies after it told some ranks the decision.
 *
 *   away_app SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ftcoll.h"

#define LARGE (8 << 20)

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct timespec away = {.tv_sec = argc > 1 ? atol(argv[1]) : 1};
    unsigned char *large = calloc(1, LARGE);
    int32_t one = 1, sum = 0;
    ftc_comm *world;

    if (large == NULL || ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    double start = now();
    if (ftc_allreduce(&one, &sum, 1, FTC_INT32, FTC_SUM, world) != FTC_SUCCESS)
        return 1;
    printf("took %.3f\n", now() - start);
    fflush(stdout);
    if (ftc_rank(world) != 1)
        nanosleep(&away, NULL);
    if (ftc_bcast(large, LARGE, FTC_UINT8, 1, world) != FTC_SUCCESS)
        return 1;
    free(large);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
