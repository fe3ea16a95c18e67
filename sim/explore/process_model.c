/*
 * Exploration of whole processes with several communicators: global states, and the events between
 * them. A state is laid out as one of members (state.h). Behind that it has a word for each rank:
 * what the judge noted about a dead rank whose messages are still on the way, its number + 1.
 */
#include <stdlib.h>

#include "base/error.h"
#include "sim/explore/process.h"
#include "sim/explore/state.h"

static uint32_t *dead_notes(int n, struct ftc_state *state, int rank)
{
    return &state->word[n * n + 3 + rank];
}

/* --- events of a state --- */

struct events {
    struct ftc_exploration *x;
    const struct ftc_state *state;
    struct ftc_explore_event *event;
    int count;
    bool must; /* at least one of them has to happen: it is no death, and no message of the dead */
};

static void add(struct events *e, enum ftc_explore_kind kind, int rank, int other, bool must)
{
    e->event[e->count++] = (struct ftc_explore_event){
        .kind = (uint8_t)kind, .rank = (uint8_t)rank, .other = (uint8_t)other};
    e->must |= must;
}

static void add_inputs(struct events *e, int rank)
{
    int n = e->x->n;
    uint8_t own = e->x->processes->state[e->state->word[rank]].own;
    ftc_mask untold = ftc_state_untold(n, e->state, rank);

    for (int event = 0; event < FTC_COMMS_OWNS; event++)
        if (ftc_mask_has(own, event))
            add(e, FTC_EXPLORE_OWN, rank, event, true);
    for (int from = 0; from < n; from++)
        if (from != rank && e->state->word[ftc_state_channel(n, from, rank)] != 0)
            add(e, FTC_EXPLORE_ARRIVE, rank, from, ftc_state_acts(e->state, from));
    for (int dead = 0; dead < n; dead++)
        if (ftc_mask_has(untold, dead))
            add(e, FTC_EXPLORE_TELL, rank, dead, true);
}

static void add_crashes(struct events *e, int rank)
{
    int n = e->x->n;

    if (ftc_state_crashes(n, e->state) == 0 ||
        __builtin_popcount(ftc_state_dead(n, e->state)) == n - 1)
        return;
    if (e->x->limits->plain)
        add(e, FTC_EXPLORE_CRASH, rank, rank, false);
    for (int observer = 0; observer < n && !e->x->limits->plain; observer++)
        if (observer != rank && ftc_state_acts(e->state, observer))
            add(e, FTC_EXPLORE_CRASH_TELL, observer, rank, false);
}

static int events(struct ftc_exploration *x, const struct ftc_state *state,
                  struct ftc_explore_event events[], int *count, bool *terminal)
{
    struct events e = {.x = x, .state = state, .event = events};

    for (int rank = 0; rank < x->n; rank++)
        if (ftc_state_acts(state, rank))
            add_inputs(&e, rank);
    for (int rank = 0; rank < x->n; rank++)
        if (ftc_state_acts(state, rank))
            add_crashes(&e, rank);
    *count = e.count;
    *terminal = !e.must;
    return FTC_SUCCESS;
}

/* --- taking events --- */

static void first(const struct ftc_exploration *x, struct ftc_state *state)
{
    *state = (struct ftc_state){0};
    for (int rank = 0; rank < x->n; rank++)
        state->word[rank] = x->processes->first[rank];
    *ftc_state_flags(x->n, state) = (uint32_t)x->limits->crashes << 16;
}

/* The message that an event takes. NULL: it takes none. */
static const struct ftc_process_message *message_of(const struct ftc_exploration *x,
                                                    const struct ftc_state *state,
                                                    struct ftc_explore_event event, uint32_t *found)
{
    if (event.kind != FTC_EXPLORE_ARRIVE)
        return NULL;
    uint32_t queue = state->word[ftc_state_channel(x->n, event.other, event.rank)];
    *found = x->channels.queue[queue].head;
    return &x->processes->message[*found];
}

static uint32_t input_of(const struct ftc_exploration *x, const struct ftc_state *state,
                         struct ftc_explore_event event)
{
    uint32_t message;

    if (message_of(x, state, event, &message) != NULL)
        return FTC_PROCESS_MESSAGE + message;
    return event.kind == FTC_EXPLORE_OWN ? FTC_PROCESS_OWN + (uint32_t)event.other
                                         : FTC_PROCESS_NOTICE + (uint32_t)event.other;
}

