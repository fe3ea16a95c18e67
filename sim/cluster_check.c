/*
 * What agreement.md promises ("What the simulator must establish", and section 4.1 of Küttler, Härtig
 * 2026), checked at each call, input and delivery, and at the end.
 */
#include <assert.h>
#include <string.h>

#include "sim/cluster_event.h"

static bool piggyback(const struct ftc_cluster *c)
{
    return c->settings.share == FTC_SHARE_PIGGYBACK;
}

static int view_size(const struct ftc_cluster *c, const struct ftc_cluster_entry *entry)
{
    return c->n - ftc_set_count(&entry->agreed);
}

static bool root_agreed_failed(const struct ftc_cluster *c, int op, int rank)
{
    int root = c->program[op].root;
    return root >= 0 && ftc_set_has(&ftc_cluster_entry(c, op, rank)->agreed, root);
}

/* --- at the call: equal G, views and epochs among the living --- */

void ftc_cluster_check_call(struct ftc_cluster *c, int rank, int op)
{
    struct ftc_member *member = c->process[rank].member;
    struct ftc_cluster_entry *mine = ftc_cluster_entry(c, op, rank);

    mine->called = true;
    mine->epoch = ftc_member_epoch(member);
    ftc_set_copy(&mine->agreed, ftc_member_agreed_failed(member));
    ftc_set_copy(&mine->known, ftc_member_known_failed(member));
    if (ftc_member_next_op(member) != (uint64_t)op)
        ftc_cluster_violate(c, "rank %d counts %llu operations, it called %d", rank,
                            (unsigned long long)ftc_member_next_op(member), op);
    for (int other = 0; other < c->n; other++) {
        const struct ftc_cluster_entry *theirs = ftc_cluster_entry(c, op, other);
        if (!c->process[other].alive || !theirs->called)
            continue;
        if (!ftc_set_equal(&mine->agreed, &theirs->agreed))
            ftc_cluster_violate(c, "ranks %d and %d call operation %d with different G", rank, other, op);
        if (!ftc_epoch_equal(mine->epoch, theirs->epoch))
            ftc_cluster_violate(c, "ranks %d and %d call operation %d in different epochs", rank, other, op);
    }
}

/* --- after each input: L only grows, holds only the dead, contains G --- */

void ftc_cluster_check_input(struct ftc_cluster *c, int rank)
{
    struct ftc_cluster_process *p = &c->process[rank];
    const struct ftc_set *known = ftc_member_known_failed(p->member);

    if (!ftc_set_subset(&p->known, known))
        ftc_cluster_violate(c, "rank %d: L has shrunk", rank);
    if (!ftc_set_subset(known, &c->dead))
        ftc_cluster_violate(c, "rank %d: a live rank is in its L", rank);
    if (!ftc_set_subset(ftc_member_agreed_failed(p->member), known))
        ftc_cluster_violate(c, "rank %d: G is not in L", rank);
    if (!piggyback(c) && !ftc_set_empty(ftc_member_agreed_failed(p->member)))
        ftc_cluster_violate(c, "rank %d: G changes though share is off", rank);
    ftc_set_copy(&p->known, known);
    /* Rule 8: with w, at most w + 1 operations are retained. */
    int w = (int)c->settings.settle_every;
    if (w > 0 && ftc_member_retained(p->member) > w + 1)
        ftc_cluster_violate(c, "rank %d retains %d operations, with w = %d", rank,
                            ftc_member_retained(p->member), w);
}

/* --- rotation and rows of broadcasts, as the document has them --- */

static int start_index(const struct ftc_cluster *c, int op, const struct ftc_cluster_entry *entry)
{
    const struct ftc_cluster_operation *o = &c->program[op];
    int index = 0;

    if (o->kind != FTC_CALL_BCAST && o->kind != FTC_CALL_REDUCE)
        return c->settings.rotation == FTC_ROTATION_SPREAD ? op % view_size(c, entry) : 0;
    for (int rank = 0; rank < o->root; rank++)
        index += !ftc_set_has(&entry->agreed, rank);
    return index;
}

int ftc_cluster_coordinator(const struct ftc_cluster *c, int op, int rank, int i)
{
    const struct ftc_cluster_entry *entry = ftc_cluster_entry(c, op, rank);
    int m = view_size(c, entry);

    if (i >= m)
        return -1;
    int index = (start_index(c, op, entry) + i) % m;
    for (int other = 0; other < c->n; other++) {
        if (!ftc_set_has(&entry->agreed, other) && index-- == 0)
            return other;
    }
    return -1;
}

