/*
 * The smallest program: it sums the rank numbers again and again, while ranks die.
 *
 *     ftrun -np 8 -f 2 --kill 3@0.5 ./allreduce_loop 1000 1
 *
 * arguments: how many operations (default 1000), pause after each in milliseconds (default 0)
 */
#include <ftcoll.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Check a sum against the failed set of its operation. The result holds a failed rank's input
 * entirely or not at all, and the failed set alone does not say which of the two. So the count of
 * inputs lies between the number of survivors and the number of all ranks, and the sum lacks at
 * most the inputs of all failed ranks. The check needs [failure_info] scheme = list, the default:
 * with it the failed set names every rank whose input the result lacks. */
static int plausible(const int64_t sum[2], const ftc_report *report, int size)
{
    int64_t failed_sum = 0, all = (int64_t)size * (size - 1) / 2;
    for (int i = 0; i < report->failed_count; i++)
        failed_sum += report->failed[i];
    return sum[0] <= all && sum[0] >= all - failed_sum && sum[1] <= size &&
           sum[1] >= size - report->failed_count;
}

int main(int argc, char **argv)
{
    long times = argc > 1 ? atol(argv[1]) : 1000, pause_ms = argc > 2 ? atol(argv[2]) : 0;
    struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
    ftc_report report = {.struct_size = sizeof(report)};
    int64_t sum[2] = {0, 0};
    ftc_comm *world;

    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* whole lines: all ranks may write to it */
    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "allreduce_loop: %s\n", ftc_last_error());
        return 1;
    }
    for (long i = 0; i < times; i++) {
        int64_t mine[2] = {ftc_rank(world), 1}; /* the sum of the 1s counts the inputs */
        int rc = ftc_allreduce(mine, sum, 2, FTC_INT64, FTC_SUM, world);
        if (rc == FTC_SUCCESS)
            rc = ftc_last_report(world, &report);
        if (rc != FTC_SUCCESS || !plausible(sum, &report, ftc_size(world))) {
            fprintf(stderr, "rank %d, operation %ld: %s\n", ftc_rank(world), i,
                    rc != FTC_SUCCESS ? ftc_last_error() : "the sum does not fit the failed set");
            ftc_abort(world, 1);
        }
        nanosleep(&pause, NULL);
    }
    printf("rank %d: the sum of %" PRId64 " ranks is %" PRId64 ", %d failed\n", ftc_rank(world),
           sum[1], sum[0], report.failed_count);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
