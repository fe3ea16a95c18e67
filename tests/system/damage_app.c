/*
 * A rank damages its own post on the node board, while it lives and others have still to read the
 * post. damage.bats runs it:
 *
 *   damage_app HARM FILE    rank 1 is the root of a broadcast, and damages its post before the
 *                           others call it: they wait for FILE. They must all get the same from the
 *                           broadcast, and then sum up without rank 1
 *   damage_app called FILE  rank 1 damages the number of its calls, makes FILE, and waits.
 *                           Meanwhile gossip messages of the other ranks arrive. No other rank
 *                           reads that number
 *
 * HARM is mark, signature, size, offset, cleared, cleared-gossip or sequence. Only rank 1 can
 * notice that its mark is cleared. It then calls an allreduce, or gossips, and must find the damage
 * there.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ftcoll.h"
#include "node/segment/board_memory.h"
#include "node/segment/segment.h"
#include "tests/clock.h"

#define ROOT    1
#define COUNT   64
#define LATE_US 300000

static _Noreturn void wrong(const char *what)
{
    fprintf(stderr, "damage_app: %s (%s)\n", what, ftc_last_error());
    exit(99);
}

static struct ftc_segment *attach(void)
{
    const char *job = getenv("FTCOLL_JOB_SEGMENT");
    struct ftc_segment *segment;

    if (job == NULL || ftc_segment_attach(&segment, job, true) != FTC_SUCCESS)
        wrong("cannot write in the segment");
    return segment;
}

static void damage_post(const char *harm)
{
    struct ftc_board_memory memory = ftc_segment_board(attach());
    struct ftc_board_post *post =
        (struct ftc_board_post *)(void *)memory.posts + ROOT; /* the post of round 0 */
    if (strcmp(harm, "mark") == 0)
        post->mark = 0x123456789abcdefull;
    else if (strcmp(harm, "signature") == 0)
        post->signature.kind = FTC_CALL_BARRIER;
    else if (strcmp(harm, "size") == 0)
        post->signature.size = 4711;
    else if (strcmp(harm, "offset") == 0)
        post->offset = UINT64_MAX;
    else if (strncmp(harm, "cleared", strlen("cleared")) == 0)
        post->mark = 0;
    else
        post->mark += FTC_BOARD_DEPTH;
}

/* Making the file lets the other ranks go on. */
static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fclose(file) != 0)
        wrong("no file");
}

static void wait_for(const char *path)
{
    while (access(path, F_OK) != 0)
        test_nap(0.01);
}

static void be_root(ftc_comm *world, int64_t *values, const char *harm, const char *path)
{
    int64_t one = 1, sum;
    double in = 1, out;

    if (ftc_bcast(values, COUNT, FTC_INT64, ROOT, world) != FTC_SUCCESS)
        wrong("the root's broadcast failed");
    damage_post(harm);
    make_file(path);
    if (strcmp(harm, "cleared") == 0)
        (void)ftc_allreduce(&one, &sum, 1, FTC_INT64, FTC_SUM, world);
    if (strcmp(harm, "cleared-gossip") == 0)
        (void)ftc_gossip_allreduce(&in, &out, 1, FTC_SUM, NULL, world);
    pause();
}

static int gossip_with_damaged_count(ftc_comm *world, const char *path)
{
    double one = 1, sum = 0;

    if (ftc_barrier(world) != FTC_SUCCESS)
        wrong("barrier");
    if (ftc_rank(world) == ROOT) {
        struct ftc_segment *segment = attach();
        ftc_segment_slot(segment, ROOT)->called += 1000;
        ftc_segment_detach(segment);
        make_file(path);
        usleep(LATE_US); /* meanwhile the messages of the other ranks arrive */
    } else {
        wait_for(path);
    }
    if (ftc_gossip_allreduce(&one, &sum, 1, FTC_SUM, NULL, world) != FTC_SUCCESS)
        wrong("gossip");
    printf("rank %d: sum %.0f\n", ftc_rank(world), sum);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv)
{
    int64_t values[COUNT] = {0}, one = 1, sum = 0;
    ftc_comm *world;

    if (argc != 3 || ftc_init(NULL, &world) != FTC_SUCCESS)
        wrong("run it by ftrun");
    if (strcmp(argv[1], "called") == 0)
        return gossip_with_damaged_count(world, argv[2]);
    if (ftc_rank(world) == ROOT)
        be_root(world, values, argv[1], argv[2]);
    wait_for(argv[2]);
    int rc = ftc_bcast(values, COUNT, FTC_INT64, ROOT, world);
    if (ftc_allreduce(&one, &sum, 1, FTC_INT64, FTC_SUM, world) != FTC_SUCCESS)
        wrong("allreduce");
    printf("rank %d: broadcast %s, sum %d\n", ftc_rank(world), ftc_strerror(rc), (int)sum);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
