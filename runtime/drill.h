/*
 * Fault drills at exact points of the library, for tests:
 * FTCOLL_TEST_DIE="RANK@POINT[:N][=HOW],..." ends rank RANK when it passes POINT for the N-th time
 * (default 1). HOW: kill (default), stop, exit, abort, segv. FTCOLL_TEST_DEAF="RANK@MS,..." makes a
 * rank take in each failure MS milliseconds late: the detector may tell at different times
 * (agreement.md, Model), which on one node it hardly does by itself.
 */
#ifndef FTC_RUNTIME_DRILL_H
#define FTC_RUNTIME_DRILL_H

#include <stdbool.h>
#include <stdint.h>

enum ftc_drill_point {
    FTC_DRILL_ATTACHED, /* ftc_init: the segment is mapped, the slot not filled */
    FTC_DRILL_JOINED,   /* ftc_init: about to return */
    FTC_DRILL_CALL,     /* a collective was called, nothing sent */
    FTC_DRILL_SEND,     /* a message was handed to the transport */
    FTC_DRILL_DELIVER,  /* decided or received the decision, not passed on */
    FTC_DRILL_RETURN,   /* about to return from a collective */
    FTC_DRILL_MARK,     /* ftc_finalize: the barrier is done, the mark not set */
    FTC_DRILL_MARKED,   /* ftc_finalize: the mark is set, not counted */
    FTC_DRILL_LINGER,   /* ftc_finalize: waiting for the others */
    FTC_DRILL_POINTS
};

struct ftc_drill {
    int at[FTC_DRILL_POINTS];  /* passes left until it happens; 0: never */
    int how[FTC_DRILL_POINTS]; /* a signal, 0: exit(3) */
    uint64_t deaf_ns;          /* how late failures are taken in; 0: at once */
    uint64_t heard_ns; /* since when one waits; 0: none does; reset when they are taken in */
};

/* Read the variables; FTC_ERR_CONFIG if one is malformed. */
int ftc_drill_init(struct ftc_drill *drill, int rank);
void ftc_drill_happen(int how);

/* Failures wait to be taken in: is it too early for this rank? */
bool ftc_drill_deaf(struct ftc_drill *drill);

static inline void ftc_drill_pass(struct ftc_drill *drill, enum ftc_drill_point point)
{
    if (drill->at[point] > 0 && --drill->at[point] == 0)
        ftc_drill_happen(drill->how[point]);
}

#endif
