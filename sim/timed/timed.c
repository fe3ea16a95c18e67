/* A run in virtual time: its start, its events and its end. */
#include "sim/timed/timed.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"
#include "collectives/values/flip.h"
#include "sim/timed/engine.h"

/* --- events --- */

static int call(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];
    int begun = ftc_member_begin(p->member);
    struct ftc_call input;

    p->held_back = begun == 0;
    if (begun <= 0)
        return begun;
    int op = p->next++;
    struct ftc_timed_operation *operation = &t->result->operation[op];

    if (t->now < operation->first_call)
        operation->first_call = t->now;
    if (t->trace != NULL)
        ftc_trace_line(t->trace, t->now, rank, "calls %s, op %d",
                       ftc_call_kind_name(t->program->operation[op].kind), op);
    ftc_ledger_prepare(t->ledger, rank, op, &input);
    ftc_ledger_calls(t->ledger, rank, p->member);
    return ftc_timed_outputs(t, rank, ftc_member_call(p->member, &input));
}

static int notice(struct ftc_timed *t, int rank, int dead)
{
    struct ftc_member *member = t->process[rank].member;

    if (t->trace != NULL)
        ftc_trace_line(t->trace, t->now, rank, "is told that %d failed", dead);
    int rc = ftc_member_notice(member, dead);
    ftc_ledger_hears(t->ledger, rank, member, dead);
    return ftc_timed_outputs(t, rank, rc);
}

/* Each observer is told at its own time. */
static int announce(struct ftc_timed *t, int dead)
{
    uint64_t random = ftc_mix(ftc_mix(t->set->seed ^ 0x6e6f7465) ^ (uint64_t)dead);
    uint64_t span = t->set->jitter_ns + 1;
    int rc = 0;

    for (int rank = 0; rc == 0 && rank < t->n; rank++) {
        uint64_t delay = t->set->detect_ns + ftc_mix(random + (uint64_t)rank) % span;
        if (t->process[rank].member != NULL)
            rc = ftc_timed_push(t, t->now + delay, FTC_TIMED_NOTICE, rank, dead, NULL);
    }
    return rc;
}

static int die(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];

    if (p->member == NULL)
        return 0; /* it was fenced, or it found its own memory damaged */
    if (t->trace != NULL)
        ftc_trace_death(t->trace, t->now, rank);
    ftc_ledger_dies(t->ledger, rank, p->member);
    ftc_member_destroy(p->member);
    p->member = NULL;
    ftc_timed_drop_waiting(t, rank);
    return t->set->alone ? 0 : announce(t, rank);
}

/* It does nothing while it is busy, and it is busy until the stall ends. */
static void stand_still(struct ftc_timed *t, int rank)
{
    struct ftc_timed_process *p = &t->process[rank];
    uint64_t end = t->now + t->set->stall_ns;

    if (t->trace != NULL)
        ftc_trace_line(t->trace, t->now, rank, "stands still");
    p->busy = p->busy > end ? p->busy : end;
}

static int happen(struct ftc_timed *t, const struct ftc_event *event)
{
    int rank = (int)event->rank, other = (int)event->other;
    struct ftc_timed_process *p = &t->process[rank];

    switch ((enum ftc_timed_event)event->kind) {
    case FTC_TIMED_ARRIVE:
        return ftc_timed_arrive(t, rank, other, event->item);
    case FTC_TIMED_RECEIVED:
        return ftc_timed_received(t, rank, other, event->item);
    case FTC_TIMED_READY:
        return p->member != NULL ? ftc_timed_ready(t, rank) : 0;
    case FTC_TIMED_NOTICE:
        return p->member != NULL ? notice(t, rank, other) : 0;
    case FTC_TIMED_TIMER:
        if (p->member == NULL || (uintptr_t)event->item != p->timer)
            return 0; /* a later timer replaced it */
        return ftc_timed_outputs(t, rank, ftc_member_timer(p->member));
    case FTC_TIMED_CALL:
        return p->member != NULL ? call(t, rank) : 0;
    case FTC_TIMED_DEATH:
        return die(t, rank);
    case FTC_TIMED_STALL:
        stand_still(t, rank);
        return 0;
    }
    return 0;
}

