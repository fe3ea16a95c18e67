/* Correction: docs/design/broadcast.md, "Correction". */
#include "collectives/spread/correction.h"

#include <assert.h>

#include "collectives/mutation.h"

int ftc_correction_room(const struct ftc_correction_shape *shape)
{
    return shape->kind == FTC_CORRECTION_FAILURE_PROOF ? shape->f + 1 : 1;
}

void ftc_corrector_reset(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         int position, int size, int *near)
{
    *c = (struct ftc_corrector){
        .size = size,
        .near = near,
        .room = ftc_correction_room(shape),
        .to_end = size - 1 - position,
    };
    for (int i = 0; i < 2 * c->room; i++)
        near[i] = size;
}

/* The distance up to which this process must send to this side: that of the nearest correcting
 * process, or (failure-proof) of the (f+1)-st nearest. */
static int near_of(const struct ftc_corrector *c, enum ftc_side side)
{
    return c->near[(side + 1) * c->room - 1];
}

/* Failure-proof: heard of f + 1 different correcting processes. One of them outlives f deaths. */
static bool heard_enough(const struct ftc_corrector *c)
{
    return near_of(c, FTC_SIDE_LEFT) < c->size;
}

static bool is_checked(enum ftc_correction kind)
{
    return kind == FTC_CORRECTION_CHECKED || kind == FTC_CORRECTION_THROTTLED ||
           kind == FTC_CORRECTION_FAILURE_PROOF;
}

static bool everyone_corrects(enum ftc_correction kind)
{
    return kind == FTC_CORRECTION_OPPORTUNISTIC || kind == FTC_CORRECTION_OPTIMISED ||
           kind == FTC_CORRECTION_RING;
}

void ftc_corrector_begin(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         bool disseminated)
{
    if (shape->kind == FTC_CORRECTION_NONE || c->size < 2)
        return;
    if (disseminated || everyone_corrects(shape->kind))
        c->state = FTC_CORRECTOR_ACTIVE;
    else if (shape->kind == FTC_CORRECTION_FAILURE_PROOF && !FTC_MUTATED(NEVER_JOIN))
        c->state = FTC_CORRECTOR_STANDBY;
}

static enum ftc_side other(enum ftc_side side)
{
    return side == FTC_SIDE_LEFT ? FTC_SIDE_RIGHT : FTC_SIDE_LEFT;
}

static void insert(struct ftc_corrector *c, enum ftc_side side, int distance)
{
    int *near = &c->near[side * c->room];
    int i = 0;

    while (i < c->room && near[i] < distance)
        i++;
    if (i == c->room || near[i] == distance)
        return;
    for (int j = c->room - 1; j > i; j--)
        near[j] = near[j - 1];
    near[i] = distance;
}

/* Opportunistic: how far a process sends to one side. */
static int reach(const struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                 enum ftc_side side)
{
    int left = shape->distance / 2, most = side == FTC_SIDE_LEFT ? left : shape->distance - left;

    return most < c->size - 1 ? most : c->size - 1;
}

/* Optimised: the sender of the message is at this distance on the side `from`, and will go on to
 * all within its reach. This process can leave those beyond itself to it. It can leave nothing else
 * out (broadcast.md says why). */
static void leave_out(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                      enum ftc_side from, int distance)
{
    enum ftc_side to = other(from);
    int covered = reach(c, shape, to) - distance;

    if (covered > c->off[to])
        c->off[to] = covered;
    if (FTC_MUTATED(LEAVE_OUT_WHOLE_SIDE))
        c->off[from] = reach(c, shape, from);
}

/* Have all been sent to between this process and the nearest correcting one on its left? */
static bool gap_closed(const struct ftc_corrector *c)
{
    return c->off[FTC_SIDE_LEFT] + 1 >= near_of(c, FTC_SIDE_LEFT);
}

/* On a ring every process is on both sides. */
void ftc_corrector_heard(struct ftc_corrector *c, const struct ftc_correction_shape *shape,
                         enum ftc_side side, int distance, bool travels)
{
    assert(0 < distance && distance < c->size);
    insert(c, side, distance);
    insert(c, other(side), c->size - distance);
    if (c->state == FTC_CORRECTOR_PAUSED && gap_closed(c))
        c->state = FTC_CORRECTOR_DONE;
    if (!travels)
        return;
    if (shape->kind == FTC_CORRECTION_OPTIMISED)
        leave_out(c, shape, side, distance);
    if (shape->kind == FTC_CORRECTION_DELAYED && side == FTC_SIDE_RIGHT &&
        (c->answer == 0 || distance < c->answer))
        c->answer = distance;
}

void ftc_corrector_due(struct ftc_corrector *c, const struct ftc_correction_shape *shape)
{
    if (c->state == FTC_CORRECTOR_STANDBY)
        c->state = heard_enough(c) ? FTC_CORRECTOR_OFF : FTC_CORRECTOR_ACTIVE;
    if (c->state == FTC_CORRECTOR_PAUSED) {
        assert(shape->kind == FTC_CORRECTION_DELAYED);
        (void)shape;
        c->walks = true;
        c->state = FTC_CORRECTOR_ACTIVE;
    }
}

