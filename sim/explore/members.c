/* Exploration of the members of one communicator. */
#include <string.h>

#include "base/error.h"
#include "sim/explore/explore.h"
#include "sim/explore/state.h"

static int idle(struct ftc_exploration *x, const struct ftc_state *state,
                struct ftc_explore_event event, bool *idle)
{
    uint32_t step;
    int rc = ftc_state_step(x, state, event, &step);

    *idle = rc == FTC_SUCCESS && x->local.step[step].idle;
    return rc;
}

static struct ftc_digest outcome(const struct ftc_exploration *x, const struct ftc_state *state)
{
    ftc_mask dead = ftc_state_dead(x->n, state);
    struct ftc_digest end[FTC_LOCAL_RANKS + 1] = {{.low = dead}};

    for (int rank = 0; rank < x->n; rank++) {
        if (!ftc_mask_has(dead, rank))
            end[rank + 1] = x->local.state[state->word[rank]].member;
    }
    return ftc_digest_of(end, sizeof(end));
}

static int explain(struct ftc_exploration *x, const struct ftc_explore_event events[], int count)
{
    int rc = ftc_explore_path(x, events, count, &x->result->path);

    if (rc == FTC_SUCCESS && !x->limits->unfenced && x->local.settings.nodes <= 1)
        rc = ftc_explore_replay(x, events, count, &x->result->replay);
    return rc;
}

static size_t report(const struct ftc_exploration *x, struct ftc_explore_result *r)
{
    const struct ftc_local *local = &x->local;

    r->local_states = local->states.count;
    r->local_steps = (uint32_t)local->step_count;
    r->messages = local->messages.count;
    r->decisions = local->decisions.count;
    return ftc_local_bytes(local);
}

static const struct ftc_explore_model members = {.first = ftc_state_first,
                                                 .events = ftc_explore_events,
                                                 .take = ftc_state_take,
                                                 .idle = idle,
                                                 .check_end = ftc_explore_check_end,
                                                 .outcome = outcome,
                                                 .explain = explain,
                                                 .report = report};

int ftc_explore(const struct ftc_member_settings *settings, const struct ftc_program *program,
                const struct ftc_explore_limits *limits, struct ftc_explore_result *result)
{
    int n = settings->ranks;
    struct ftc_exploration x = {.model = &members,
                                .limits = limits,
                                .result = result,
                                .n = n,
                                .length = program->length,
                                .words = n * n + 3 +
                                         (settings->nodes > 1 ? FTC_EXPLORE_BOARD_WORDS : 0)};

    *result = (struct ftc_explore_result){0};
    int rc = ftc_local_init(&x.local, settings, program);
    if (rc == FTC_SUCCESS)
        rc = ftc_explore_search(&x);
    ftc_local_fini(&x.local);
    return rc;
}
