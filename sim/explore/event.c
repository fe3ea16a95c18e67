/* Lists the events that can happen in a state. */
#include "include/ftcoll.h"
#include "sim/explore/board.h"

struct events {
    struct ftc_exploration *x;
    const struct ftc_state *state;
    struct ftc_explore_event *event;
    int count;
    /* at least one of them has to happen: it is neither a death nor a step of a dead rank */
    bool must;
};

static void add(struct events *e, enum ftc_explore_kind kind, int rank, int other)
{
    e->event[e->count++] = (struct ftc_explore_event){
        .kind = (uint8_t)kind, .rank = (uint8_t)rank, .other = (uint8_t)other};
}

static bool may_crash(const struct events *e, int rank)
{
    int n = e->x->n;
    ftc_mask dead = ftc_state_dead(n, e->state);

    return ftc_state_crashes(n, e->state) > 0 && !ftc_mask_has(dead, rank) &&
           __builtin_popcount(dead) < n - 1;
}

/* In the full search, add the step once more for each output, except the last, after which the rank
 * may die. */
static int add_step(struct events *e, enum ftc_explore_kind kind, int rank, int other)
{
    uint32_t step;

    add(e, kind, rank, other);
    if (!e->x->limits->plain || e->x->limits->unfenced || !may_crash(e, rank))
        return FTC_SUCCESS;
    struct ftc_explore_event event = e->event[e->count - 1];
    int rc = ftc_state_step(e->x, e->state, event, &step);
    if (rc != FTC_SUCCESS)
        return rc;
    for (int outputs = 1; outputs < e->x->local.step[step].outputs; outputs++) {
        event.outputs = (uint8_t)outputs;
        e->event[e->count++] = event;
    }
    return FTC_SUCCESS;
}

static int add_arrivals(struct events *e, int rank, bool alive)
{
    int n = e->x->n, rc = FTC_SUCCESS;
    ftc_mask dead = ftc_state_dead(n, e->state);

    for (int from = 0; rc == FTC_SUCCESS && from < n; from++) {
        if (from == rank || e->state->word[ftc_state_channel(n, from, rank)] == 0)
            continue;
        e->must |= alive && !ftc_mask_has(dead, from);
        rc = add_step(e, FTC_EXPLORE_ARRIVE, rank, from);
    }
    return rc;
}

static int add_notices(struct events *e, int rank)
{
    ftc_mask untold = ftc_state_untold(e->x->n, e->state, rank);
    int rc = FTC_SUCCESS;

    for (int dead = 0; rc == FTC_SUCCESS && dead < e->x->n; dead++) {
        if (ftc_mask_has(untold, dead))
            rc = add_step(e, FTC_EXPLORE_TELL, rank, dead);
    }
    return rc;
}

static int add_board(struct events *e, int rank, bool alive)
{
    const struct ftc_exploration *x = e->x;
    bool writes = ftc_explore_board_writes(x, e->state, rank),
         adopts = ftc_explore_board_adopts(x, e->state, rank);
    bool posts = ftc_explore_board_posts(x, e->state, rank);
    bool gathers =
        !(adopts && !x->limits->late_look) && ftc_explore_board_gathers(x, e->state, rank);

    e->must |= alive && (writes || adopts || posts || gathers);
    if (writes)
        add(e, FTC_EXPLORE_WRITE, rank, rank);
    if (posts)
        add(e, FTC_EXPLORE_POST, rank, rank);
    int rc = adopts ? add_step(e, FTC_EXPLORE_ADOPT, rank, rank) : FTC_SUCCESS;
    if (rc == FTC_SUCCESS && gathers)
        rc = add_step(e, FTC_EXPLORE_GATHER, rank, rank);
    for (int op = 0; rc == FTC_SUCCESS && op < x->length; op++) {
        bool sums = ftc_explore_board_sums(x, e->state, rank, op);
        e->must |= alive && sums;
        if (sums)
            rc = add_step(e, FTC_EXPLORE_SUM, rank, op);
    }
    return rc;
}

static int add_inputs(struct events *e, int rank)
{
    int n = e->x->n;
    bool alive = !ftc_mask_has(ftc_state_dead(n, e->state), rank);
    const struct ftc_local_history *h = ftc_state_history(e->x, e->state, rank);
    bool calls = !h->under_way && h->called < e->x->length &&
                 !e->x->local.state[e->state->word[rank]].held_back &&
                 !ftc_explore_board_takes(e->x, e->state, rank);
    bool timer = ftc_mask_has(ftc_state_timers(n, e->state), rank);
    int rc = add_board(e, rank, alive);

    if (rc != FTC_SUCCESS || ftc_explore_board_busy(e->x, e->state, rank))
        return rc;
    e->must |= alive && (calls || timer || ftc_state_untold(n, e->state, rank) != 0);
    if (calls)
        rc = add_step(e, FTC_EXPLORE_CALL, rank, rank);
    if (rc == FTC_SUCCESS)
        rc = add_arrivals(e, rank, alive);
    if (rc == FTC_SUCCESS)
        rc = add_notices(e, rank);
    if (rc == FTC_SUCCESS && timer)
        rc = add_step(e, FTC_EXPLORE_TIMER, rank, rank);
    return rc;
}

static void add_crashes(struct events *e, int rank)
{
    if (!may_crash(e, rank))
        return;
    if (e->x->limits->plain) {
        add(e, FTC_EXPLORE_CRASH, rank, rank);
        return;
    }
    for (int observer = 0; observer < e->x->n; observer++) {
        if (observer != rank && ftc_state_acts(e->state, observer) &&
            !ftc_explore_board_busy(e->x, e->state, observer))
            add(e, FTC_EXPLORE_CRASH_TELL, observer, rank);
    }
}

int ftc_explore_events(struct ftc_exploration *x, const struct ftc_state *state,
                       struct ftc_explore_event events[], int *count, bool *terminal)
{
    struct events e = {.x = x, .state = state, .event = events};
    int rc = FTC_SUCCESS;

    for (int rank = 0; rc == FTC_SUCCESS && rank < x->n; rank++) {
        if (ftc_state_acts(state, rank))
            rc = add_inputs(&e, rank);
    }
    for (int rank = 0; rank < x->n; rank++)
        add_crashes(&e, rank);
    *count = e.count;
    *terminal = !e.must;
    return rc;
}