/* Count the correction messages of live ranks and, from the ledger, those of dead ranks. */
static void count_corrections(struct ftc_timed *t)
{
    static const enum ftc_rule rules[] = {FTC_RULE_CORRECT, FTC_RULE_PASS_PIECE};

    for (int i = 0; i < 2; i++) {
        t->result->corrected += ftc_ledger_rule(t->ledger, rules[i]);
        for (int rank = 0; rank < t->n; rank++)
            if (t->process[rank].member != NULL)
                t->result->corrected += ftc_member_rules(t->process[rank].member)[rules[i]];
    }
}

static int play(struct ftc_timed *t)
{
    struct ftc_event event;
    int rc = 0;

    while (rc == 0 && ftc_ledger_violation(t->ledger)[0] == '\0' &&
           ftc_queue_pop(&t->queue, &event)) {
        t->now = event.key >> 1;
        t->result->events++;
        if (event.kind != FTC_TIMED_TIMER)
            t->result->end = t->now;
        rc = happen(t, &event);
    }
    if (rc == FTC_ERR_NOMEM)
        return ftc_error_set(rc, "out of memory at %d ranks; simulate fewer", t->n);
    if (rc != 0)
        return rc;
    if (ftc_ledger_violation(t->ledger)[0] == '\0' && !t->set->alone)
        ftc_ledger_ends(t->ledger);
    snprintf(t->result->violation, sizeof(t->result->violation), "%s",
             ftc_ledger_violation(t->ledger));
    t->result->peak = t->queue.peak;
    count_corrections(t);
    return 0;
}

/* --- life --- */

static int create_members(struct ftc_timed *t)
{
    for (int rank = 0; rank < t->n; rank++) {
        struct ftc_member_settings settings = t->members;
        settings.self = rank;
        int rc = ftc_member_create(&t->process[rank].member, &settings);
        if (rc != 0)
            return rc;
        t->process[rank].wake = UINT64_MAX;
    }
    return 0;
}

/* Deaths at the start come before the first calls. */
static int begin(struct ftc_timed *t)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < t->result->deaths; i++)
        rc = ftc_timed_push(t, t->result->death[i].time, FTC_TIMED_DEATH, t->result->death[i].rank,
                            0, NULL);
    if (rc == 0 && t->set->stall_ns > 0)
        rc = ftc_timed_push(t, t->set->stall_at_ns, FTC_TIMED_STALL, t->set->stall_rank, 0, NULL);
    for (int rank = 0; rc == 0 && rank < t->n; rank++)
        rc = ftc_timed_call_later(t, rank);
    return rc;
}

/* With checksums a damaged process dies. */
static void add_damaged(struct ftc_timed *t)
{
    const struct ftc_flips *flips = t->members.flips;

    if (flips == NULL || t->members.integrity != FTC_INTEGRITY_CHECKSUM)
        return;
    for (int i = 0; i < flips->count; i++)
        if (flips->flip[i].rank < t->n)
            ftc_set_add(&t->mortal, flips->flip[i].rank);
}

static int init(struct ftc_timed *t)
{
    int rc = ftc_set_init(&t->mortal, t->n);

    if (rc != 0)
        return rc;
    for (int i = 0; i < t->result->deaths; i++)
        ftc_set_add(&t->mortal, t->result->death[i].rank);
    add_damaged(t);
    rc = ftc_distance_init(&t->distance, &t->set->distance, t->n, t->set->seed);
    t->process = calloc((size_t)t->n, sizeof(*t->process));
    t->result->operation = calloc((size_t)t->program->length + 1, sizeof(*t->result->operation));
    t->result->delivery = malloc((size_t)t->n * sizeof(*t->result->delivery));
    t->ledger = ftc_ledger_new(&t->members, t->program, t->set->graph ? NULL : &t->mortal);
    if (rc != 0 || t->process == NULL || t->result->operation == NULL ||
        t->result->delivery == NULL || t->ledger == NULL)
        return FTC_ERR_NOMEM;
    for (int op = 0; op < t->program->length; op++)
        t->result->operation[op].first_call = UINT64_MAX;
    for (int rank = 0; rank < t->n; rank++)
        t->result->delivery[rank] = UINT64_MAX;
    rc = create_members(t);
    return rc == 0 ? begin(t) : rc;
}

