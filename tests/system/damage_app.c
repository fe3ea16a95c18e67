/*
 * A rank that damages what it has in the node segment, while it lives and others have still to read it; by damage.bats:
 *
 *   damage_app HARM    rank 1 is the root of a broadcast, and damages its post before the others come to it. They must get the same
 *                      from the broadcast, and then sum up without rank 1
 *   damage_app called  rank 1 damages the number of its calls before messages of a gossip come, which no other rank reads
 *
 * HARM is mark, signature, size, offset, cleared or sequence.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ftcoll.h"
#include "node/board_memory.h"
#include "node/segment.h"

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
    struct ftc_board_post *post = (struct ftc_board_post *)(void *)memory.posts + ROOT; /* of round 0 */
    if (strcmp(harm, "mark") == 0)
        post->mark = 0x123456789abcdefull;
    else if (strcmp(harm, "signature") == 0)
        post->signature.kind = FTC_CALL_BARRIER;
    else if (strcmp(harm, "size") == 0)
        post->signature.size = 4711;
    else if (strcmp(harm, "offset") == 0)
        post->offset = UINT64_MAX;
    else if (strcmp(harm, "cleared") == 0)
        post->mark = 0;
    else
        post->mark += FTC_BOARD_DEPTH;
}

static void be_root(ftc_comm *world, int64_t *values, const char *harm)
{
    int64_t one = 1, sum;

    if (ftc_bcast(values, COUNT, FTC_INT64, ROOT, world) != FTC_SUCCESS)
        wrong("the root's broadcast failed");
    damage_post(harm);
    if (strcmp(harm, "cleared") == 0) /* nobody else sees that */
        (void)ftc_allreduce(&one, &sum, 1, FTC_INT64, FTC_SUM, world);
    pause();
}

static int gossip_with_damaged_count(ftc_comm *world)
{
    double one = 1, sum = 0;

    if (ftc_barrier(world) != FTC_SUCCESS)
        wrong("barrier");
    if (ftc_rank(world) == ROOT) {
        ftc_segment_slot(attach(), ROOT)->called += 1000;
        usleep(LATE_US); /* the messages of the others come meanwhile */
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

    if (argc != 2 || ftc_init(NULL, &world) != FTC_SUCCESS)
        wrong("run it by ftrun");
    if (strcmp(argv[1], "called") == 0)
        return gossip_with_damaged_count(world);
    if (ftc_rank(world) == ROOT)
        be_root(world, values, argv[1]);
    usleep(LATE_US);
    int rc = ftc_bcast(values, COUNT, FTC_INT64, ROOT, world);
    if (ftc_allreduce(&one, &sum, 1, FTC_INT64, FTC_SUM, world) != FTC_SUCCESS)
        wrong("allreduce");
    printf("rank %d: broadcast %s, sum %d\n", ftc_rank(world), ftc_strerror(rc), (int)sum);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
