/*
 * Fault drills at exact points of the library, for tests. Two variables of the environment:
 *
 *   FTCOLL_TEST_DIE="RANK@POINT[:N][=HOW],..."
 *     Rank RANK ends when it passes POINT for the N-th time (default 1).
 *     HOW is kill (default), stop, exit, abort or segv.
 *   FTCOLL_TEST_DEAF="RANK@MS,..."
 *     Rank RANK takes in each failure MS milliseconds late. The detector may tell the ranks at
 *     different times (agreement.md, Model), but on one node that hardly happens by itself.
 */
#ifndef FTC_RUNTIME_PROCESS_DRILL_H
#define FTC_RUNTIME_PROCESS_DRILL_H

#include <stdbool.h>
#include <stdint.h>

enum ftc_drill_point {
    FTC_DRILL_ATTACHED, /* ftc_init: the segment is mapped, the slot not filled */
    FTC_DRILL_JOINED,   /* ftc_init: about to return */
    FTC_DRILL_CALL,     /* a collective was called, nothing is sent */
    FTC_DRILL_SEND,     /* a message was handed to the transport */
    FTC_DRILL_DELIVER,  /* the rank has the decision and has not passed it on */
    FTC_DRILL_RETURN,   /* about to return from a collective */
    FTC_DRILL_MARK,     /* ftc_finalize: the agreement is over, the mark is not set */
    FTC_DRILL_MARKED,   /* ftc_finalize: the mark is set, but not counted */
    FTC_DRILL_LINGER,   /* ftc_finalize: waiting for the others */
    FTC_DRILL_POINTS
};

struct ftc_drill {
    int at[FTC_DRILL_POINTS];  /* how many passes of the point are left until the death; 0: none */
    int how[FTC_DRILL_POINTS]; /* the signal that ends the process; 0: exit code 3 */
    uint64_t deaf_ns;          /* how late failures are taken in; 0: at once */
    uint64_t heard_ns; /* since when a failure waits; 0: none waits. Reset when they are taken in */
};

/* Reads the variables. FTC_ERR_CONFIG if one is malformed. */
int ftc_drill_init(struct ftc_drill *drill, int rank);
void ftc_drill_happen(int how);

/* To ask when a failure waits to be taken in: is it too early for this rank to do so? */
bool ftc_drill_deaf(struct ftc_drill *drill);

static inline void ftc_drill_pass(struct ftc_drill *drill, enum ftc_drill_point point)
{
    if (drill->at[point] > 0 && --drill->at[point] == 0)
        ftc_drill_happen(drill->how[point]);
}

#endif