/* Calls count, not ballots; only allreduce, barrier and validate start a new row. */
bool ftc_cluster_collects(const struct ftc_cluster *c, int op, int rank)
{
    uint32_t row = 0;

    if (c->program[op].kind != FTC_CALL_BCAST)
        return true;
    for (int earlier = op; earlier >= 0; earlier--) {
        enum ftc_call_kind kind = c->program[earlier].kind;
        if (kind != FTC_CALL_BCAST && kind != FTC_CALL_REDUCE)
            break;
        row += kind == FTC_CALL_BCAST && !root_agreed_failed(c, earlier, rank);
    }
    return c->settings.settle_every > 0 && row % c->settings.settle_every == 0;
}

/* --- at each delivery: validity --- */

static void check_counts(struct ftc_cluster *c, int rank, int op, const struct ftc_value *value,
                         const struct ftc_set *failed)
{
    uint16_t count;

    if (value->buffer == NULL || value->size != (size_t)c->n * sizeof(count)) {
        ftc_cluster_violate(c, "rank %d: operation %d has a value of %zu bytes", rank, op, value->size);
        return;
    }
    for (int other = 0; other < c->n; other++) {
        memcpy(&count, ftc_value_bytes(value) + (size_t)other * sizeof(count), sizeof(count));
        if (count > 1)
            ftc_cluster_violate(c, "rank %d: operation %d counts rank %d %d times", rank, op, other, count);
        if (count == 0 && c->process[other].alive)
            ftc_cluster_violate(c, "rank %d: operation %d leaves live rank %d out", rank, op, other);
        if (count == 0 && c->settings.scheme == FTC_SCHEME_LIST && !ftc_set_has(failed, other))
            ftc_cluster_violate(c, "rank %d: operation %d leaves rank %d out and does not name it", rank, op,
                                other);
    }
}

static void check_all_called(struct ftc_cluster *c, int rank, int op)
{
    for (int other = 0; other < c->n; other++) {
        if (c->process[other].alive && !ftc_cluster_entry(c, op, other)->called)
            ftc_cluster_violate(c, "rank %d delivers operation %d before rank %d has called it", rank, op,
                                other);
    }
}

static void check_broadcast(struct ftc_cluster *c, int rank, int op, const struct ftc_output *output)
{
    unsigned char expected[FTC_CLUSTER_BROADCAST_SIZE];
    int root = c->program[op].root;

    if (output->status == FTC_ERR_ROOT_FAILED) {
        if (!ftc_set_has(&c->dead, root))
            ftc_cluster_violate(c, "rank %d: operation %d reports live root %d as failed", rank, op, root);
        if (!ftc_set_has(&output->decision->failed, root))
            ftc_cluster_violate(c, "rank %d: operation %d: ROOT_FAILED, but root %d not in the failed set",
                                rank, op, root);
        return;
    }
    ftc_cluster_broadcast_value(op, root, expected);
    const struct ftc_value *value = &output->decision->value;
    if (value->buffer == NULL || value->size != sizeof(expected) ||
        memcmp(ftc_value_bytes(value), expected, sizeof(expected)) != 0)
        ftc_cluster_violate(c, "rank %d: operation %d does not deliver what root %d sent", rank, op, root);
}

static void check_validate(struct ftc_cluster *c, int rank, int op, const struct ftc_set *failed)
{
    for (int other = 0; other < c->n; other++) {
        const struct ftc_cluster_entry *entry = ftc_cluster_entry(c, op, other);
        if (c->process[other].alive && entry->called && !ftc_set_subset(&entry->known, failed))
            ftc_cluster_violate(c, "rank %d: validate %d does not name all that survivor %d knew", rank, op,
                                other);
    }
}

/* The failed set: truthful, contains G and the coordinators that were given up. */
static void check_failed(struct ftc_cluster *c, int rank, int op, const struct ftc_decision *decision)
{
    if (!ftc_set_subset(&decision->failed, &c->dead))
        ftc_cluster_violate(c, "rank %d: operation %d: a live rank is in the failed set", rank, op);
    if (!ftc_set_subset(&ftc_cluster_entry(c, op, rank)->agreed, &decision->failed))
        ftc_cluster_violate(c, "rank %d: operation %d: the failed set has lost ranks of G", rank, op);
    for (int i = 0; i < (int)decision->ballot.i; i++) {
        int coordinator = ftc_cluster_coordinator(c, op, rank, i);
        if (coordinator < 0 || !ftc_set_has(&decision->failed, coordinator))
            ftc_cluster_violate(c,
                                "rank %d: operation %d: decided by c_%u, but c_%d = %d not in the failed set",
                                rank, op, decision->ballot.i, i, coordinator);
    }
}

