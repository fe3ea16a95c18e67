/*
 * sums_app ROUNDS FILE: reduces to the last rank, then waits outside of the library.
 * sums_app lag: a reduce to the last rank, then broadcasts from it. Rank 1 pauses after the first.
 * sums_app late FILE: as ROUNDS = 1, but rank 1 reduces when rank 0 is out of the library again.
 * sums_app ahead: the last rank is late for a reduce to rank 0, and then come broadcasts of 1 KiB
 * from the rank with the number RANKS / 2 + 1.
 *
 * Each rank gives one bit. The root checks that no bit was counted twice, and that the bit of each
 * rank is there that it does not know to have failed. After the last reduce it makes FILE. The
 * other ranks look for FILE without a call of the library, and end then. So when a delegate has
 * died, the sums must come from a rank that is in no call.
 */
#include <ftcoll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/clock.h"

#define LONGEST_S 3. /* a ring takes less than 1 ms, and a heartbeat comes each 30 s */

/* A sum of distinct bits is below 2^n, and a bit that is counted twice moves another one. */
static int check(int64_t sum, const ftc_comm *world)
{
    int size = ftc_size(world);
    int64_t needed = ((int64_t)1 << size) - 1;
    ftc_report report = {.struct_size = sizeof(report)};

    if (ftc_last_report(world, &report) != FTC_SUCCESS)
        return 1;
    if (report.f != size - 1) {
        fprintf(stderr, "sums_app: such a reduce masks %d failures, not all\n", report.f);
        return 1;
    }
    for (int i = 0; i < report.failed_count; i++)
        needed &= ~((int64_t)1 << report.failed[i]);
    if ((sum & needed) == needed && sum < (int64_t)1 << size)
        return 0;
    fprintf(stderr, "sums_app: the sum is %#llx, and %#llx must be in it\n",
            (unsigned long long)sum, (unsigned long long)needed);
    return 1;
}

/* Waits for the file, without a call of the library. */
static bool await(const char *file)
{
    for (int naps = 0; access(file, F_OK) != 0; naps++) {
        if (naps == 5000)
            return false;
        test_nap(0.002);
    }
    return true;
}

static int reduce(ftc_comm *world, int rounds)
{
    int rank = ftc_rank(world), root = ftc_size(world) - 1;
    int64_t mine = (int64_t)1 << rank, sum = 0;

    for (int i = 0; i < rounds; i++) {
        if (ftc_reduce(&mine, &sum, 1, FTC_INT64, FTC_SUM, root, world) != FTC_SUCCESS)
            return 1;
        if (rank == root && check(sum, world) != 0)
            return 1;
    }
    return 0;
}

static void make(const char *file)
{
    fclose(fopen(file, "w"));
}

static int wait_outside(ftc_comm *world, const char *file)
{
    int rank = ftc_rank(world);

    if (rank == ftc_size(world) - 1)
        make(file);
    if (!await(file))
        return 1;
    printf("rank %d: came through\n", rank);
    return 0;
}

static int run(ftc_comm *world, int rounds, const char *file)
{
    return reduce(world, rounds) != 0 || wait_outside(world, file);
}

static int late(ftc_comm *world, const char *file)
{
    char left[4096];
    int rank = ftc_rank(world);

    snprintf(left, sizeof(left), "%s.left", file);
    if (reduce(world, 1) != 0 || ftc_barrier(world) != FTC_SUCCESS || (rank == 1 && !await(left)))
        return 1;
    if (rank == 1)
        test_nap(0.05); /* until the thread of rank 0 sleeps */
    if (reduce(world, 1) != 0)
        return 1;
    if (rank == 0)
        make(left);
    return wait_outside(world, file);
}

static int lag(ftc_comm *world)
{
    int rank = ftc_rank(world), root = ftc_size(world) - 1;
    int64_t value = rank, sum;

    if (ftc_reduce(&value, &sum, 1, FTC_INT64, FTC_SUM, root, world) != FTC_SUCCESS)
        return 1;
    for (int i = 0; i < 50; i++) {
        if (ftc_bcast(&value, 1, FTC_INT64, root, world) != FTC_SUCCESS)
            return 1;
        if (i == 0 && rank == 1)
            test_nap(0.5);
    }
    printf("rank %d: came through\n", rank);
    return 0;
}

static int ahead(ftc_comm *world)
{
    int rank = ftc_rank(world), size = ftc_size(world);
    int64_t values[128] = {rank}, sum;

    if (ftc_barrier(world) != FTC_SUCCESS)
        return 1;
    if (rank == size - 1)
        test_nap(0.3);
    double begun = test_now();
    if (ftc_reduce(values, &sum, 1, FTC_INT64, FTC_SUM, 0, world) != FTC_SUCCESS)
        return 1;
    for (int i = 0; i < 5; i++)
        if (ftc_bcast(values, 128, FTC_INT64, size / 2 + 1, world) != FTC_SUCCESS)
            return 1;
    if (rank == size - 1 && test_now() - begun > LONGEST_S) {
        fprintf(stderr, "sums_app: the broadcasts waited for a ring that did not come\n");
        return 1;
    }
    printf("rank %d: came through\n", rank);
    return 0;
}

static int run_mode(ftc_comm *world, char **argv)
{
    if (strcmp(argv[1], "lag") == 0)
        return lag(world);
    if (strcmp(argv[1], "ahead") == 0)
        return ahead(world);
    return strcmp(argv[1], "late") == 0 ? late(world, argv[2]) : run(world, atoi(argv[1]), argv[2]);
}

int main(int argc, char **argv)
{
    ftc_comm *world;

    if (argc < 2 || ftc_init(NULL, &world) != FTC_SUCCESS)
        return 2;
    if (run_mode(world, argv) != 0) {
        fprintf(stderr, "sums_app: %s\n", ftc_last_error());
        ftc_abort(world, 1);
    }
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
