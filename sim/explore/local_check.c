/* The promises of docs/design/agreement.md that concern one member alone, checked while a step is
 * learned. For deliveries it also notes what the explorer must compare with other ranks. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sim/explore/local_learn.h"

void ftc_learning_violate(struct ftc_learning *l, const char *format, ...)
{
    va_list arguments;

    if (l->violation[0] != '\0')
        return; /* the first violation is the cause of later ones */
    va_start(arguments, format);
    vsnprintf(l->violation, sizeof(l->violation), format, arguments);
    va_end(arguments);
}

static bool in(ftc_mask mask, int rank)
{
    return rank >= 0 && (mask >> rank & 1) != 0;
}

static bool first_ballot(struct ftc_ballot_id id)
{
    return id.i == 0 && id.s == 0;
}

/* --- the call --- */

/* Every call counts, not every ballot. Only allreduce, barrier and validate start a new row. */
static void count_row(struct ftc_learning *l, const struct ftc_program_operation *operation,
                      ftc_mask agreed)
{
    uint32_t w = l->local->settings.settle_every;

    if (ftc_call_to_root(operation->kind))
        return;
    if (!ftc_call_from_root(operation->kind))
        l->history.row = 0;
    else if (w > 0 && !in(agreed, operation->root))
        l->history.row = (uint8_t)((l->history.row + 1u) % w);
}

/* L at the call. With two levels the post was the call. For a rank that takes the decision from its
 * node, the L of its post is not kept. */
static ftc_mask known_at_call(const struct ftc_learning *l)
{
    if (l->input >= FTC_LOCAL_ADOPT)
        return 0;
    if (l->input >= FTC_LOCAL_GATHERED)
        return (ftc_mask)((l->input - FTC_LOCAL_GATHERED) >> 8);
    return ftc_local_mask(ftc_member_known_failed(l->member));
}

int ftc_learning_calls(struct ftc_learning *l)
{
    struct ftc_local_history *h = &l->history;
    int op = h->called;
    const struct ftc_program_operation *operation = &l->local->program->operation[op];

    if (ftc_member_next_op(l->member) != (uint64_t)op)
        ftc_learning_violate(l, "rank %d counts %llu operations, it called %d", l->rank,
                             (unsigned long long)ftc_member_next_op(l->member), op);
    h->called++;
    h->under_way = 1;
    h->agreed[op] = ftc_local_mask(ftc_member_agreed_failed(l->member));
    if (operation->kind == FTC_CALL_VALIDATE)
        h->known[op] = known_at_call(l);
    count_row(l, operation, h->agreed[op]);
    return ftc_local_number_epoch(l->local, ftc_member_epoch(l->member), &h->epoch[op]);
}

/* --- deliveries --- */

/* Index in the view at which the rotation order starts. With two levels it is the index of a
 * delegate, of each node in turn. */
static int spread_start(const struct ftc_learning *l, int op, int members)
{
    const struct ftc_member_settings *set = &l->local->settings;
    int delegate[FTC_LOCAL_RANKS], delegates = 0, index = 0;

    if (!ftc_local_two_levels(l->local, op))
        return op % members;
    for (int node = 0; node < set->nodes; node++) {
        int before = index;
        for (int rank = set->first_ranks[node]; rank < set->first_ranks[node + 1]; rank++)
            index += !in(l->history.agreed[op], rank);
        if (index > before)
            delegate[delegates++] = before;
    }
    return delegate[op % delegates];
}

static int member_at(const struct ftc_learning *l, ftc_mask agreed, int index)
{
    for (int rank = 0; rank < l->local->ranks; rank++) {
        if (!in(agreed, rank) && index-- == 0)
            return rank;
    }
    return -1;
}

/* Order of coordinators with two levels and a root: the root, then the other ranks of its node from
 * the first one on, then the next nodes. */
static int rooted_coordinator(const struct ftc_learning *l, ftc_mask agreed, int root, int members,
                              int i)
{
    const int *first = l->local->settings.first_ranks;
    int start = 0, node = 0;

    while (first[node + 1] <= root)
        node++;
    for (int rank = 0; rank < first[node]; rank++)
        start += !in(agreed, rank);
    for (int at = 0, number = 0; at < members; at++) {
        int rank = member_at(l, agreed, (start + at) % members);
        if (rank != root && ++number == i)
            return rank;
    }
    return root;
}