/* Rule 5: G := failed set, L grows by it, the epoch moves unless the ballot is (0,0). */
static void check_rule_5(struct ftc_cluster *c, int rank, int op, const struct ftc_decision *decision)
{
    const struct ftc_member *member = c->process[rank].member;
    struct ftc_epoch epoch = ftc_cluster_entry(c, op, rank)->epoch;

    if (decision->ballot.i != 0 || decision->ballot.s != 0)
        epoch = (struct ftc_epoch){.op = (uint64_t)op, .ballot = decision->ballot};
    if (!ftc_epoch_equal(ftc_member_epoch(member), epoch))
        ftc_cluster_violate(c, "rank %d: the epoch after operation %d is wrong", rank, op);
    if (!ftc_set_subset(&decision->failed, ftc_member_known_failed(member)))
        ftc_cluster_violate(c, "rank %d: the failed set of operation %d is not in L", rank, op);
    if (piggyback(c) && !ftc_set_equal(&decision->failed, ftc_member_agreed_failed(member)))
        ftc_cluster_violate(c, "rank %d: G after operation %d is not its failed set", rank, op);
}

/* --- at each delivery: agreement with everyone alive now --- */

static bool same_value(const struct ftc_value *a, const struct ftc_value *b)
{
    if ((a->buffer == NULL) != (b->buffer == NULL) || a->size != b->size)
        return false;
    return a->buffer == NULL || memcmp(ftc_value_bytes(a), ftc_value_bytes(b), a->size) == 0;
}

static bool same_decision(const struct ftc_decision *a, const struct ftc_decision *b)
{
    return a == b || (a->status == b->status && same_value(&a->value, &b->value) &&
                      ftc_set_equal(&a->failed, &b->failed) && ftc_ballot_compare(a->ballot, b->ballot) == 0);
}

static int intern(struct ftc_cluster *c, int op, const struct ftc_decision *decision)
{
    struct ftc_cluster_record *record = &c->record[op];

    for (int d = 0; d < record->count; d++) {
        if (same_decision(record->decisions[d], decision))
            return d;
    }
    struct ftc_decision *copy = ftc_decision_new(c->n);
    assert(copy != NULL && record->count < c->n);
    copy->status = decision->status;
    copy->ballot = decision->ballot;
    ftc_set_copy(&copy->failed, &decision->failed);
    if (decision->value.buffer != NULL)
        ftc_value_set(&copy->value, &decision->value);
    record->decisions[record->count] = copy;
    return record->count++;
}

static void check_agreement(struct ftc_cluster *c, int rank, int op)
{
    const struct ftc_cluster_entry *mine = ftc_cluster_entry(c, op, rank);

    for (int other = 0; other < c->n; other++) {
        const struct ftc_cluster_entry *theirs = ftc_cluster_entry(c, op, other);
        if (!theirs->delivered || !c->process[other].alive)
            continue;
        if (theirs->decision != mine->decision)
            ftc_cluster_violate(c, "ranks %d and %d, both alive, deliver operation %d differently", other,
                                rank, op);
        if (theirs->retries != mine->retries)
            ftc_cluster_violate(c, "ranks %d and %d report %u and %u retries of operation %d", other, rank,
                                theirs->retries, mine->retries, op);
    }
}

/* --- at each delivery --- */

static void check_reduce(struct ftc_cluster *c, int rank, int op, const struct ftc_output *output)
{
    const struct ftc_cluster_entry *entry = ftc_cluster_entry(c, op, rank);
    struct ftc_set hit = {0};
    struct ftc_member_report report = {0};

    if (output->decision != NULL)
        ftc_cluster_violate(c, "rank %d: plain reduce %d delivers a decision", rank, op);
    if (rank != c->program[op].root) {
        if (output->status != FTC_SUCCESS)
            ftc_cluster_violate(c, "rank %d: plain reduce %d returns %d to a rank that is not its root", rank,
                                op, output->status);
        return;
    }
    if (output->status == FTC_SUCCESS) {
        ftc_member_report(c->process[rank].member, &report);
        if (!ftc_set_subset(report.failed, &c->dead))
            ftc_cluster_violate(c, "rank %d: plain reduce %d reports a live rank as failed", rank, op);
        if (!c->program[op].floating)
            check_counts(c, rank, op, &output->result, report.failed);
        return;
    }
    if (output->status != FTC_ERR_TOO_MANY_FAILURES)
        ftc_cluster_violate(c, "rank %d: plain reduce %d returns %d", rank, op, output->status);
    if (ftc_set_init(&hit, c->n) != FTC_SUCCESS)
        return;
    ftc_set_copy(&hit, &c->dead);
    ftc_set_subtract(&hit, &entry->agreed);
    if (ftc_set_count(&hit) <= c->settings.f)
        ftc_cluster_violate(c, "rank %d: plain reduce %d gives up after %d failures", rank, op,
                            ftc_set_count(&hit));
    ftc_set_fini(&hit);
}

