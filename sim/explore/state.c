/* Takes events: goes from one global state to the next. */
#include "sim/explore/state.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "sim/explore/board.h"

/* --- writing --- */

static void set_untold(int n, struct ftc_state *state, int observer, ftc_mask mask)
{
    uint32_t *word = &state->word[n * n + observer / 4];
    int shift = observer % 4 * 8;

    *word = (*word & ~((uint32_t)0xff << shift)) | (uint32_t)mask << shift;
}

static void set_timer(int n, struct ftc_state *state, int rank, bool on)
{
    uint32_t bit = (uint32_t)1 << (8 + rank);

    *ftc_state_flags(n, state) =
        on ? *ftc_state_flags(n, state) | bit : *ftc_state_flags(n, state) & ~bit;
}

/* The rank takes no step any more, and the messages on the way to it vanish. */
static void stop(const struct ftc_exploration *x, struct ftc_state *state, int rank)
{
    ftc_explore_board_dies(x, state, rank);
    state->word[rank] = FTC_STATE_GONE;
    for (int other = 0; other < x->n; other++) {
        if (other != rank)
            state->word[ftc_state_channel(x->n, other, rank)] = 0;
    }
    set_untold(x->n, state, rank, 0);
    set_timer(x->n, state, rank, false);
}

/* The rank is declared failed. Without fencing it goes on nevertheless. */
void ftc_state_crash(const struct ftc_exploration *x, struct ftc_state *state, int rank)
{
    int n = x->n;
    ftc_mask bit = (ftc_mask)(1u << rank);

    assert(ftc_state_crashes(n, state) > 0 && !ftc_mask_has(ftc_state_dead(n, state), rank));
    *ftc_state_flags(n, state) -= (uint32_t)1 << 16;
    *ftc_state_flags(n, state) |= bit;
    if (!x->limits->unfenced)
        stop(x, state, rank);
    for (int other = 0; other < n; other++) {
        if (other != rank && ftc_state_acts(state, other))
            set_untold(n, state, other, ftc_state_untold(n, state, other) | bit);
    }
}

void ftc_state_first(const struct ftc_exploration *x, struct ftc_state *state)
{
    *state = (struct ftc_state){0};
    memcpy(state->word, x->local.first, (size_t)x->n * sizeof(uint32_t));
    *ftc_state_flags(x->n, state) = (uint32_t)x->limits->crashes << 16;
}

/* --- steps of members --- */

static uint32_t input_of(const struct ftc_exploration *x, const struct ftc_state *state,
                         struct ftc_explore_event event)
{
    switch ((enum ftc_explore_kind)event.kind) {
    case FTC_EXPLORE_CALL:
    case FTC_EXPLORE_POST: /* the call of a reduce whose senders go on */
        return FTC_LOCAL_CALL;
    case FTC_EXPLORE_TIMER:
        return FTC_LOCAL_TIMER;
    case FTC_EXPLORE_GATHER:
        return ftc_explore_board_gathered(x, state, event.rank);
    case FTC_EXPLORE_ADOPT:
        return ftc_explore_board_adopted(x, state, event.rank);
    case FTC_EXPLORE_SUM:
        return ftc_explore_board_sum(x, state, event.rank, event.other);
    case FTC_EXPLORE_ARRIVE: {
        uint32_t queue = state->word[ftc_state_channel(x->n, event.other, event.rank)];
        return FTC_LOCAL_MESSAGE + x->channels.queue[queue].head;
    }
    default:
        return FTC_LOCAL_NOTICE + (uint32_t)event.other;
    }
}

int ftc_state_step(struct ftc_exploration *x, const struct ftc_state *state,
                   struct ftc_explore_event event, uint32_t *step)
{
    uint32_t input = input_of(x, state, event);

    *step = ftc_local_find(&x->local, state->word[event.rank], input);
    return *step != FTC_TABLE_NONE
               ? FTC_SUCCESS
               : ftc_local_learn(&x->local, state->word[event.rank], input, step);
}

void ftc_state_consume(const struct ftc_exploration *x, struct ftc_state *state,
                       struct ftc_explore_event event)
{
    int n = x->n;

