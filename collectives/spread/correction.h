/*
 * Correction over the ring of a ballot's positions: to whom one process sends DECIDE, and when it
 * is done (docs/design/broadcast.md, "Correction"; algorithms-notes.md, 2). It knows no positions:
 * every process is named by its distance to the right or to the left. It knows nothing of messages,
 * failures or time.
 *
 * Not thread-safe.
 */
#ifndef FTC_COLLECTIVES_SPREAD_CORRECTION_H
#define FTC_COLLECTIVES_SPREAD_CORRECTION_H

#include <stdbool.h>

#include "base/settings.h"

enum ftc_side { FTC_SIDE_LEFT, FTC_SIDE_RIGHT };

struct ftc_correction_shape {
    enum ftc_correction kind;
    int distance; /* opportunistic: d */
    int f;        /* failure-proof: f */
};

enum ftc_corrector_state {
    FTC_CORRECTOR_OFF, /* not coloured yet, or delivers only */
    /* Failure-proof: coloured by correction; joins when its patience ends. */
    FTC_CORRECTOR_STANDBY,
    FTC_CORRECTOR_ACTIVE,
    FTC_CORRECTOR_PAUSED, /* delayed: has nothing to send until its patience ends */
    FTC_CORRECTOR_DONE,
};

struct ftc_corrector {
    enum ftc_corrector_state state;
    int size;   /* number of positions on the ring */
    int off[2]; /* how far this process has sent to each side */
    /* near[side * room + i]: the distances of the nearest correcting processes heard of on this
     * side, each once, ascending. */
    int *near;
    int room;   /* 1; failure-proof: f + 1 */
    int to_end; /* distance of the last position, to the right */
    /* Delayed: distance to the right of a process that walks to the left and wants an answer; 0:
     * there is none. */
    int answer;
    bool walks;         /* delayed: walks to the left; ring: has sent */
    enum ftc_side turn; /* throttled: the side whose slot is next */
};

/* What the process must do next. */
enum ftc_correction_step {
    FTC_CORRECTION_SEND,  /* send to the process at *distance on *side */
    FTC_CORRECTION_SLOT,  /* send nothing this time: the slot of a finished side */
    FTC_CORRECTION_PAUSE, /* send nothing until something is heard or due */
    FTC_CORRECTION_END,
};

/* `near` has room for 2 * ftc_correction_room() distances, and stays the caller's. `position` is
 * that of this process on the ring. */
int ftc_correction_room(const struct ftc_correction_shape *shape);
void ftc_corrector_reset(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         int position, int size, int *near);

/* This process was coloured, by dissemination or by correction. It starts to correct if `shape`
 * says so. */
void ftc_corrector_begin(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         bool disseminated);

/* There is a correcting process at this distance on this side. `travels`: a correction message says
 * so, which travels along the ring and came from that side. Otherwise it is a message of the
 * dissemination. */
void ftc_corrector_heard(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         enum ftc_side side, int distance, bool travels);

/* The patience has ended. Legal at any time. */
void ftc_corrector_due(struct ftc_corrector *c, const struct ftc_correction_shape *shape);
bool ftc_corrector_awaits(const struct ftc_corrector *c); /* does it want ftc_corrector_due()? */
bool ftc_corrector_wants(const struct ftc_corrector *c);  /* does it want ftc_corrector_next()? */

/* Takes the next step. What it returns counts as done. */
enum ftc_correction_step ftc_corrector_next(struct ftc_corrector *c,
                                            const struct ftc_correction_shape *shape,
                                            enum ftc_side *side, int *distance);

/* The process of the last SEND is known to have failed, and counts as sent to. But with the ring
 * correction this process then sends to the next one. */
void ftc_corrector_pass_over(struct ftc_corrector *c, const struct ftc_correction_shape *shape);

/* Does this process take part in the correction, so that others may rely on what it sends? Its
 * messages say so. */
static inline bool ftc_corrector_takes_part(const struct ftc_corrector *c)
{
    return c->state >= FTC_CORRECTOR_ACTIVE;
}

#endif
