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

#include "ftcoll.h"
#include "tests/clock.h"

#define LARGE (8 << 20)

int main(int argc, char **argv)
{
    unsigned char *large = calloc(1, LARGE);
    int32_t one = 1, sum = 0;
    ftc_comm *world;

    if (large == NULL || ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    double start = test_now();
    if (ftc_allreduce(&one, &sum, 1, FTC_INT32, FTC_SUM, world) != FTC_SUCCESS)
        return 1;
    printf("took %.3f\n", test_now() - start);
    fflush(stdout);
    if (ftc_rank(world) != 1)
        test_nap(argc > 1 ? atof(argv[1]) : 1);
    if (ftc_bcast(large, LARGE, FTC_UINT8, 1, world) != FTC_SUCCESS)
        return 1;
    free(large);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
