/*
 * Turns a counter-example into a schedule of a cluster (sim/model/schedule.h), so that `ftcoll-sim
 * replay` can show it. It walks the path once more to count outputs and messages. A rank that
 * crashes does so after its last output. Of the messages that it sent, only those arrive that
 * arrived on the path.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/explore/state.h"
#include "sim/model/schedule.h"
#include "sim/options.h"

struct replay {
    struct ftc_exploration *x;
    struct ftc_state state;
    struct ftc_cluster_event *event;
    size_t count, room;
    struct ftc_schedule schedule;
    int outputs[FTC_LOCAL_RANKS];
    int sent[FTC_LOCAL_RANKS][FTC_LOCAL_RANKS], arrived[FTC_LOCAL_RANKS][FTC_LOCAL_RANKS];
};

static int no_memory(void)
{
    return ftc_error_set(FTC_ERR_NOMEM, "no memory for the schedule of the counter-example");
}

static int add_event(struct replay *r, struct ftc_explore_event event)
{
    static const enum ftc_cluster_event_kind classes[] = {
        [FTC_EXPLORE_CALL] = FTC_CLUSTER_CALL,     [FTC_EXPLORE_ARRIVE] = FTC_CLUSTER_ARRIVAL,
        [FTC_EXPLORE_TELL] = FTC_CLUSTER_NOTICE,   [FTC_EXPLORE_TIMER] = FTC_CLUSTER_TIMER,
        [FTC_EXPLORE_CRASH] = FTC_CLUSTER_CLASSES, [FTC_EXPLORE_CRASH_TELL] = FTC_CLUSTER_NOTICE,
    };
    struct ftc_cluster_event c = {.kind = classes[event.kind], .a = event.rank, .b = event.other};

    if (event.kind == FTC_EXPLORE_ARRIVE) {
        c.a = event.other;
        c.b = event.rank;
        r->arrived[event.other][event.rank]++;
    }
    if (c.kind == FTC_CLUSTER_CLASSES)
        return FTC_SUCCESS;
    int rc = ftc_array_grow((void **)&r->event, &r->room, r->count, sizeof(c));
    if (rc == FTC_SUCCESS)
        r->event[r->count++] = c;
    return rc;
}

static void count_outputs(struct replay *r, const struct ftc_local_step *step, int rank,
                          int outputs)
{
    for (int o = 0; o < outputs; o++) {
        uint32_t output = r->x->local.output[step->output + (uint32_t)o];
        if (output == FTC_LOCAL_SET_TIMER)
            continue;
        r->outputs[rank]++;
        if (output != FTC_LOCAL_DELIVER)
            r->sent[rank][FTC_LOCAL_TO(output)]++;
    }
}

static int take(struct replay *r, struct ftc_explore_event event)
{
    uint32_t index;
    int rc = add_event(r, event);

    if (rc == FTC_SUCCESS && event.kind != FTC_EXPLORE_CRASH) {
        rc = ftc_state_step(r->x, &r->state, event, &index);
        if (rc == FTC_SUCCESS) {
            const struct ftc_local_step *step = &r->x->local.step[index];
            count_outputs(r, step, event.rank, event.outputs > 0 ? event.outputs : step->outputs);
        }
    }
    return rc == FTC_SUCCESS ? ftc_state_take(r->x, &r->state, event) : rc;
}

static int walk(struct replay *r, const struct ftc_explore_event events[], int count)
{
    int rc = FTC_SUCCESS;

    ftc_state_first(r->x, &r->state);
    for (int e = 0; rc == FTC_SUCCESS && e < count; e++) {
        rc = take(r, events[e]);
    }
    return rc;
}

static int add_deaths(struct replay *r)
{
    ftc_mask dead = ftc_state_dead(r->x->n, &r->state);
    struct ftc_schedule *s = &r->schedule;

    s->crash = calloc(FTC_LOCAL_RANKS, sizeof(*s->crash));
    s->loss = calloc((size_t)FTC_LOCAL_RANKS * FTC_LOCAL_RANKS, sizeof(*s->loss));
    if (s->crash == NULL || s->loss == NULL)
        return no_memory();
    for (int from = 0; from < r->x->n; from++) {
        if (!ftc_mask_has(dead, from))
            continue;
        s->crash[s->crashes++] =
            (struct ftc_schedule_crash){.rank = from, .outputs = r->outputs[from]};
        for (int to = 0; to < r->x->n; to++) {
            if (r->arrived[from][to] < r->sent[from][to])
                s->loss[s->losses++] = (struct ftc_schedule_loss){
                    .from = from, .to = to, .arrive = r->arrived[from][to]};
        }
    }
    return FTC_SUCCESS;
}

/* A schedule is printed only if it breaks a promise in the cluster, too. */
static int print(struct replay *r, char **text)
{
    const struct ftc_local *local = &r->x->local;
    char violation[FTC_SCHEDULE_TEXT];

    if (ftc_schedule_run(&local->settings, local->program, &r->schedule, NULL, violation))
        return FTC_SUCCESS;
    char *setup = ftc_setup_format(&local->settings, local->program);
    char *schedule = ftc_schedule_format(&r->schedule);
    bool good = setup != NULL && schedule != NULL &&
                asprintf(text, "ftcoll-sim replay %s %s", setup, schedule) >= 0;
    free(setup);
    free(schedule);
    return good ? FTC_SUCCESS : no_memory();
}

int ftc_explore_replay(struct ftc_exploration *x, const struct ftc_explore_event events[],
                       int count, char **text)
{
    struct replay *r = calloc(1, sizeof(*r));

    *text = NULL;
    if (r == NULL)
        return no_memory();
    r->x = x;
    int rc = walk(r, events, count);
    if (rc == FTC_SUCCESS)
        rc = add_deaths(r);
    if (rc == FTC_SUCCESS)
        rc = ftc_schedule_from_events(&r->schedule, &x->local.settings, x->local.program, r->event,
                                      r->count);
    if (rc == FTC_SUCCESS)
        rc = print(r, text);
    ftc_schedule_fini(&r->schedule);
    free(r->event);
    free(r);
    return rc;
}