static int coordinator(const struct ftc_learning *l, int op, int i)
{
    const struct ftc_program_operation *operation = &l->local->program->operation[op];
    ftc_mask agreed = l->history.agreed[op];
    int n = l->local->ranks, members = 0, index = 0;

    for (int rank = 0; rank < n; rank++) {
        index += rank < operation->root && !in(agreed, rank);
        members += !in(agreed, rank);
    }
    if (i >= members)
        return -1;
    if (operation->root >= 0 && ftc_local_two_levels(l->local, op))
        return rooted_coordinator(l, agreed, operation->root, members, i);
    if (operation->root < 0)
        index =
            l->local->settings.rotation == FTC_ROTATION_SPREAD ? spread_start(l, op, members) : 0;
    return member_at(l, agreed, (index + i) % members);
}

/* Does the operation use two levels? Not if the root is in G: then every rank returns at once. */
static bool over_two_levels(const struct ftc_learning *l, int op)
{
    return ftc_local_two_levels(l->local, op) &&
           !in(l->history.agreed[op], ftc_learning_operation(l)->root);
}

static bool collects(const struct ftc_learning *l)
{
    if (!ftc_call_from_root(ftc_learning_operation(l)->kind))
        return true;
    return l->local->settings.settle_every > 0 && l->history.row == 0;
}

static void check_counts(struct ftc_learning *l, const struct ftc_value *value, ftc_mask failed,
                         struct ftc_local_delivery *d)
{
    ftc_mask once, often, all = (ftc_mask)((1u << l->local->ranks) - 1);

    if (!ftc_local_counts(l->local, d->op, value, &once, &often)) {
        ftc_learning_violate(l, "rank %d: operation %d has a wrong value of %zu bytes", l->rank,
                             d->op, value->size);
        return;
    }
    d->left_out = (ftc_mask)(all & ~once);
    if (often != 0)
        ftc_learning_violate(l, "rank %d: operation %d counts a rank more than once", l->rank,
                             d->op);
    if (l->local->settings.scheme == FTC_SCHEME_LIST && (d->left_out & ~failed) != 0)
        ftc_learning_violate(l, "rank %d: operation %d leaves a rank out and does not name it",
                             l->rank, d->op);
}

static void check_reduce(struct ftc_learning *l, const struct ftc_output *output, ftc_mask failed,
                         struct ftc_local_delivery *d)
{
    if (output->decision != NULL)
        ftc_learning_violate(l, "rank %d: plain reduce %d delivers a decision", l->rank, d->op);
    if (l->rank != ftc_learning_operation(l)->root) {
        if (output->status != FTC_SUCCESS)
            ftc_learning_violate(
                l, "rank %d: plain reduce %d returns %d to a rank that is not its root", l->rank,
                d->op, output->status);
        return;
    }
    bool sums = ftc_local_sums(l->local, d->op);
    d->gives_up = !sums && output->status == FTC_ERR_TOO_MANY_FAILURES;
    if (output->status == FTC_SUCCESS) {
        d->failed = failed;
        d->collects = sums; /* nodes.md, S5: it frees the operations before */
        check_counts(l, &output->result, failed, d);
    } else if (!d->gives_up) {
        ftc_learning_violate(l, "rank %d: plain reduce %d returns %d", l->rank, d->op,
                             output->status);
    }
}

/* A broadcast with its root in G returns ROOT_FAILED at once, with no message, no state and no
 * decision of its own. */
static void check_silent(struct ftc_learning *l, const struct ftc_output *output, ftc_mask failed,
                         int op)
{
    if (!in(l->history.agreed[op], ftc_learning_operation(l)->root))
        ftc_learning_violate(l, "rank %d: operation %d delivers no decision", l->rank, op);
    else if (output->status != FTC_ERR_ROOT_FAILED || output->result.buffer != NULL)
        ftc_learning_violate(l, "rank %d: broadcast %d of a root in G returns %d", l->rank, op,
                             output->status);
    else if (failed != l->history.agreed[op])
        ftc_learning_violate(l, "rank %d: broadcast %d of a root in G does not report G", l->rank,
                             op);
}

/* The failed set contains G and the coordinators that were given up. With ROOT_FAILED it names the
 * root. */
