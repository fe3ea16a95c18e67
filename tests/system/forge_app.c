/*
 * A rank finds a decision word, or a post, that is impossible in its node's segment. levels.bats
 * runs it:
 *
 *   forge_app status|size     rank 1 writes the word in the name of rank 0, its delegate, and calls
 *                             a barrier; the others wait
 *   forge_app post            rank 1 makes an impossible post for a barrier, and lives on; the
 *                             others call the barrier, and must come through
 *   forge_app mark            rank 1 waits in a barrier for rank 0. Rank 0 calls it once rank 2 has
 *                             changed rank 1's mark. All ranks but rank 1 must come through
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/set.h"
#include "collectives/frame.h"
#include "ftcoll.h"
#include "node/board/level.h"
#include "tests/clock.h"

#define DELEGATE 0
#define LIMIT_S  60

static _Noreturn void wrong(const char *what)
{
    fprintf(stderr, "forge_app: %s (%s)\n", what, ftc_last_error());
    exit(99);
}

static void forge(struct ftc_level *level, const char *what)
{
    unsigned char none[FTC_NODE_MAX_RANKS / 8] = {0}, data[8] = {0};
    struct ftc_level_record record = {
        .signature = {.kind = FTC_CALL_BARRIER, .root = -1}, .set = none, .data = data};

    if (strcmp(what, "status") == 0)
        record.status = 77;
    else if (strcmp(what, "size") == 0 || strcmp(what, "post") == 0)
        record.size = sizeof(data);
    enum ftc_level_kind kind = strcmp(what, "post") == 0 ? FTC_LEVEL_POST : FTC_LEVEL_WORD;
    if (ftc_level_write(level, kind, 0, &record) != FTC_SUCCESS)
        wrong("cannot write the word");
}

static int come_through(ftc_comm *world)
{
    return ftc_barrier(world) == FTC_SUCCESS && ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}

/* Waits until rank 1's place for round 0 has the mark of `round`. */
static void wait_for_mark(const struct ftc_level *level, uint64_t round)
{
    while (!ftc_level_marked(level, FTC_LEVEL_POST, round, DELEGATE + 1))
        test_nap(0.001);
}

static struct ftc_level *open_as(int rank, const char *job)
{
    struct ftc_level_setup setup = {.communicator = FTC_COMMUNICATOR_WORLD, .rank = rank};
    struct ftc_level *level;

    if (ftc_segment_attach(&setup.segment, job, true) != FTC_SUCCESS)
        wrong("cannot write in the segment");
    setup.ranks = ftc_segment_ranks(setup.segment);
    setup.first = ftc_segment_local(setup.segment, &setup.count);
    if (ftc_level_open(&level, &setup) != FTC_SUCCESS)
        wrong("cannot write in the segment");
    return level;
}

static void change_mark(int rank, const char *job)
{
    struct ftc_level_record record = {.signature = {.kind = FTC_CALL_BARRIER, .root = -1}};

    if (rank != DELEGATE && rank != DELEGATE + 2)
        return;
    struct ftc_level *level = open_as(DELEGATE + 1, job);
    if (rank == DELEGATE) {
        wait_for_mark(level, FTC_LEVEL_PLACES);
        return;
    }
    wait_for_mark(level, 0);
    if (ftc_level_write(level, FTC_LEVEL_POST, FTC_LEVEL_PLACES, &record) != FTC_SUCCESS)
        wrong("cannot write the post");
}

int main(int argc, char **argv)
{
    const char *job = getenv("FTCOLL_JOB_SEGMENT");
    ftc_comm *world;

    if (argc != 2 || job == NULL || ftc_init(NULL, &world) != FTC_SUCCESS)
        wrong("run it by ftrun");
    bool post = strcmp(argv[1], "post") == 0, mark = strcmp(argv[1], "mark") == 0;
    if (mark)
        change_mark(ftc_rank(world), job);
    if (mark || (post && ftc_rank(world) != DELEGATE + 1))
        return come_through(world);
    if (ftc_rank(world) != DELEGATE + 1) {
        sleep(LIMIT_S);
        wrong("nobody ended the job");
    }
    forge(open_as(post ? DELEGATE + 1 : DELEGATE, job), argv[1]);
    if (post)
        pause();
    int rc = ftc_barrier(world);
    fprintf(stderr, "forge_app: the barrier came through (%d)\n", rc);
    return 98;
}