static void check_result(struct ftc_cluster *c, int rank, int op, const struct ftc_output *output)
{
    const struct ftc_decision *decision = output->decision;
    bool at_root = c->program[op].root == rank;
    enum ftc_call_kind kind = c->program[op].kind;

    if (output->result.buffer != NULL && !same_value(&output->result, &decision->value))
        ftc_cluster_violate(c, "rank %d: the result of operation %d is not the decision's value", rank, op);
    if (output->result.buffer == NULL && decision->status == FTC_SUCCESS && !at_root &&
        (kind == FTC_CALL_ALLREDUCE || kind == FTC_CALL_BCAST))
        ftc_cluster_violate(c, "rank %d: operation %d delivers no value", rank, op);
}

static void check_decision(struct ftc_cluster *c, int rank, int op, const struct ftc_output *output)
{
    const struct ftc_decision *decision = output->decision;
    enum ftc_call_kind kind = c->program[op].kind;

    if (output->status != decision->status ||
        (output->status != FTC_SUCCESS && (kind != FTC_CALL_BCAST || output->status != FTC_ERR_ROOT_FAILED)))
        ftc_cluster_violate(c, "rank %d: operation %d delivers status %d", rank, op, output->status);
    check_failed(c, rank, op, decision);
    check_result(c, rank, op, output);
    if (kind == FTC_CALL_ALLREDUCE && !c->program[op].floating)
        check_counts(c, rank, op, &decision->value, &decision->failed);
    if (kind == FTC_CALL_BCAST)
        check_broadcast(c, rank, op, output);
    if (kind == FTC_CALL_VALIDATE)
        check_validate(c, rank, op, &decision->failed);
    bool first = decision->ballot.i == 0 && decision->ballot.s == 0;
    if (!root_agreed_failed(c, op, rank) && (!first || ftc_cluster_collects(c, op, rank)))
        check_all_called(c, rank, op);
    check_rule_5(c, rank, op, decision);
}

static void remember(struct ftc_cluster *c, int rank, int op, const struct ftc_output *output)
{
    struct ftc_cluster_entry *entry = ftc_cluster_entry(c, op, rank);
    struct ftc_member_report report = {0};

    ftc_member_report(c->process[rank].member, &report);
    entry->delivered = true;
    entry->status = output->status;
    entry->ballots = report.ballots;
    entry->retries = report.retries;
    if (output->result.buffer != NULL)
        ftc_value_set(&entry->result, &output->result);
    if (output->decision == NULL)
        return;
    entry->decision = intern(c, op, output->decision);
    if (report.failed == NULL || !ftc_set_equal(report.failed, &output->decision->failed))
        ftc_cluster_violate(c, "rank %d: the report of operation %d has another failed set", rank, op);
}

/* Broadcast with its root in G: ROOT_FAILED at once, with no message, no state and no decision of its
 * own. */
static void check_silent_broadcast(struct ftc_cluster *c, int rank, int op, const struct ftc_output *output)
{
    struct ftc_member_report report = {0};

    if (output->status != FTC_ERR_ROOT_FAILED || output->result.buffer != NULL)
        ftc_cluster_violate(c, "rank %d: broadcast %d of a root in G returns %d", rank, op, output->status);
    ftc_member_report(c->process[rank].member, &report);
    if (report.failed == NULL || !ftc_set_equal(report.failed, &ftc_cluster_entry(c, op, rank)->agreed))
        ftc_cluster_violate(c, "rank %d: broadcast %d of a root in G does not report G", rank, op);
}

void ftc_cluster_check_delivery(struct ftc_cluster *c, int rank, int op, const struct ftc_output *output)
{
    if (c->program[op].kind == FTC_CALL_REDUCE) {
        check_reduce(c, rank, op, output);
        remember(c, rank, op, output);
        return;
    }
    if (output->decision == NULL && root_agreed_failed(c, op, rank)) {
        check_silent_broadcast(c, rank, op, output);
        remember(c, rank, op, output);
        return;
    }
    if (output->decision == NULL) {
        ftc_cluster_violate(c, "rank %d: operation %d delivers no decision", rank, op);
        return;
    }
    check_decision(c, rank, op, output);
    remember(c, rank, op, output);
    check_agreement(c, rank, op);
}

