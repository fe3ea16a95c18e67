/* Prints a path through the states. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "sim/explore/board.h"

/* "0,2", or "none". */
static void print_mask(FILE *out, const char *before, ftc_mask mask)
{
    const char *separator = before;

    for (int rank = 0; rank < FTC_LOCAL_RANKS; rank++) {
        if (!ftc_mask_has(mask, rank))
            continue;
        fprintf(out, "%s%d", separator, rank);
        separator = ",";
    }
    if (mask == 0)
        fprintf(out, "%snone", before);
}

static void print_message(FILE *out, const struct ftc_local_message *message)
{
    fprintf(out, "%s of operation %llu, ballot (%u,%u)", ftc_message_kind_name(message->head.kind),
            (unsigned long long)message->head.op, message->head.ballot.i, message->head.ballot.s);
}

/* Events of two levels: board.h. */
static void print_board_event(FILE *out, const struct ftc_exploration *x,
                              const struct ftc_state *state, struct ftc_explore_event event)
{
    int op = ftc_state_history(x, state, event.rank)->called;

    switch ((enum ftc_explore_kind)event.kind) {
    case FTC_EXPLORE_POST:
        fprintf(out, "rank %d posts for operation %d, %s", event.rank, op,
                ftc_call_kind_name(x->local.program->operation[op].kind));
        break;
    case FTC_EXPLORE_GATHER:
        if (ftc_explore_board_gathered(x, state, event.rank) == FTC_LOCAL_CALL) {
            fprintf(out, "rank %d calls it: its node has called the operation before it",
                    event.rank);
            break;
        }
        fprintf(out, "rank %d has the posts of its node: ", event.rank);
        print_mask(out, "", (ftc_mask)ftc_explore_board_gathered(x, state, event.rank));
        break;
    case FTC_EXPLORE_ADOPT:
        fprintf(out, "rank %d takes the decision of its node", event.rank);
        break;
    case FTC_EXPLORE_SUM:
        fprintf(out, "rank %d sends the sum of its node for operation %d: ", event.rank,
                event.other);
        print_mask(out, "", (ftc_mask)ftc_explore_board_sum(x, state, event.rank, event.other));
        break;
    default: /* WRITE */
        fprintf(out, "rank %d writes the decision word of its node", event.rank);
        break;
    }
}

static void print_event(FILE *out, const struct ftc_exploration *x, const struct ftc_state *state,
                        struct ftc_explore_event event)
{
    const struct ftc_program_operation *operation = x->local.program->operation;

    switch ((enum ftc_explore_kind)event.kind) {
    case FTC_EXPLORE_CALL: {
        int op = ftc_state_history(x, state, event.rank)->called;
        fprintf(out, "rank %d calls operation %d, %s", event.rank, op,
                ftc_call_kind_name(operation[op].kind));
        if (operation[op].root >= 0)
            fprintf(out, " of root %d", operation[op].root);
        break;
    }
    case FTC_EXPLORE_ARRIVE: {
        uint32_t queue = state->word[ftc_state_channel(x->n, event.other, event.rank)];
        fprintf(out, "rank %d receives ", event.rank);
        print_message(out, &x->local.message[x->channels.queue[queue].head]);
        fprintf(out, " from rank %d", event.other);
        break;
    }
    case FTC_EXPLORE_TELL:
        fprintf(out, "rank %d is told that rank %d failed", event.rank, event.other);
        break;
    case FTC_EXPLORE_TIMER:
        fprintf(out, "rank %d: its timer fires", event.rank);
        break;
    case FTC_EXPLORE_POST:
    case FTC_EXPLORE_GATHER:
    case FTC_EXPLORE_ADOPT:
    case FTC_EXPLORE_SUM:
    case FTC_EXPLORE_WRITE:
        print_board_event(out, x, state, event);
        break;
    case FTC_EXPLORE_CRASH:
        fprintf(out, "rank %d %s", event.rank,
                x->limits->unfenced ? "is declared failed but goes on" : "CRASHES");
        break;
    case FTC_EXPLORE_OWN: /* of whole processes alone */
        break;
    case FTC_EXPLORE_CRASH_TELL:
        fprintf(out, "rank %d %s; rank %d is told that rank %d failed", event.other,
                x->limits->unfenced ? "is declared failed but goes on" : "CRASHES", event.rank,
                event.other);
        break;
    }
    fputc('\n', out);
}

