/* A process: drives its member and its large values, as runtime/algorithms/ring.c does. */
#include <string.h>

#include "collectives/frame.h"
#include "collectives/large/exchange.h"
#include "include/ftcoll.h"
#include "sim/large/world.h"

static struct ftc_large_now now(const struct ftc_large_process *p)
{
    return (struct ftc_large_now){.op = ftc_member_next_op(p->member),
                                  .epoch = ftc_member_epoch(p->member),
                                  .under_way = p->under_way};
}

static void check_rc(struct ftc_large_world *w, int rank, const char *what, int rc)
{
    if (rc < 0)
        ftc_large_violate(w, "rank %d: %s returns %d", rank, what, rc);
}

static bool gone(const struct ftc_large_world *w, int rank)
{
    return ftc_large_broken(w) || !w->process[rank].alive;
}

/* --- outputs --- */

static void member_outputs(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];
    const struct ftc_output *output;

    while (!gone(w, rank) && (output = ftc_member_next_output(p->member)) != NULL) {
        if (output->kind == FTC_OUTPUT_MORE) {
            p->more = true;
        } else if (output->kind == FTC_OUTPUT_TIMER) {
            p->timer = true;
        } else if (output->kind != FTC_OUTPUT_SEND && output->kind != FTC_OUTPUT_DELIVER) {
            ftc_large_violate(w, "rank %d has an output of kind %d", rank, (int)output->kind);
        } else if (ftc_large_struck(w, rank)) {
            return;
        } else if (output->kind == FTC_OUTPUT_SEND) {
            ftc_large_send(w, rank, output->to, output->head, &output->value, 0);
        } else {
            if (p->phase == FTC_LARGE_PHASE_COMMIT)
                memcpy(p->decided, ftc_value_bytes(&output->result), output->result.size);
            else if (p->call.signature.kind == FTC_CALL_ALLREDUCE)
                memcpy(w->value[rank][p->at], ftc_value_bytes(&output->result),
                       output->result.size);
            p->delivered = true;
            p->under_way = NULL;
        }
    }
}

static bool bounds_receivers(const struct ftc_large_process *p)
{
    return p->call.signature.kind == FTC_CALL_GATHER || p->call.signature.kind == FTC_CALL_ALLTOALL;
}

static void large_outputs(struct ftc_large_world *w, int rank)
{
    const struct ftc_large_process *p = &w->process[rank];
    struct ftc_large_output output;

    while (!gone(w, rank) && ftc_large_next_output(p->large, &output)) {
        if (ftc_large_struck(w, rank))
            return;
        ftc_large_send(w, rank, output.to, output.head, &output.value,
                       bounds_receivers(p) && output.value.size > 0 ? p->attempt + 1 : 0);
    }
}

/* --- the program --- */

static void call_member(struct ftc_large_world *w, int rank, const struct ftc_call *call)
{
    struct ftc_large_process *p = &w->process[rank];
    struct ftc_large_now here;

    p->delivered = false;
    check_rc(w, rank, "a call", ftc_member_call(p->member, call));
    p->under_way = &call->signature;
    here = now(p);
    check_rc(w, rank, "what came before a call", ftc_large_called(p->large, &here));
    member_outputs(w, rank);
}

static void tell_member(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];
    const struct ftc_set *failed = ftc_large_failed(p->large);

    for (int r = ftc_set_next(failed, 0); r >= 0 && !gone(w, rank);
         r = ftc_set_next(failed, r + 1)) {
        check_rc(w, rank, "a notice", ftc_member_notice(p->member, r));
        member_outputs(w, rank);
    }
}

static void start_attempt(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];
    struct ftc_large_now here;
    int from = -1, rc;

    p->phase = FTC_LARGE_PHASE_RING;
    tell_member(w, rank);
    if (gone(w, rank))
        return;
    here = now(p);
    p->attempt = here.op;
    ftc_large_say(w, "rank %d starts an attempt as operation %llu", rank,
                  (unsigned long long)here.op);
    check_rc(w, rank, "the start of an attempt",
             ftc_large_start(p->large, &here, ftc_member_agreed_failed(p->member),
                             ftc_member_known_failed(p->member)));
    large_outputs(w, rank);
    while (!gone(w, rank) && (rc = ftc_large_early(p->large, &from)) != 0) {
        check_rc(w, rank, "an early message", rc);
        large_outputs(w, rank);
    }
}

static void finish(struct ftc_large_world *w, int rank, enum ftc_large_end end)
{
    struct ftc_large_process *p = &w->process[rank];
    struct ftc_member_report report;

    w->end[rank][p->at] = end;
    if (end == FTC_LARGE_END_RESULT) {
        ftc_member_report(p->member, &report);
        ftc_large_judge_result(w, rank, p->at, report.failed);
    }
    ftc_large_say(w, "rank %d returns from call %d", rank, p->at);
    memset(p->input, 0xee, sizeof(p->input)); /* the caller has its memory back, and uses it */
    memset(p->parts, 0xee, sizeof(p->parts));
    p->phase = FTC_LARGE_PHASE_OUTSIDE;
    p->at++;
}

