/*
 * The ranks that bench/failed-peer measures. Ranks 1, 2, ... fail in turn, and rank 0 goes on:
 *
 *   failed_peer_app KILL|STOP    rank 0 waits in a receive from the rank that fails
 *
 * The rank that fails sends rank 0 the time, and then that signal to itself. For each failure rank
 * 0 prints how many us passed from there until it has the error. Any other end of the receive is a
 * failure of this program.
 */
#include <ftcoll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TURN, TIME, NEVER }; /* tags */

#define DELAY_US 2000 /* at most, so that a failure meets any moment of a wait */

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void must(ftc_comm *world, const char *what, int rc)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "failed_peer_app: rank %d: %s: %s\n", ftc_rank(world), what, ftc_last_error());
    ftc_abort(world, 1);
}

static void fail_in_turn(ftc_comm *world, int signal)
{
    int64_t turn = 0, time;

    must(world, "turn", ftc_recv(&turn, 1, FTC_INT64, 0, TURN, world, NULL));
    usleep((useconds_t)((uint64_t)turn % DELAY_US));
    time = now();
    must(world, "time", ftc_send(&time, 1, FTC_INT64, 0, TIME, world));
    for (;;)
        raise(signal);
}

static void receive_from(ftc_comm *world, int rank)
{
    int64_t time = now();

    must(world, "turn", ftc_send(&time, 1, FTC_INT64, rank, TURN, world));
    must(world, "time", ftc_recv(&time, 1, FTC_INT64, rank, TIME, world, NULL));
    int64_t never;
    int rc = ftc_recv(&never, 1, FTC_INT64, rank, NEVER, world, NULL);
    int64_t took = now() - time;
    if (rc != FTC_ERR_RANK_FAILED) {
        fprintf(stderr, "failed_peer_app: the receive from rank %d ended with %d (%s)\n", rank, rc,
                ftc_strerror(rc));
        ftc_abort(world, 1);
    }
    printf("%.1f\n", (double)took / 1e3);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    ftc_comm *world;

    if (argc != 2)
        return 2;
    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "failed_peer_app: %s\n", ftc_last_error());
        return 1;
    }
    if (ftc_rank(world) > 0)
        fail_in_turn(world, strcmp(argv[1], "STOP") == 0 ? SIGSTOP : SIGKILL);
    for (int rank = 1; rank < ftc_size(world); rank++)
        receive_from(world, rank);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