static void print_output(FILE *out, const struct ftc_exploration *x, int rank,
                         const struct ftc_local_step *step, uint32_t output)
{
    if (output == FTC_LOCAL_SET_TIMER) {
        fprintf(out, "          rank %d sets its timer\n", rank);
    } else if (output == FTC_LOCAL_DELIVER) {
        const struct ftc_local_delivery *d = &x->local.delivery[step->delivery];
        fprintf(out, "          rank %d delivers operation %d", rank, d->op);
        if (d->agrees) {
            const struct ftc_local_decision *decision = &x->local.decision[d->decision];
            fprintf(out, ": %s, ballot (%u,%u)", ftc_strerror(decision->status), decision->ballot.i,
                    decision->ballot.s);
            print_mask(out, ", failed set ", d->failed);
            if (d->left_out != 0)
                print_mask(out, ", left out ", d->left_out);
        }
        fputc('\n', out);
    } else if (output >= FTC_LOCAL_TAKEN && output < FTC_LOCAL_SET_TIMER) {
        fprintf(out, "          rank %d writes that the sum of operation %d is taken\n", rank,
                (int)(output - FTC_LOCAL_TAKEN));
    } else {
        fprintf(out, "          rank %d sends ", rank);
        print_message(out, &x->local.message[FTC_LOCAL_SENT(output)]);
        fprintf(out, " to rank %d\n", FTC_LOCAL_TO(output));
    }
}

static int print_step(FILE *out, struct ftc_exploration *x, const struct ftc_state *state,
                      struct ftc_explore_event event)
{
    uint32_t index;

    if (event.kind == FTC_EXPLORE_CRASH || event.kind == FTC_EXPLORE_POST ||
        event.kind == FTC_EXPLORE_WRITE)
        return FTC_SUCCESS;
    int rc = ftc_state_step(x, state, event, &index);
    if (rc != FTC_SUCCESS)
        return rc;
    const struct ftc_local_step *step = &x->local.step[index];
    int outputs = event.outputs > 0 ? event.outputs : step->outputs;
    for (int o = 0; o < outputs; o++)
        print_output(out, x, event.rank, step, x->local.output[step->output + (uint32_t)o]);
    if (event.outputs > 0)
        fprintf(out, "          rank %d CRASHES after %d of %d outputs\n", event.rank,
                event.outputs, step->outputs);
    return FTC_SUCCESS;
}

int ftc_explore_path(struct ftc_exploration *x, const struct ftc_explore_event events[], int count,
                     char **text)
{
    struct ftc_state state;
    size_t size;
    FILE *out = open_memstream(text, &size);
    int rc = out != NULL ? FTC_SUCCESS : FTC_ERR_NOMEM;

    ftc_state_first(x, &state);
    for (int e = 0; rc == FTC_SUCCESS && e < count; e++) {
        fprintf(out, "%6d    ", e + 1);
        print_event(out, x, &state, events[e]);
        rc = print_step(out, x, &state, events[e]);
        if (rc == FTC_SUCCESS)
            rc = ftc_state_take(x, &state, events[e]);
    }
    if (out != NULL && fclose(out) != 0)
        rc = FTC_ERR_NOMEM;
    return rc;
}

/* --- spelling out --- */

struct spelling {
    struct ftc_exploration *x;
    struct ftc_state state;
    struct ftc_explore_event *event;
    size_t count, room;
};

static int spell(struct spelling *s, struct ftc_explore_event event)
{
    int rc = ftc_array_grow((void **)&s->event, &s->room, s->count, sizeof(event));

    if (rc != FTC_SUCCESS)
        return rc;
    s->event[s->count++] = event;
    return s->x->model->take(s->x, &s->state, event);
}

static int spell_idle(struct spelling *s, int from, int to)
{
    struct ftc_explore_event event = {
        .kind = FTC_EXPLORE_ARRIVE, .rank = (uint8_t)to, .other = (uint8_t)from};
    const uint32_t *queue = &s->state.word[ftc_state_channel(s->x->n, from, to)];
    bool idle;
    int rc = FTC_SUCCESS;

    while (rc == FTC_SUCCESS && *queue != 0) {
        rc = s->x->model->idle(s->x, &s->state, event, &idle);
        if (rc != FTC_SUCCESS || !idle)
            return rc;
        rc = spell(s, event);
    }
    return rc;
}

static int spell_all_idle(struct spelling *s)
{
    int n = s->x->n, rc = FTC_SUCCESS;

    for (int pair = 0; rc == FTC_SUCCESS && pair < n * n; pair++) {
        int from = pair / n, to = pair % n;
        if (from != to && ftc_state_acts(&s->state, to))
            rc = spell_idle(s, from, to);
    }
    return rc;
}

int ftc_explore_spell_out(struct ftc_exploration *x, struct ftc_explore_event **events, int *count)
{
    struct spelling s = {.x = x};
    int rc = FTC_SUCCESS;

    x->model->first(x, &s.state);
    x->violation[0] = '\0';
    for (int e = 0; rc == FTC_SUCCESS && e < *count; e++) {
        rc = spell(&s, (*events)[e]);
        if (rc == FTC_SUCCESS && x->violation[0] == '\0')
            rc = spell_all_idle(&s);
    }
    free(*events);
    *events = s.event;
    *count = (int)s.count;
    return rc;
}
