/*
 * Declares a live rank failed, which no launcher would do. This shows what a wrong verdict does to
 * the rank that it hits. ftrun takes back every declaration that is not its own. So this program
 * repeats the declaration until the rank has ended.
 *
 *   declare JOB RANK
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/bell.h"
#include "node/board/board.h"
#include "node/segment/segment.h"

#define LOOKS   10000
#define LOOK_US 1000

int main(int argc, char **argv)
{
    struct ftc_segment *segment;
    struct ftc_failure failure = {
        .cause = FTC_CAUSE_STALLED, .seen_by = -1, .declared_ns = ftc_clock_now()};

    if (argc != 3 || ftc_segment_attach(&segment, argv[1], true) != 0) {
        fprintf(stderr, "declare: %s\n", ftc_last_error());
        return 1;
    }
    struct ftc_bell bell = {.segment = segment, .self = FTC_BELL_LAUNCHER, .fd = -1};
    failure.suspected_ns = failure.declared_ns;
    ftc_segment_declare(segment, atoi(argv[2]), &failure);
    for (int look = 0;
         look < LOOKS && atomic_load(&ftc_segment_standing(segment, atoi(argv[2]))->ended) == 0;
         look++) {
        ftc_segment_restore_failures(segment);
        ftc_bell_ring_all(&bell);
        ftc_board_ring_all(segment);
        usleep(LOOK_US);
    }
    ftc_segment_detach(segment);
    return 0;
}
