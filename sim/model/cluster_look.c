/* A look into a cluster: results and counters for stories, the trace for people. */
#include <stdio.h>
#include <stdlib.h>

#include "base/set.h"
#include "sim/model/cluster.h"

/* --- results --- */

bool ftc_cluster_delivered(const struct ftc_cluster *c, int op, int rank)
{
    return ftc_ledger_delivered(c->ledger, op, rank);
}

int ftc_cluster_status(const struct ftc_cluster *c, int op, int rank)
{
    return ftc_ledger_status(c->ledger, op, rank);
}

const struct ftc_decision *ftc_cluster_decision(const struct ftc_cluster *c, int op, int at)
{
    return ftc_ledger_decision(c->ledger, op, at);
}

int ftc_cluster_counts(const struct ftc_cluster *c, int op, int at, int rank)
{
    return ftc_ledger_counts(c->ledger, op, at, rank);
}

const char *ftc_cluster_value(const struct ftc_cluster *c, int op, int at)
{
    static char text[256];
    struct ftc_set counted;

    if (ftc_ledger_result(c->ledger, op, at).buffer == NULL ||
        ftc_set_init(&counted, c->n) != FTC_SUCCESS)
        return "-";
    for (int rank = 0; rank < c->n; rank++) {
        if (ftc_cluster_counts(c, op, at, rank) == 1)
            ftc_set_add(&counted, rank);
    }
    ftc_set_format(&counted, text, sizeof(text));
    ftc_set_fini(&counted);
    return text;
}

const char *ftc_cluster_failed(const struct ftc_cluster *c, int op, int at)
{
    static char text[256];
    const struct ftc_decision *decision = ftc_cluster_decision(c, op, at);

    if (decision == NULL)
        return "-";
    return ftc_set_format(&decision->failed, text, sizeof(text));
}

struct ftc_ballot_id ftc_cluster_ballot(const struct ftc_cluster *c, int op, int at)
{
    const struct ftc_decision *decision = ftc_cluster_decision(c, op, at);
    return decision == NULL ? (struct ftc_ballot_id){UINT32_MAX, UINT32_MAX} : decision->ballot;
}

uint64_t ftc_cluster_sent(const struct ftc_cluster *c, int op, int kind)
{
    return ftc_ledger_sent(c->ledger, op, kind);
}

uint64_t ftc_cluster_bytes(const struct ftc_cluster *c, int op)
{
    return ftc_ledger_bytes(c->ledger, op);
}

uint64_t ftc_cluster_rule(const struct ftc_cluster *c, enum ftc_rule rule)
{
    uint64_t taken = ftc_ledger_rule(c->ledger, rule);

    for (int rank = 0; rank < c->n; rank++) {
        const struct ftc_member *member = c->process[rank].member;
        taken += member != NULL ? ftc_member_rules(member)[rule] : 0;
    }
    return taken;
}

int ftc_cluster_on_the_way(const struct ftc_cluster *c, int from, int to)
{
    return c->channel[from * c->n + to].count;
}

/* --- trace: a ring of the last events, formatted only when it is printed --- */

#define TRACE_LENGTH 1024

struct ftc_cluster_step {
    uint64_t number;
    enum ftc_cluster_trace_kind kind;
    int rank, other;
    struct ftc_message_head head;
};

struct ftc_cluster_trace {
    uint64_t count;
    struct ftc_cluster_step step[TRACE_LENGTH];
};

struct ftc_cluster_trace *ftc_cluster_trace_new(int n)
{
    struct ftc_cluster_trace *trace = malloc(sizeof(*trace));
    if (trace == NULL)
        ftc_cluster_no_memory(n);
    trace->count = 0;
    return trace;
}

void ftc_cluster_trace_free(struct ftc_cluster_trace *trace)
{
    free(trace);
}

static void print_call(const struct ftc_cluster *c, int op, FILE *out)
{
    const struct ftc_program_operation *operation = &c->program->operation[op];

    fprintf(out, "calls operation %d, %s", op, ftc_call_kind_name(operation->kind));
    if (operation->root >= 0)
        fprintf(out, " with root %d", operation->root);
    fputc('\n', out);
}

static void print_op(char *text, size_t size, uint64_t op)
{
    if (ftc_op_is_settlement(op))
        snprintf(text, size, "settlement %llu", (unsigned long long)(op - FTC_SETTLEMENT));
    else
        snprintf(text, size, "%llu", (unsigned long long)op);
}

