/*
 * Correction over the ring of a ballot's positions: whom one process sends DECIDE to, and when it
 * is done (docs/design/broadcast.md, "Correction"; algorithms-notes.md, 2). Position-free:
 * everything is a distance to the right or to the left. It knows nothing of messages, failures or
 * time.
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
    int distance; /* d of opportunistic */
    int f;        /* of failure-proof */
};

enum ftc_corrector_state {
    FTC_CORRECTOR_OFF,     /* not coloured yet, or only delivers */
    FTC_CORRECTOR_STANDBY, /* coloured by correction: joins when its patience ends (failure-proof) */
    FTC_CORRECTOR_ACTIVE,
    FTC_CORRECTOR_PAUSED, /* nothing to send until its patience ends (delayed) */
    FTC_CORRECTOR_DONE,
};

struct ftc_corrector {
    enum ftc_corrector_state state;
    int size;   /* of the ring */
    int off[2]; /* how far this process has sent to each side */
    int *
        near; /* [side * room + i]: distances of the nearest different correcting processes heard of, ascending */
    int room;   /* 1, or f + 1 */
    int to_end; /* distance of the last position, to the right */
    int answer; /* distance to the right of one that walks here and wants an answer (delayed); 0: none */
    bool walks;         /* to the left (delayed); has sent (ring) */
    enum ftc_side turn; /* whose slot is next (throttled) */
};

/* What to do next. */
enum ftc_correction_step {
    FTC_CORRECTION_SEND,  /* to *distance on *side */
    FTC_CORRECTION_SLOT,  /* nothing this time: the slot of a finished side */
    FTC_CORRECTION_PAUSE, /* nothing until something is heard or due */
    FTC_CORRECTION_END,
};

/* `near` has room for 2 * ftc_correction_room() distances and stays the caller's; `position` is
 * that on the ring. */
int ftc_correction_room(const struct ftc_correction_shape *shape);
void ftc_corrector_reset(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         int position, int size, int *near);

/* This process was coloured, by the dissemination or by correction: it begins, or not. */
void ftc_corrector_begin(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         bool disseminated);

/* A correcting process is at this distance on this side; `travels`: by a message of correction that
 * travels along the ring and came from that side, not by one of the dissemination. */
void ftc_corrector_heard(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         enum ftc_side side, int distance, bool travels);

/* The patience has ended; legal at any time. */
void ftc_corrector_due(struct ftc_corrector *c, const struct ftc_correction_shape *shape);
bool ftc_corrector_awaits(const struct ftc_corrector *c); /* does it want ftc_corrector_due()? */
bool ftc_corrector_wants(const struct ftc_corrector *c);  /* does it want ftc_corrector_next()? */

/* Take the next step: what it says counts as done. */
enum ftc_correction_step ftc_corrector_next(struct ftc_corrector *c,
                                            const struct ftc_correction_shape *shape,
                                            enum ftc_side *side, int *distance);

/* The process of the last SEND is known failed: as if sent to, but for the ring, which goes on to
 * the next one. */
void ftc_corrector_pass_over(struct ftc_corrector *c, const struct ftc_correction_shape *shape);

/* Does it take part: would it send for others to rely on? What a message says of its sender. */
static inline bool ftc_corrector_takes_part(const struct ftc_corrector *c)
{
    return c->state >= FTC_CORRECTOR_ACTIVE;
}

#endif