    if (event.kind == FTC_EXPLORE_ARRIVE) {
        uint32_t *queue = &state->word[ftc_state_channel(n, event.other, event.rank)];
        *queue = x->channels.queue[*queue].rest;
    } else if (event.kind == FTC_EXPLORE_TIMER) {
        set_timer(n, state, event.rank, false);
    } else if (event.kind == FTC_EXPLORE_TELL || event.kind == FTC_EXPLORE_CRASH_TELL) {
        ftc_mask told = (ftc_mask)(1u << event.other);
        set_untold(n, state, event.rank, ftc_state_untold(n, state, event.rank) & (ftc_mask)~told);
    }
}

static int put_out(struct ftc_exploration *x, struct ftc_state *state, int rank,
                   const struct ftc_local_step *step, uint32_t output)
{
    if (output == FTC_LOCAL_SET_TIMER) {
        set_timer(x->n, state, rank, true);
    } else if (output == FTC_LOCAL_DELIVER) {
        ftc_explore_check_delivery(x, state, rank, &x->local.delivery[step->delivery], step->to);
    } else if (output >= FTC_LOCAL_TAKEN) {
        ftc_explore_board_taken(x, state, rank, (int)(output - FTC_LOCAL_TAKEN));
    } else if (ftc_state_acts(state, FTC_LOCAL_TO(output))) {
        uint32_t *queue = &state->word[ftc_state_channel(x->n, rank, FTC_LOCAL_TO(output))];
        return ftc_channels_append(&x->channels, queue, FTC_LOCAL_SENT(output));
    }
    return FTC_SUCCESS;
}

static int put_out_all(struct ftc_exploration *x, struct ftc_state *state, int rank,
                       const struct ftc_local_step *step, int outputs)
{
    int rc = FTC_SUCCESS;

    for (int o = 0; rc == FTC_SUCCESS && o < outputs; o++)
        rc = put_out(x, state, rank, step, x->local.output[step->output + (uint32_t)o]);
    return rc;
}

/* Forget the history of operations that every rank that takes steps has delivered. No check looks
 * at it any more. */
static int forget(struct ftc_exploration *x, struct ftc_state *state)
{
    int keep = x->local.settings.levels_plain ? 3 : 1; /* S7 looks at two operations more */
    int least = x->length, rc = FTC_SUCCESS;

    if (x->limits->plain)
        return FTC_SUCCESS;
    for (int rank = 0; rank < x->n; rank++) {
        if (!ftc_state_acts(state, rank))
            continue;
        const struct ftc_local_history *h = ftc_state_history(x, state, rank);
        int delivered = h->called - h->under_way;
        least = delivered < least ? delivered : least;
    }
    if (x->local.settings.nodes >
        1) /* a check compares the posts of dead ranks with the operation before */
        least = least > keep ? least - keep : 0;
    for (int rank = 0; rc == FTC_SUCCESS && rank < x->n; rank++) {
        if (ftc_state_acts(state, rank))
            rc = ftc_local_forget(&x->local, &state->word[rank], least);
    }
    return rc;
}

static int take_step(struct ftc_exploration *x, struct ftc_state *state,
                     struct ftc_explore_event event)
{
    int rank = event.rank;
    bool alive = !ftc_mask_has(ftc_state_dead(x->n, state), rank);
    uint32_t index;
    int called = ftc_state_history(x, state, rank)->called;
    int rc = ftc_state_step(x, state, event, &index);

    if (rc != FTC_SUCCESS)
        return rc;
    const struct ftc_local_step *step = &x->local.step[index];
    if (event.kind == FTC_EXPLORE_SUM)
        ftc_explore_board_sent(x, state, rank, event.other);
    ftc_state_consume(x, state, event);
    if (alive && step->violation != FTC_TABLE_NONE)
        ftc_explore_violate(x, "%s", x->local.violation[step->violation]);
    rc = put_out_all(x, state, rank, step, event.outputs > 0 ? event.outputs : step->outputs);
    if (event.outputs > 0) {
        ftc_state_crash(x, state, rank);
        return rc;
    }
    state->word[rank] = step->to;
    if (step->fenced)
        stop(x, state, rank);
    else if (alive)
        ftc_explore_check_known(x, state, rank);
    if (x->local.state[step->to].history.called > called && alive)
        ftc_explore_check_call(x, state, rank);
    if (step->delivery != FTC_TABLE_NONE && event.kind != FTC_EXPLORE_ADOPT && alive)
        ftc_explore_board_delivered(x, state, rank, &x->local.delivery[step->delivery]);
    return rc;
}