static void check_failed(struct ftc_learning *l, const struct ftc_decision *decision,
                         const struct ftc_local_delivery *d)
{
    if ((l->history.agreed[d->op] & ~d->failed) != 0)
        ftc_learning_violate(l, "rank %d: operation %d: the failed set has lost ranks of G",
                             l->rank, d->op);
    for (int i = 0; i < (int)decision->ballot.i; i++) {
        int given_up = coordinator(l, d->op, i);
        if (!in(d->failed, given_up))
            ftc_learning_violate(
                l, "rank %d: operation %d: decided by c_%u, but c_%d = %d not in the failed set",
                l->rank, d->op, decision->ballot.i, i, given_up);
    }
    /* Rule 3: sub-rounds <= failures, because each ballot after (0,0) leaves out at least one more
     * member of the view. */
    int failures = __builtin_popcount(d->failed) - __builtin_popcount(l->history.agreed[d->op]);
    if ((int)(decision->ballot.i + decision->ballot.s) > failures)
        ftc_learning_violate(l, "rank %d: operation %d: decided in ballot (%u,%u) with %d failures",
                             l->rank, d->op, decision->ballot.i, decision->ballot.s, failures);
    if (decision->status == FTC_ERR_ROOT_FAILED && !in(d->failed, ftc_learning_operation(l)->root))
        ftc_learning_violate(
            l, "rank %d: operation %d: ROOT_FAILED, but root %d not in the failed set", l->rank,
            d->op, ftc_learning_operation(l)->root);
}

/* Rule 5: G := failed set, L grows by it, and the epoch changes unless the ballot is (0,0). */
static void check_rule_5(struct ftc_learning *l, const struct ftc_decision *decision,
                         const struct ftc_local_delivery *d)
{
    struct ftc_epoch epoch = l->local->epoch[l->history.epoch[d->op]];

    if (!first_ballot(decision->ballot))
        epoch =
            (struct ftc_epoch){.op = d->op, .ballot = decision->ballot, .settled = epoch.settled};
    if (!ftc_epoch_equal(ftc_member_epoch(l->member), epoch))
        ftc_learning_violate(l, "rank %d: the epoch after operation %d is wrong", l->rank, d->op);
    if ((d->failed & ~ftc_local_mask(ftc_member_known_failed(l->member))) != 0)
        ftc_learning_violate(l, "rank %d: the failed set of operation %d is not in L", l->rank,
                             d->op);
    if (l->local->settings.share == FTC_SHARE_PIGGYBACK &&
        d->failed != ftc_local_mask(ftc_member_agreed_failed(l->member)))
        ftc_learning_violate(l, "rank %d: G after operation %d is not its failed set", l->rank,
                             d->op);
}

static bool same_value(const struct ftc_value *a, const struct ftc_value *b)
{
    if ((a->buffer == NULL) != (b->buffer == NULL) || a->size != b->size)
        return false;
    return a->buffer == NULL || memcmp(ftc_value_bytes(a), ftc_value_bytes(b), a->size) == 0;
}

/* With two levels only the root has the value. */
static void check_reduced(struct ftc_learning *l, const struct ftc_output *output, int op)
{
    bool gives = output->result.buffer != NULL;

    if (gives != (l->rank == ftc_learning_operation(l)->root))
        ftc_learning_violate(l, "rank %d: reduce %d delivers %s value", l->rank, op,
                             gives ? "a" : "no");
    if (output->decision->value.buffer != NULL)
        ftc_learning_violate(l, "rank %d: the decision of reduce %d has a value", l->rank, op);
}

static void check_result(struct ftc_learning *l, const struct ftc_output *output, int op)
{
    const struct ftc_decision *decision = output->decision;
    const struct ftc_program_operation *operation = ftc_learning_operation(l);
    bool gives = ftc_program_combines_for_all(operation) || ftc_call_from_root(operation->kind);

    if (output->status != decision->status ||
        (output->status != FTC_SUCCESS &&
         (!ftc_call_from_root(operation->kind) || output->status != FTC_ERR_ROOT_FAILED)))
        ftc_learning_violate(l, "rank %d: operation %d delivers status %d", l->rank, op,
                             output->status);
    if (ftc_call_to_root(operation->kind)) {
        check_reduced(l, output, op);
        return;
    }
    if (output->result.buffer != NULL && !same_value(&output->result, &decision->value))
        ftc_learning_violate(l, "rank %d: the result of operation %d is not the decision's value",
                             l->rank, op);
    if (output->result.buffer == NULL && decision->status == FTC_SUCCESS && gives &&
        operation->root != l->rank)
        ftc_learning_violate(l, "rank %d: operation %d delivers no value", l->rank, op);
    if (ftc_call_from_root(operation->kind) && decision->status == FTC_SUCCESS &&
        !ftc_local_broadcast_right(l->local, op, &decision->value))
        ftc_learning_violate(l, "rank %d: operation %d does not deliver what root %d sent", l->rank,
                             op, operation->root);
}

