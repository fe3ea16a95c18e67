/*
 * Fit a line to points that are spread over the ranks. In each step the ranks average their
 * gradients. The first steps average roughly, by gossip; the last 40 steps average exactly. The
 * points of a rank that dies are lost.
 *
 *     ftrun -np 8 -f 2 --kill 3@0.2 ./average 40 10
 *
 * arguments: steps by gossip (default 15), pause after each of them in milliseconds (default 0)
 */
#include <ftcoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define POINTS      1000 /* on each rank */
#define EXACT_STEPS 40

/* The gradient of half the mean squared error of y = line[0] x + line[1], over this rank's points.
 * The points lie around y = 3 x + 2. */
static void gradient(int rank, const double line[2], double slope[2])
{
    unsigned random = 2463534242u + (unsigned)rank * 2654435761u;

    slope[0] = slope[1] = 0;
    for (int i = 0; i < POINTS; i++) {
        random = random * 1664525u + 1013904223u;
        double x = 2.0 * i / (POINTS - 1) - 1, noise = random / 4294967296.0 - 0.5;
        double error = line[0] * x + line[1] - (3 * x + 2 + noise);
        slope[0] += error * x / POINTS;
        slope[1] += error / POINTS;
    }
}

/* Replace this rank's gradient by the mean over the survivors, to two digits. That is enough for
 * the direction of a step. All survivors get the same mean, so their lines stay the same too. */
static int roughly(double slope[2], ftc_comm *world)
{
    ftc_gossip_options rough = {.struct_size = sizeof(rough), .accuracy = 0.01};
    int rc = ftc_gossip_allreduce(FTC_IN_PLACE, slope, 2, FTC_AVG, &rough, world);

    if (rc == FTC_ERR_NOT_CONVERGED) { /* no rank has a mean, so no rank takes a step */
        slope[0] = slope[1] = 0;
        rc = FTC_SUCCESS;
    }
    return rc;
}

/* Replace this rank's gradient by the exact mean: a sum, divided by the number of ranks in it. */
static int exactly(double slope[2], ftc_comm *world)
{
    double mine[3] = {slope[0], slope[1], 1}, sum[3]; /* the sum of the 1s counts the ranks */
    int rc = ftc_allreduce(mine, sum, 3, FTC_DOUBLE, FTC_SUM, world);

    for (int i = 0; rc == FTC_SUCCESS && i < 2; i++)
        slope[i] = sum[i] / sum[2];
    return rc;
}

static void descend(long steps, int mean(double slope[2], ftc_comm *world), double line[2],
                    long pause_ms, ftc_comm *world)
{
    struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
    double slope[2];

    for (long step = 0; step < steps; step++) {
        gradient(ftc_rank(world), line, slope);
        if (mean(slope, world) != FTC_SUCCESS) {
            fprintf(stderr, "average: %s\n", ftc_last_error());
            ftc_abort(world, 1);
        }
        line[0] -= slope[0];
        line[1] -= slope[1];
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    long steps = argc > 1 ? atol(argv[1]) : 15, pause_ms = argc > 2 ? atol(argv[2]) : 0;
    ftc_report report = {.struct_size = sizeof(report)};
    double rough[2] = {0, 0}, line[2];
    ftc_comm *world;

    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "average: %s\n", ftc_last_error());
        return 1;
    }
    descend(steps, roughly, rough, pause_ms, world);
    line[0] = rough[0];
    line[1] = rough[1];
    descend(EXACT_STEPS, exactly, line, 0, world);
    if (ftc_last_report(world, &report) != FTC_SUCCESS)
        ftc_abort(world, 1);
    printf("rank %d: by gossip y = %.4f x + %.4f, exactly y = %.9f x + %.9f, points of %d ranks\n",
           ftc_rank(world), rough[0], rough[1], line[0], line[1],
           ftc_size(world) - report.failed_count);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