static void decide(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];
    enum ftc_large_verdict verdict = FTC_LARGE_COMMITTED;
    struct ftc_member_report report;

    ftc_member_report(p->member, &report);
    check_rc(w, rank, "a decision",
             ftc_large_decide(p->large, p->decided, report.failed, &verdict));
    if (gone(w, rank))
        return;
    if (verdict == FTC_LARGE_AGAIN) {
        start_attempt(w, rank);
        return;
    }
    if (verdict == FTC_LARGE_COMMITTED) {
        w->sums->committed++;
        ftc_large_deliver(p->large, w->value[rank][p->at]);
    }
    ftc_large_end(p->large);
    if (verdict == FTC_LARGE_COMMITTED) {
        finish(w, rank, FTC_LARGE_END_RESULT);
        return;
    }
    if (p->call.signature.kind != FTC_CALL_ALLREDUCE) {
        finish(w, rank, FTC_LARGE_END_PROTECTED);
        return;
    }
    p->phase = FTC_LARGE_PHASE_MEMBER;
    call_member(w, rank, &p->call);
}

static void commit(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];
    p->phase = FTC_LARGE_PHASE_COMMIT;
    ftc_large_say(w, "rank %d is %s", rank,
                  ftc_large_state(p->large) == FTC_LARGE_WHOLE ? "whole" : "torn");
    ftc_large_commit(p->large, ftc_member_known_failed(p->member), &p->commit);
    call_member(w, rank, &p->commit);
}

/* Do everything that needs no waiting. */
static void go_on(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];

    while (!gone(w, rank)) {
        if (p->phase == FTC_LARGE_PHASE_RING && ftc_large_state(p->large) != FTC_LARGE_UNDER_WAY)
            commit(w, rank);
        else if (p->phase == FTC_LARGE_PHASE_COMMIT && p->delivered)
            decide(w, rank);
        else if (p->phase == FTC_LARGE_PHASE_MEMBER && p->delivered)
            finish(w, rank, FTC_LARGE_END_RESULT);
        else
            return;
    }
}

void ftc_large_process_call(struct ftc_large_world *w, int rank)
{
    struct ftc_large_process *p = &w->process[rank];

    ftc_large_say(w, "rank %d makes call %d, %s", rank, p->at,
                  ftc_call_kind_name(w->story->operation[p->at].kind));
    ftc_large_values_begin(w, rank);
    if (ftc_large_exchange_exists(&p->call.signature)) {
        void *result = (rank + p->at) % 2 == 0 ? w->value[rank][p->at] : NULL;
        const struct ftc_large_nodes *nodes = w->story->room > 0 ? &w->nodes : NULL;
        ftc_large_begin(p->large, &p->call, sizeof(p->input[0]), nodes, result);
        start_attempt(w, rank);
    } else {
        p->phase = FTC_LARGE_PHASE_MEMBER;
        call_member(w, rank, &p->call);
    }
    go_on(w, rank);
}

/* --- inputs --- */

void ftc_large_process_take(struct ftc_large_world *w, int rank, int from,
                            struct ftc_buffer *message)
{
    struct ftc_large_process *p = &w->process[rank];
    struct ftc_large_now here = now(p);

    if (ftc_frame_kind(message) == FTC_FRAME_RING) {
        check_rc(w, rank, "a block", ftc_large_receive(p->large, &here, from, message));
        large_outputs(w, rank);
    } else {
        check_rc(w, rank, "a look", ftc_large_look(p->large, from, message));
        check_rc(w, rank, "a message", ftc_member_receive(p->member, from, message));
        member_outputs(w, rank);
    }
    go_on(w, rank);
}

void ftc_large_process_hear(struct ftc_large_world *w, int rank, int dead)
{
    struct ftc_large_process *p = &w->process[rank];

    ftc_large_say(w, "rank %d hears of the death of %d", rank, dead);
    check_rc(w, rank, "a notice", ftc_member_notice(p->member, dead));
    member_outputs(w, rank);
    ftc_large_notice(p->large, dead);
    go_on(w, rank);
}

void ftc_large_process_more(struct ftc_large_world *w, int rank)
{
    w->process[rank].more = false;
    check_rc(w, rank, "going on", ftc_member_more(w->process[rank].member));
    member_outputs(w, rank);
    go_on(w, rank);
}

void ftc_large_process_timer(struct ftc_large_world *w, int rank)
{
    w->process[rank].timer = false;
    check_rc(w, rank, "a timer", ftc_member_timer(w->process[rank].member));
    member_outputs(w, rank);
    go_on(w, rank);
}