static uint32_t notes_of(const struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    uint32_t noted = state->word[x->n * x->n + 3 + rank]; /* 0 gives FTC_TABLE_NONE */

    return ftc_state_acts(state, rank) ? x->processes->state[state->word[rank]].notes : noted - 1;
}

/* What the judge says to the step, among the others as they are. */
static int judge(struct ftc_exploration *x, const struct ftc_state *state,
                 struct ftc_explore_event event, const struct ftc_process_step *step)
{
    uint32_t found, own = state->word[event.rank];
    struct ftc_process_others others = {.dead = ftc_state_dead(x->n, state)};
    const struct ftc_process_message *message = message_of(x, state, event, &found);
    const char *text;

    for (int rank = 0; rank < x->n; rank++)
        others.notes[rank] = rank == event.rank ? 0 : notes_of(x, state, rank);
    bool foreign = message != NULL && !message->word &&
                   ftc_processes_foreign(x->processes, x->processes->state[own].notes,
                                         others.notes[event.other], message->number);
    if (!step->judged && !foreign)
        return FTC_SUCCESS;
    int rc = ftc_processes_judge(x->processes, own, input_of(x, state, event), &others, &text);
    if (rc == FTC_SUCCESS && text != NULL)
        ftc_explore_violate(x, "%s", text);
    return rc;
}

static int send(struct ftc_exploration *x, struct ftc_state *state, int rank,
                const struct ftc_process_step *step)
{
    int rc = FTC_SUCCESS;

    for (uint32_t o = step->output; rc == FTC_SUCCESS && o < step->output + step->outputs; o++) {
        uint32_t output = x->processes->output[o];
        int to = FTC_LOCAL_TO(output);
        if (ftc_state_acts(state, to))
            rc = ftc_channels_append(&x->channels, &state->word[ftc_state_channel(x->n, rank, to)],
                                     FTC_LOCAL_SENT(output));
    }
    return rc;
}

static int take_step(struct ftc_exploration *x, struct ftc_state *state,
                     struct ftc_explore_event event)
{
    uint32_t index;
    int rc = ftc_processes_learn(x->processes, state->word[event.rank], input_of(x, state, event),
                                 &index);

    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_process_step step = x->processes->step[index];
    if (step.violation != FTC_TABLE_NONE)
        ftc_explore_violate(x, "%s", x->processes->violation[step.violation]);
    else
        rc = judge(x, state, event, &step);
    ftc_state_consume(x, state, event);
    if (rc == FTC_SUCCESS)
        rc = send(x, state, event.rank, &step);
    state->word[event.rank] = step.to;
    return rc;
}

static void crash(const struct ftc_exploration *x, struct ftc_state *state, int rank)
{
    uint32_t notes = x->processes->state[state->word[rank]].notes;

    ftc_state_crash(x, state, rank);
    *dead_notes(x->n, state, rank) = notes + 1;
}

/* What was noted about a dead rank is for messages that it has sent. */
static void tidy(const struct ftc_exploration *x, struct ftc_state *state)
{
    for (int rank = 0; rank < x->n; rank++) {
        bool sent = false;
        for (int to = 0; to < x->n; to++)
            sent |= to != rank && state->word[ftc_state_channel(x->n, rank, to)] != 0;
        if (!sent)
            *dead_notes(x->n, state, rank) = 0;
    }
}

static int take(struct ftc_exploration *x, struct ftc_state *state, struct ftc_explore_event event)
{
    int rc = FTC_SUCCESS;

    x->violation[0] = '\0';
    if (event.kind == FTC_EXPLORE_CRASH)
        crash(x, state, event.rank);
    if (event.kind == FTC_EXPLORE_CRASH_TELL)
        crash(x, state, event.other);
    if (event.kind != FTC_EXPLORE_CRASH)
        rc = take_step(x, state, event);
    if (rc == FTC_SUCCESS && x->violation[0] == '\0' && !x->limits->plain &&
        event.kind != FTC_EXPLORE_CRASH)
        rc = ftc_state_skip_around(x, state, event.rank);
    tidy(x, state);
    return rc;
}