static void check_decision(struct ftc_learning *l, const struct ftc_output *output,
                           ftc_mask reported, struct ftc_local_delivery *d)
{
    const struct ftc_decision *decision = output->decision;
    enum ftc_call_kind kind = ftc_learning_operation(l)->kind;

    d->failed = ftc_local_mask(&decision->failed);
    d->validates = kind == FTC_CALL_VALIDATE;
    /* With two levels the delegate may take part in a broadcast that other ranks of its node have
     * not called. */
    bool gathers = !ftc_call_from_root(kind) || !over_two_levels(l, d->op);
    d->collects = collects(l) || (gathers && !first_ballot(decision->ballot));
    d->root_failed = decision->status == FTC_ERR_ROOT_FAILED;
    check_failed(l, decision, d);
    check_result(l, output, d->op);
    if (ftc_program_combines_for_all(ftc_learning_operation(l)))
        check_counts(l, &decision->value, d->failed, d);
    if (ftc_call_to_root(kind) && output->result.buffer != NULL)
        check_counts(l, &output->result, d->failed, d);
    check_rule_5(l, decision, d);
    if (reported != d->failed)
        ftc_learning_violate(l, "rank %d: the report of operation %d has another failed set",
                             l->rank, d->op);
}

int ftc_learning_delivers(struct ftc_learning *l, const struct ftc_output *output)
{
    struct ftc_local *local = l->local;
    struct ftc_member_report report = {0};

    if (!l->history.under_way) {
        int op = l->history.called - 1;
        ftc_learning_violate(l,
                             op < 0 ? "rank %d delivers operation %d before it calls any"
                                    : "rank %d delivers operation %d twice",
                             l->rank, op);
        return FTC_SUCCESS;
    }
    int rc = ftc_array_grow((void **)&local->delivery, &local->delivery_room, local->delivery_count,
                            sizeof(*local->delivery));
    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_local_delivery *d = &local->delivery[local->delivery_count];
    *d = (struct ftc_local_delivery){.op = (uint8_t)(l->history.called - 1)};
    ftc_member_report(l->member, &report);
    bool sums = ftc_local_sums(local, d->op);
    bool plain =
        ftc_call_to_root(ftc_learning_operation(l)->kind) && (sums || !over_two_levels(l, d->op));
    if (plain)
        check_reduce(l, output, ftc_local_mask(report.failed), d);
    else if (output->decision == NULL)
        check_silent(l, output, ftc_local_mask(report.failed), d->op);
    else
        check_decision(l, output, ftc_local_mask(report.failed), d);
    d->agrees = !plain;
    if (d->agrees)
        rc = ftc_local_decide(l, output, report.retries, &d->decision);
    l->history.decision[d->op] = d->decision;
    l->history.under_way = 0;
    l->step.delivery = (uint32_t)local->delivery_count++;
    return rc;
}

/* --- after the outputs --- */

void ftc_learning_ends(struct ftc_learning *l, int rc)
{
    ftc_mask known = ftc_local_mask(ftc_member_known_failed(l->member));
    ftc_mask agreed = ftc_local_mask(ftc_member_agreed_failed(l->member));
    uint32_t w = l->local->settings.settle_every;

    if (l->local->operator_called)
        ftc_learning_violate(
            l, "rank %d: an operator is called after its call was delivered, or with a wrong size",
            l->rank);
    if (rc != FTC_SUCCESS)
        ftc_learning_violate(l, "rank %d: an input returns %d in a sound run", l->rank, rc);
    if (l->input < FTC_LOCAL_RANKS && !l->step.fenced && !in(known, (int)l->input))
        ftc_learning_violate(l, "rank %d was told of rank %u's death and does not know it", l->rank,
                             l->input);
    if ((l->known & ~known) != 0)
        ftc_learning_violate(l, "rank %d: L has shrunk", l->rank);
    if ((agreed & ~known) != 0)
        ftc_learning_violate(l, "rank %d: G is not in L", l->rank);
    if (l->local->settings.share == FTC_SHARE_OFF && agreed != 0)
        ftc_learning_violate(l, "rank %d: G changes though share is off", l->rank);
    if (ftc_member_stuck_behind(l->member))
        ftc_learning_violate(l, "rank %d waits for a straggler for ever", l->rank);
    if (w > 0 && ftc_member_retained(l->member) > (int)w + 1)
        ftc_learning_violate(l, "rank %d retains %d operations, with w = %u", l->rank,
                             ftc_member_retained(l->member), w);
}
