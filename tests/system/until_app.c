/*
 * Sums the ranks, with a millisecond between two sums, until a rank sees a file. So the test
 * decides how long the job goes on, not the speed of the machine. Argument: the file.
 */
#include <ftcoll.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/clock.h"

static void stop(ftc_comm *world, const char *why)
{
    fprintf(stderr, "until_app, rank %d: %s\n", ftc_rank(world), why);
    ftc_abort(world, 1);
}

int main(int argc, char **argv)
{
    ftc_comm *world;
    if (argc != 2 || ftc_init(NULL, &world) != FTC_SUCCESS)
        return 2;
    int64_t size = ftc_size(world), sum[3] = {0};
    while (sum[2] == 0) {
        int64_t mine[3] = {ftc_rank(world), 1, access(argv[1], F_OK) == 0};
        if (ftc_allreduce(mine, sum, 3, FTC_INT64, FTC_SUM, world) != FTC_SUCCESS)
            stop(world, ftc_last_error());
        if (sum[0] != size * (size - 1) / 2 || sum[1] != size)
            stop(world, "the sum is wrong");
        test_nap(0.001);
    }
    printf("rank %d: the sum of %" PRId64 " ranks is %" PRId64 "\n", ftc_rank(world), sum[1],
           sum[0]);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