static void print_step(const struct ftc_cluster *c, const struct ftc_cluster_step *s, FILE *out)
{
    const char *message = ftc_message_kind_name(s->head.kind);
    char op[40];
    unsigned i = s->head.ballot.i, round = s->head.ballot.s;

    print_op(op, sizeof(op), s->head.op);
    fprintf(out, "%6llu  rank %-3d ", (unsigned long long)s->number, s->rank);
    switch (s->kind) {
    case FTC_CLUSTER_TRACE_CALL:
        print_call(c, s->other, out);
        break;
    case FTC_CLUSTER_TRACE_ARRIVE:
        fprintf(out, "receives %s %s (%u,%u) from rank %d\n", message, op, i, round, s->other);
        break;
    case FTC_CLUSTER_TRACE_NOTICE:
        fprintf(out, "is told that rank %d failed\n", s->other);
        break;
    case FTC_CLUSTER_TRACE_TIMER:
        fprintf(out, "has its timer fire\n");
        break;
    case FTC_CLUSTER_TRACE_SEND:
        fprintf(out, "    sends %s %s (%u,%u) to rank %d\n", message, op, i, round, s->other);
        break;
    case FTC_CLUSTER_TRACE_MULTICAST:
        fprintf(out, "    multicasts %s %s (%u,%u)\n", message, op, i, round);
        break;
    case FTC_CLUSTER_TRACE_DELIVER:
        fprintf(out, "    delivers operation %s: %s, ballot (%u,%u)\n", op, ftc_strerror(s->other),
                i, round);
        break;
    case FTC_CLUSTER_TRACE_CRASH:
        fprintf(out, "    CRASHES\n");
        break;
    case FTC_CLUSTER_TRACE_LOSE:
        fprintf(out, "    loses messages on the way to rank %d\n", s->other);
        break;
    }
}

void ftc_cluster_trace(struct ftc_cluster *c, enum ftc_cluster_trace_kind kind, int rank, int other,
                       const struct ftc_message_head *head)
{
    if (c->trace == NULL)
        return;
    struct ftc_cluster_step *step = &c->trace->step[c->trace->count++ % TRACE_LENGTH];

    *step =
        (struct ftc_cluster_step){.number = c->steps, .kind = kind, .rank = rank, .other = other};
    if (head != NULL)
        step->head = *head;
    if (c->log != NULL)
        print_step(c, step, c->log);
}

static void print_process(const struct ftc_cluster *c, int rank)
{
    const struct ftc_cluster_process *p = &c->process[rank];
    struct ftc_member_activity a = {0};
    char known[128], agreed[128];

    if (!p->alive) {
        fprintf(stderr, "rank %d: dead, called %d\n", rank, ftc_ledger_called(c->ledger, rank));
        return;
    }
    ftc_member_activity(p->member, &a);
    ftc_set_format(ftc_member_known_failed(p->member), known, sizeof(known));
    ftc_set_format(ftc_member_agreed_failed(p->member), agreed, sizeof(agreed));
    fprintf(stderr,
            "rank %d: called %d, %s, L %s, G %s, ballot (%u,%u), waits for %s of rank %d (%d), "
            "retains %d\n",
            rank, ftc_ledger_called(c->ledger, rank),
            ftc_ledger_under_way(c->ledger, rank) ? "under way" : "outside", known, agreed,
            a.ballot.i, a.ballot.s, ftc_wait_name(a.wait), a.waits_for, a.waits,
            ftc_member_retained(p->member));
}

static void print_settings(const struct ftc_cluster *c)
{
    static const char *const schemes[] = {"list", "count", "bit"};
    static const char *const trees[] = {"binomial", "k-ary", "lame"};
    static const char *const corrections[] = {"none",      "opportunistic", "optimised", "checked",
                                              "throttled", "failure-proof", "delayed",   "ring"};
    const struct ftc_member_settings *s = &c->settings;

    fprintf(stderr,
            "n %d, f %d, %s, share %s, rotation %s, reduce arity %d, direct %d, doubling %d, tree "
            "%s %d, "
            "correction %s, "
            "prepare %s, "
            "w %u\n",
            c->n, s->f, schemes[s->scheme], s->share == FTC_SHARE_OFF ? "off" : "piggyback",
            s->rotation == FTC_ROTATION_FIRST ? "first" : "spread", s->reduce_arity, s->direct,
            s->doubling, trees[s->tree.tree], s->tree.arity, corrections[s->correction],
            s->prepare == FTC_PREPARE_DIRECT ? "direct" : "tree", s->settle_every);
    fprintf(stderr, "program:");
    for (int op = 0; op < c->program->length; op++)
        fprintf(stderr, " %d:%s(%d)", op, ftc_call_kind_name(c->program->operation[op].kind),
                c->program->operation[op].root);
    fprintf(stderr, "\n");
}

void ftc_cluster_print(const struct ftc_cluster *c)
{
    uint64_t first = c->trace->count > TRACE_LENGTH ? c->trace->count - TRACE_LENGTH : 0;

    print_settings(c);
    for (uint64_t s = first; s < c->trace->count; s++)
        print_step(c, &c->trace->step[s % TRACE_LENGTH], stderr);
    for (int rank = 0; rank < c->n; rank++)
        print_process(c, rank);
    fprintf(stderr, "violation: %s\n", c->violation[0] != '\0' ? c->violation : "none");
}