/* --- inputs that change nothing --- */

static int skip_idle(struct ftc_exploration *x, struct ftc_state *state,
                     struct ftc_explore_event event, bool *idle)
{
    int rc = x->model->idle(x, state, event, idle);

    if (rc == FTC_SUCCESS && *idle)
        ftc_state_consume(x, state, event);
    return rc;
}

static int skip_messages(struct ftc_exploration *x, struct ftc_state *state, int from, int to)
{
    struct ftc_explore_event event = {
        .kind = FTC_EXPLORE_ARRIVE, .rank = (uint8_t)to, .other = (uint8_t)from};
    const uint32_t *queue = &state->word[ftc_state_channel(x->n, from, to)];
    bool idle = true;
    int rc = FTC_SUCCESS;

    while (rc == FTC_SUCCESS && idle && *queue != 0)
        rc = skip_idle(x, state, event, &idle);
    return rc;
}

static int skip_notices(struct ftc_exploration *x, struct ftc_state *state, int observer)
{
    ftc_mask untold = ftc_state_untold(x->n, state, observer);
    bool idle = false;
    int rc = FTC_SUCCESS;

    for (int dead = 0; rc == FTC_SUCCESS && dead < x->n; dead++) {
        struct ftc_explore_event event = {
            .kind = FTC_EXPLORE_TELL, .rank = (uint8_t)observer, .other = (uint8_t)dead};
        if (ftc_mask_has(untold, dead))
            rc = skip_idle(x, state, event, &idle);
    }
    return rc;
}

/* Only its own inputs, and the first messages that it sent, may have become idle. */
int ftc_state_skip_around(struct ftc_exploration *x, struct ftc_state *state, int rank)
{
    int rc = FTC_SUCCESS;

    for (int other = 0; rc == FTC_SUCCESS && other < x->n; other++) {
        if (other != rank && ftc_state_acts(state, rank))
            rc = skip_messages(x, state, other, rank);
        if (other != rank && rc == FTC_SUCCESS && ftc_state_acts(state, other))
            rc = skip_messages(x, state, rank, other);
    }
    if (rc != FTC_SUCCESS || !ftc_state_acts(state, rank))
        return rc;
    return skip_notices(x, state, rank);
}

/* --- events --- */

int ftc_state_take(struct ftc_exploration *x, struct ftc_state *state,
                   struct ftc_explore_event event)
{
    int rc = FTC_SUCCESS;

    x->violation[0] = '\0';
    if (event.kind == FTC_EXPLORE_CRASH) {
        ftc_state_crash(x, state, event.rank);
        return forget(x, state);
    }
    if (event.kind == FTC_EXPLORE_CRASH_TELL)
        ftc_state_crash(x, state, event.other);
    bool goes_on =
        event.kind == FTC_EXPLORE_POST && ftc_explore_board_goes_on(x, state, event.rank);
    /* after a CALL only the number of calls is counted: the operation does not use the board */
    if (event.kind == FTC_EXPLORE_POST ||
        (event.kind == FTC_EXPLORE_CALL && x->local.settings.nodes > 1))
        ftc_explore_board_post(x, state, event.rank);
    if (event.kind == FTC_EXPLORE_WRITE)
        ftc_explore_board_write(x, state, event.rank);
    else if (event.kind != FTC_EXPLORE_POST || goes_on)
        rc = take_step(x, state, event);
    ftc_explore_board_tidy(x, state);
    if (rc == FTC_SUCCESS)
        rc = forget(x, state);
    if (rc == FTC_SUCCESS && x->violation[0] == '\0' && !x->limits->plain)
        rc = ftc_state_skip_around(x, state, event.rank);
    return rc;
}
