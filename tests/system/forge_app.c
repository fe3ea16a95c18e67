/*
 * A rank that finds a decision word which cannot be in its node's segment, by levels.bats:
 *
 *   forge_app status|size     rank 1 writes one in the name of rank 0, its delegate, and calls a barrier; the others wait
 *   forge_app post            rank 1 makes a post for a barrier that cannot be one, and lives on; the
 *                             others call the barrier, and must come through
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/set.h"
#include "ftcoll.h"
#include "node/level.h"

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

int main(int argc, char **argv)
{
    const char *job = getenv("FTCOLL_JOB_SEGMENT");
    struct ftc_segment *segment;
    struct ftc_level *level;
    ftc_comm *world;

    if (argc != 2 || job == NULL || ftc_init(NULL, &world) != FTC_SUCCESS)
        wrong("run it by ftrun");
    bool post = strcmp(argv[1], "post") == 0;
    if (post && ftc_rank(world) != DELEGATE + 1)
        return ftc_barrier(world) == FTC_SUCCESS && ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
    if (ftc_rank(world) != DELEGATE + 1) {
        sleep(LIMIT_S);
        wrong("nobody ended the job");
    }
    if (ftc_segment_attach(&segment, job, true) != FTC_SUCCESS ||
        ftc_level_open(&level, segment, post ? DELEGATE + 1 : DELEGATE) != FTC_SUCCESS)
        wrong("cannot write in the segment");
    forge(level, argv[1]);
    if (post)
        pause();
    int rc = ftc_barrier(world);
    fprintf(stderr, "forge_app: the barrier came through (%d)\n", rc);
    return 98;
}