static void fini(struct ftc_timed *t)
{
    struct ftc_event event;

    while (ftc_queue_pop(&t->queue, &event))
        if (event.kind == FTC_TIMED_ARRIVE || event.kind == FTC_TIMED_RECEIVED)
            ftc_timed_message_unref(event.item);
    for (int rank = 0; t->process != NULL && rank < t->n; rank++) {
        ftc_timed_drop_waiting(t, rank);
        ftc_member_destroy(t->process[rank].member);
    }
    ftc_queue_fini(&t->queue);
    ftc_ledger_free(t->ledger);
    ftc_distance_fini(&t->distance);
    ftc_set_fini(&t->mortal);
    free(t->item);
    free(t->process);
}

/* Run after result->death[] has been drawn. */
static int run(const struct ftc_member_settings *members, const struct ftc_program *program,
               const struct ftc_timed_settings *settings, FILE *out,
               struct ftc_timed_result *result)
{
    struct ftc_trace trace = ftc_trace_new(out, members->ranks, settings->graph);
    struct ftc_timed t = {.set = settings,
                          .program = program,
                          .members = *members,
                          .n = members->ranks,
                          .trace = out != NULL ? &trace : NULL,
                          .result = result,
                          .overhead = ftc_cost_overhead(&settings->cost)};

    ftc_queue_init(&t.queue);
    int rc = init(&t);
    if (rc != 0)
        rc = ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d ranks; simulate fewer", t.n);
    else
        rc = play(&t);
    ftc_trace_end(&trace);
    fini(&t);
    return rc;
}

/* Find the time at which the last operation of a run without deaths ends. */
static int find_horizon(const struct ftc_member_settings *members,
                        const struct ftc_program *program, struct ftc_timed_settings *settings)
{
    struct ftc_timed_settings calm = *settings;
    struct ftc_timed_result result = {0};

    calm.kills = 0;
    int rc = run(members, program, &calm, NULL, &result);
    for (int op = 0; rc == 0 && op < program->length; op++)
        if (result.operation[op].last_delivery > settings->horizon_ns)
            settings->horizon_ns = result.operation[op].last_delivery;
    ftc_timed_result_fini(&result);
    return rc;
}

int ftc_timed_run(const struct ftc_member_settings *members, const struct ftc_program *program,
                  const struct ftc_timed_settings *settings, FILE *trace,
                  struct ftc_timed_result *result)
{
    struct ftc_timed_settings all = *settings;
    int rc = 0;

    *result = (struct ftc_timed_result){0};
    if (all.kills >= members->ranks)
        return ftc_error_set(FTC_ERR_ARG,
                             "--kill %d leaves no survivor among %d ranks; give 0 to %d", all.kills,
                             members->ranks, members->ranks - 1);
    if (all.stall_ns > 0 && all.stall_rank >= members->ranks)
        return ftc_error_set(FTC_ERR_ARG, "--stall %d@...: give a rank from 0 to %d",
                             all.stall_rank, members->ranks - 1);
    if (all.kills > 0 && !all.at_start && all.horizon_ns == 0)
        rc = find_horizon(members, program, &all);
    if (rc == 0)
        rc = ftc_timed_plan(members, program, &all, result);
    if (rc == 0)
        rc = run(members, program, &all, trace, result);
    if (rc != 0)
        ftc_timed_result_fini(result);
    return rc;
}

void ftc_timed_result_fini(struct ftc_timed_result *result)
{
    free(result->operation);
    free(result->death);
    free(result->delivery);
    result->operation = NULL;
    result->death = NULL;
    result->delivery = NULL;
}