/* --- at the end --- */

static void check_stuck(struct ftc_cluster *c, int rank)
{
    struct ftc_cluster_process *p = &c->process[rank];
    struct ftc_member_activity activity = {0};

    if (p->next == c->length && !p->under_way)
        return;
    ftc_member_activity(p->member, &activity);
    ftc_cluster_violate(
        c, "deadlock: rank %d never delivers operation %d: ballot (%u,%u), waits for %s of rank %d (%d)",
        rank, p->next - 1, activity.ballot.i, activity.ballot.s, ftc_wait_name(activity.wait),
        activity.waits_for, activity.waits);
}

static uint64_t sent_by_survivors(const struct ftc_cluster *c, int op, int kind)
{
    uint64_t sent = 0;

    for (int rank = 0; rank < c->n; rank++)
        sent += c->process[rank].alive ? ftc_cluster_entry(c, op, rank)->sent[kind] : 0;
    return sent;
}

/* UP of a collecting ballot of m: "Cost without failures". */
static uint64_t formula(int m, int f)
{
    int a = (m - 1) % (f + 1) + 1;
    return (uint64_t)(f * (f + 1) * ((m - 1) / (f + 1)) + a * (a - 1));
}

static void expect(struct ftc_cluster *c, int op, int kind, uint64_t least, uint64_t most)
{
    uint64_t sent = sent_by_survivors(c, op, kind);

    if (sent < least || sent > most)
        ftc_cluster_violate(c, "operation %d: %llu %s were sent, expected %llu to %llu", op,
                            (unsigned long long)sent, ftc_message_kind_name((enum ftc_message_kind)kind),
                            (unsigned long long)least, (unsigned long long)most);
}

/* An operation that no member of its view failed in: exactly the numbers of the document. */
static void check_numbers(struct ftc_cluster *c, int op, int survivor)
{
    bool decides = c->program[op].kind != FTC_CALL_REDUCE;
    bool collects = ftc_cluster_collects(c, op, survivor);
    uint64_t m = (uint64_t)view_size(c, ftc_cluster_entry(c, op, survivor));
    uint64_t up = collects ? formula((int)m, c->settings.f) : 0;
    uint64_t tree = collects ? m - 1 : 0;
    uint64_t decide = decides ? m - 1 : 0;
    bool exact = c->settings.f == 0 || !decides;
    bool correction = decides && c->settings.correction != FTC_CORRECTION_NONE;

    expect(c, op, FTC_MESSAGE_UP, up, up);
    expect(c, op, FTC_MESSAGE_TREE, exact ? tree : 0, tree);
    expect(c, op, FTC_MESSAGE_DECIDE, decide, correction ? m * m : decide);
    expect(c, op, FTC_MESSAGE_PREPARE, 0, 0);
    expect(c, op, FTC_MESSAGE_POKE, 0, 0);
    expect(c, op, FTC_MESSAGE_PULL, 0, 0);
}

/* With failures a plain reduce never sends more; with its root in G it, like a broadcast, sends nothing. */
static void check_bounds(struct ftc_cluster *c, int op, int survivor)
{
    bool silent = root_agreed_failed(c, op, survivor);
    int m = view_size(c, ftc_cluster_entry(c, op, survivor));

    if (c->program[op].kind != FTC_CALL_REDUCE && !silent)
        return;
    for (int kind = 0; kind < FTC_MESSAGES; kind++) {
        uint64_t most = 0;
        if (!silent && kind == FTC_MESSAGE_UP)
            most = formula(m, c->settings.f);
        if (!silent && kind == FTC_MESSAGE_TREE)
            most = (uint64_t)m - 1;
        expect(c, op, kind, 0, most);
    }
}

static bool unharmed(const struct ftc_cluster *c, int op, int survivor)
{
    const struct ftc_cluster_entry *entry = ftc_cluster_entry(c, op, survivor);

    for (int rank = 0; rank < c->n; rank++) {
        if (!ftc_set_has(&entry->agreed, rank) && !c->process[rank].alive)
            return false;
    }
    return true;
}

void ftc_cluster_check_end(struct ftc_cluster *c)
{
    int survivor = -1;

    for (int rank = 0; rank < c->n; rank++) {
        if (c->process[rank].alive) {
            check_stuck(c, rank);
            survivor = rank;
        }
    }
    for (int op = 0; op < c->length && !ftc_cluster_broken(c); op++) {
        if (unharmed(c, op, survivor) && !root_agreed_failed(c, op, survivor))
            check_numbers(c, op, survivor);
        check_bounds(c, op, survivor);
    }
}