bool ftc_corrector_awaits(const struct ftc_corrector *c)
{
    return c->state == FTC_CORRECTOR_STANDBY || c->state == FTC_CORRECTOR_PAUSED;
}

bool ftc_corrector_wants(const struct ftc_corrector *c)
{
    return c->state == FTC_CORRECTOR_ACTIVE || (ftc_corrector_takes_part(c) && c->answer > 0);
}

/* --- steps --- */

static bool once_round(const struct ftc_corrector *c)
{
    return c->off[FTC_SIDE_LEFT] + c->off[FTC_SIDE_RIGHT] >= c->size - 1;
}

static enum ftc_side less_advanced(const struct ftc_corrector *c)
{
    return c->off[FTC_SIDE_LEFT] < c->off[FTC_SIDE_RIGHT] ? FTC_SIDE_LEFT : FTC_SIDE_RIGHT;
}

static enum ftc_correction_step send_next(struct ftc_corrector *c, enum ftc_side which,
                                          enum ftc_side *side, int *distance)
{
    *side = which;
    *distance = ++c->off[which];
    return FTC_CORRECTION_SEND;
}

static enum ftc_correction_step next_opportunistic(struct ftc_corrector *c,
                                                   const struct ftc_correction_shape *shape,
                                                   enum ftc_side *side, int *distance)
{
    enum ftc_side which = less_advanced(c);

    if (c->off[which] >= reach(c, shape, which))
        which = other(which);
    if (c->off[which] >= reach(c, shape, which))
        return FTC_CORRECTION_END;
    return send_next(c, which, side, distance);
}

/* This process has sent as far as the nearest correcting process there. One of the two has sent to
 * each process between them. */
static bool finished(const struct ftc_corrector *c, enum ftc_side side)
{
    return c->off[side] >= near_of(c, side);
}

static enum ftc_correction_step next_checked(struct ftc_corrector *c,
                                             const struct ftc_correction_shape *shape,
                                             enum ftc_side *side, int *distance)
{
    enum ftc_side which = less_advanced(c);

    if (once_round(c) || (finished(c, FTC_SIDE_LEFT) && finished(c, FTC_SIDE_RIGHT)))
        return FTC_CORRECTION_END;
    if (shape->kind == FTC_CORRECTION_THROTTLED) {
        which = c->turn;
        c->turn = other(which);
        if (finished(c, which))
            return FTC_CORRECTION_SLOT;
    } else if (finished(c, which)) {
        which = other(which);
    }
    return send_next(c, which, side, distance);
}

static enum ftc_correction_step next_delayed(struct ftc_corrector *c, enum ftc_side *side,
                                             int *distance)
{
    if (c->off[FTC_SIDE_RIGHT] == 0)
        return send_next(c, FTC_SIDE_RIGHT, side, distance);
    if (once_round(c) || gap_closed(c))
        return FTC_CORRECTION_END;
    if (!c->walks)
        return FTC_CORRECTION_PAUSE;
    return send_next(c, FTC_SIDE_LEFT, side, distance);
}

/* The last position does not send to the coordinator. */
static enum ftc_correction_step next_ring(struct ftc_corrector *c, enum ftc_side *side,
                                          int *distance)
{
    if (c->walks || c->off[FTC_SIDE_RIGHT] >= c->to_end)
        return FTC_CORRECTION_END;
    c->walks = true;
    return send_next(c, FTC_SIDE_RIGHT, side, distance);
}

static enum ftc_correction_step next(struct ftc_corrector *c,
                                     const struct ftc_correction_shape *shape, enum ftc_side *side,
                                     int *distance)
{
    if (is_checked(shape->kind))
        return next_checked(c, shape, side, distance);
    if (shape->kind == FTC_CORRECTION_DELAYED)
        return next_delayed(c, side, distance);
    if (shape->kind == FTC_CORRECTION_RING)
        return next_ring(c, side, distance);
    return next_opportunistic(c, shape, side, distance);
}

enum ftc_correction_step ftc_corrector_next(struct ftc_corrector *c,
                                            const struct ftc_correction_shape *shape,
                                            enum ftc_side *side, int *distance)
{
    if (c->answer > 0 && c->state != FTC_CORRECTOR_OFF) {
        *side = FTC_SIDE_RIGHT;
        *distance = c->answer;
        c->answer = 0;
        return FTC_CORRECTION_SEND;
    }
    if (c->state != FTC_CORRECTOR_ACTIVE)
        return FTC_CORRECTION_END;
    enum ftc_correction_step step = next(c, shape, side, distance);
    if (step == FTC_CORRECTION_PAUSE)
        c->state = FTC_CORRECTOR_PAUSED;
    if (step == FTC_CORRECTION_END)
        c->state = FTC_CORRECTOR_DONE;
    return step;
}

void ftc_corrector_pass_over(struct ftc_corrector *c, const struct ftc_correction_shape *shape)
{
    if (shape->kind == FTC_CORRECTION_RING)
        c->walks = false;
}
