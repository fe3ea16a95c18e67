/*
 * Sums the ranks at rank 0, once, as integers or as floating-point numbers. Rank 0 prints how long
 * that took it, and ends the job: it does not wait for ranks that stand still. Argument: int or
 * double.
 */
#include <ftcoll.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/clock.h"

int main(int argc, char **argv)
{
    ftc_comm *world;
    if (argc != 2 || ftc_init(NULL, &world) != FTC_SUCCESS)
        return 2;
    bool floating = strcmp(argv[1], "double") == 0;
    int64_t whole = ftc_rank(world);
    double real = ftc_rank(world), before = test_now();
    int rc = floating ? ftc_reduce(&real, &real, 1, FTC_DOUBLE, FTC_SUM, 0, world)
                      : ftc_reduce(&whole, &whole, 1, FTC_INT64, FTC_SUM, 0, world);
    if (rc == FTC_SUCCESS && ftc_rank(world) == 0) {
        printf("the sum is %" PRId64 "\n", floating ? (int64_t)real : whole);
        printf("%.1f ms\n", 1e3 * (test_now() - before));
        fflush(stdout);
        ftc_abort(world, 3);
    }
    ftc_finalize(world);
    return rc == FTC_SUCCESS ? 0 : 1;
}