static int idle(struct ftc_exploration *x, const struct ftc_state *state,
                struct ftc_explore_event event, bool *idle)
{
    uint32_t index;
    int rc = ftc_processes_learn(x->processes, state->word[event.rank], input_of(x, state, event),
                                 &index);

    *idle = rc == FTC_SUCCESS && x->processes->step[index].idle;
    return rc;
}

/* --- the end --- */

static void check_end(struct ftc_exploration *x, const struct ftc_state *state)
{
    const char *text = NULL;

    for (int rank = 0; rank < x->n && text == NULL; rank++) {
        if (!ftc_state_acts(state, rank))
            continue;
        if (ftc_processes_judge_end(x->processes, state->word[rank], &text) != FTC_SUCCESS)
            text = "no memory to judge the end";
    }
    if (text != NULL)
        ftc_explore_violate(x, "%s", text);
}

static struct ftc_digest outcome(const struct ftc_exploration *x, const struct ftc_state *state)
{
    struct ftc_digest end[FTC_LOCAL_RANKS + 1] = {{.low = ftc_state_dead(x->n, state)}};

    for (int rank = 0; rank < x->n; rank++)
        if (ftc_state_acts(state, rank))
            end[rank + 1] = x->processes->states.digest[state->word[rank]];
    return ftc_digest_of(end, sizeof(end));
}

static size_t report(const struct ftc_exploration *x, struct ftc_explore_result *r)
{
    const struct ftc_processes *p = x->processes;

    r->local_states = p->states.count;
    r->local_steps = (uint32_t)p->step_count;
    r->messages = p->messages.count;
    r->verdicts = (uint32_t)p->verdicts.count;
    return ftc_processes_bytes(p);
}

/* --- counter-examples --- */

static void play(struct ftc_comms_world *w, struct ftc_explore_event event)
{
    int source = ftc_comms_source_own(w, event.rank, event.other);

    w->random = 0; /* as it was learned */
    if (event.kind == FTC_EXPLORE_CRASH || event.kind == FTC_EXPLORE_CRASH_TELL)
        ftc_comms_die(w, event.kind == FTC_EXPLORE_CRASH ? event.rank : event.other);
    if (event.kind == FTC_EXPLORE_CRASH)
        return;
    if (event.kind == FTC_EXPLORE_ARRIVE)
        source = ftc_comms_source_arrival(w, event.other, event.rank);
    else if (event.kind != FTC_EXPLORE_OWN)
        source = ftc_comms_source_notice(w, event.rank, event.other);
    ftc_comms_happen(w, source);
}

/* Plays the events in a world where all processes live together, as a run of a storm. */
static int explain(struct ftc_exploration *x, const struct ftc_explore_event events[], int count)
{
    struct ftc_comms_sums sums = {0};
    size_t size;
    FILE *out = open_memstream(&x->result->path, &size);

    if (out == NULL)
        return FTC_ERR_NOMEM;
    struct ftc_comms_world *w = ftc_comms_world_new(x->processes->story, &sums, out);
    for (int rank = 0; rank < x->n; rank++)
        ftc_comms_process_new(w, rank);
    for (int e = 0; e < count; e++)
        play(w, events[e]);
    for (int rank = 0; rank < x->n; rank++)
        ftc_comms_process_free(w, rank);
    free(w);
    return fclose(out) == 0 ? FTC_SUCCESS : FTC_ERR_NOMEM;
}

/* --- the search --- */

static const struct ftc_explore_model processes = {.first = first,
                                                   .events = events,
                                                   .take = take,
                                                   .idle = idle,
                                                   .check_end = check_end,
                                                   .outcome = outcome,
                                                   .explain = explain,
                                                   .report = report};

int ftc_explore_communicators(const struct ftc_comms_story *story,
                              const struct ftc_explore_limits *limits,
                              struct ftc_explore_result *result)
{
    struct ftc_processes all;
    int n = story->settings.ranks;
    struct ftc_exploration x = {.model = &processes,
                                .limits = limits,
                                .result = result,
                                .processes = &all,
                                .n = n,
                                .length = story->items,
                                .words = n * n + 3 + n};

    *result = (struct ftc_explore_result){0};
    int rc = ftc_processes_init(&all, story);
    if (rc == FTC_SUCCESS)
        rc = ftc_explore_search(&x);
    ftc_processes_fini(&all);
    return rc;
}
