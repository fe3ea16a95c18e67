/*
 * The promises of agreement.md about a delivery ("What the simulator must establish", and section
 * 4.1 of Küttler, Härtig 2026), and about the number of messages.
 */
#include "sim/model/ledger_record.h"

static bool piggyback(const struct ftc_ledger *l)
{
    return l->settings.share == FTC_SHARE_PIGGYBACK;
}

static const struct ftc_program_operation *operation_of(const struct ftc_ledger *l, int op)
{
    return &l->program->operation[op];
}

static bool root_agreed_failed(const struct ftc_ledger *l, int op,
                               const struct ftc_ledger_history *history)
{
    int root = operation_of(l, op)->root;
    return root >= 0 && ftc_set_has(&history->agreed, root);
}

static int view_size(const struct ftc_ledger *l, const struct ftc_ledger_history *history)
{
    return l->n - ftc_set_count(&history->agreed);
}

/* --- at every delivery --- */

/* The caller gets the value of the decision. Only a root may get none, because it has the value. */
static void check_result(struct ftc_ledger *l, int rank, int op, const struct ftc_output *output)
{
    const struct ftc_decision *decision = output->decision;
    const struct ftc_program_operation *o = operation_of(l, op);

    if (output->result.buffer != NULL && !ftc_ledger_same_value(&output->result, &decision->value))
        ftc_ledger_violate(l, "rank %d: the result of operation %d is not the decision's value",
                           rank, op);
    if (output->result.buffer == NULL && decision->status == FTC_SUCCESS && o->root != rank &&
        (ftc_program_combines_for_all(o) || ftc_call_from_root(o->kind)))
        ftc_ledger_violate(l, "rank %d: operation %d delivers no value", rank, op);
}

static void check_report(struct ftc_ledger *l, int rank, int op, const struct ftc_member *member,
                         const struct ftc_set *failed)
{
    struct ftc_member_report report = {0};

    ftc_member_report(member, &report);
    if (report.failed == NULL || !ftc_set_equal(report.failed, failed))
        ftc_ledger_violate(l, "rank %d: the report of operation %d has another failed set", rank,
                           op);
}

/* --- silent corruption (agreement.md, "Vote") --- */

/* Number of flipped bits in operation `op`. `outvoted`: only those against which the comparison
 * protects. */
static int count_flips(const struct ftc_ledger *l, int op, bool outvoted)
{
    int count = 0;

    for (int i = 0; l->settings.flips != NULL && i < l->settings.flips->count; i++) {
        const struct ftc_flip *flip = &l->settings.flips->flip[i];
        bool protected = flip->variable == FTC_FLIP_UP || flip->variable == FTC_FLIP_PARTIAL;
        count += flip->op == (uint64_t)op && (protected || !outvoted);
    }
    return count;
}

/* May the result be wrong? Nothing protects a value if more than one bit was flipped, if the bit
 * was flipped before or after the comparison, or if there was only one result. Checksums protect
 * every value, and the end of gossip always has them. */
static bool may_be_wrong(const struct ftc_ledger *l, int op, uint32_t compared)
{
    int flips = count_flips(l, op, false);

    if (flips == 0 || l->settings.integrity == FTC_INTEGRITY_CHECKSUM ||
        operation_of(l, op)->kind == FTC_CALL_GOSSIP)
        return false;
    return compared == 0 || flips > 1 || count_flips(l, op, true) == 0;
}

/* The comparison must find nothing if nothing was damaged. With one damaged result among three it
 * must find the right one. */
static void check_verdict(struct ftc_ledger *l, int rank, int op, int status, uint32_t compared,
                          int wrong)
{
    bool one = count_flips(l, op, false) == 1 && count_flips(l, op, true) == 1;

    if (compared > 0 &&
        (l->settings.integrity != FTC_INTEGRITY_VOTE || (int)compared > l->settings.f + 1))
        ftc_ledger_violate(l, "rank %d: operation %d compares %u results", rank, op, compared);
    if (count_flips(l, op, false) == 0 && (wrong > 0 || status == FTC_ERR_CORRUPT))
        ftc_ledger_violate(l,
                           "rank %d: operation %d finds %d wrong results, but no bit has changed",
                           rank, op, wrong);
    if (status == FTC_ERR_CORRUPT &&
        (compared < 2 || wrong != (int)compared || (one && compared > 2)))
        ftc_ledger_violate(l, "rank %d: operation %d cannot tell which of %u results is right",
                           rank, op, compared);
    if (status == FTC_SUCCESS && one && wrong > 1)
        ftc_ledger_violate(l,
                           "rank %d: operation %d finds %d wrong results, but one bit has changed",
                           rank, op, wrong);
}

/* Rule 5: G := failed set, L grows by it, and the epoch changes unless the ballot is (0,0). */
static void check_rule_5(struct ftc_ledger *l, int rank, int op, const struct ftc_member *member,
                         const struct ftc_decision *decision)
{
    struct ftc_epoch epoch = ftc_ledger_history_of(l, op, rank)->epoch;

    if (decision->ballot.i != 0 || decision->ballot.s != 0)
        epoch = (struct ftc_epoch){
            .op = (uint64_t)op, .ballot = decision->ballot, .settled = epoch.settled};
    if (!ftc_epoch_equal(ftc_member_epoch(member), epoch))
        ftc_ledger_violate(l, "rank %d: the epoch after operation %d is wrong", rank, op);
    if (!ftc_set_subset(&decision->failed, ftc_member_known_failed(member)))
        ftc_ledger_violate(l, "rank %d: the failed set of operation %d is not in L", rank, op);
    if (piggyback(l) && !ftc_set_equal(&decision->failed, ftc_member_agreed_failed(member)))
        ftc_ledger_violate(l, "rank %d: G after operation %d is not its failed set", rank, op);
}

/* A broadcast with its root in G returns ROOT_FAILED at once, with no message, no state and no
 * decision of its own. */
static void check_silent_broadcast(struct ftc_ledger *l, int rank, int op,
                                   const struct ftc_member *member, const struct ftc_output *output)
{
    if (output->status != FTC_ERR_ROOT_FAILED || output->result.buffer != NULL)
        ftc_ledger_violate(l, "rank %d: broadcast %d of a root in G returns %d", rank, op,
                           output->status);
    check_report(l, rank, op, member, &ftc_ledger_history_of(l, op, rank)->agreed);
}

/* The root gives up when more than f members of its view have failed, not earlier. */
static void check_giving_up(struct ftc_ledger *l, int rank, int op, int status)
{
    int hit = ftc_set_count(&l->dead) - ftc_set_count(&ftc_ledger_history_of(l, op, rank)->agreed);

    if (status != FTC_ERR_TOO_MANY_FAILURES)
        ftc_ledger_violate(l, "rank %d: plain reduce %d returns %d", rank, op, status);
    if (hit <= l->settings.f)
        ftc_ledger_violate(l, "rank %d: plain reduce %d gives up after %d failures", rank, op, hit);
}

static void check_reduce(struct ftc_ledger *l, int rank, int op, const struct ftc_member *member,
                         const struct ftc_output *output)
{
    const struct ftc_program_operation *o = operation_of(l, op);
    struct ftc_member_report report = {0};

    if (output->decision != NULL)
        ftc_ledger_violate(l, "rank %d: plain reduce %d delivers a decision", rank, op);
    if (rank != o->root && output->status != FTC_SUCCESS)
        ftc_ledger_violate(l, "rank %d: plain reduce %d returns %d to a rank that is not its root",
                           rank, op, output->status);
    if (rank != o->root)
        return;
    ftc_member_report(member, &report);
    check_verdict(l, rank, op, output->status, report.compared, ftc_set_count(report.wrong));
    if (output->status == FTC_ERR_CORRUPT)
        return;
    if (output->status != FTC_SUCCESS) {
        check_giving_up(l, rank, op, output->status);
        return;
    }
    if (!ftc_set_subset(report.failed, &l->dead))
        ftc_ledger_violate(l, "rank %d: plain reduce %d reports a live rank as failed", rank, op);
    if (!o->floating && !may_be_wrong(l, op, report.compared))
        ftc_ledger_check_counts(l, rank, op, &output->result, report.failed);
}

void ftc_ledger_check_delivery(struct ftc_ledger *l, int rank, int op,
                               const struct ftc_member *member, const struct ftc_output *output)
{
    if (ftc_call_to_root(operation_of(l, op)->kind)) {
        check_reduce(l, rank, op, member, output);
    } else if (output->decision != NULL) {
        check_result(l, rank, op, output);
        check_rule_5(l, rank, op, member, output->decision);
        check_report(l, rank, op, member, &output->decision->failed);
    } else if (root_agreed_failed(l, op, ftc_ledger_history_of(l, op, rank))) {
        check_silent_broadcast(l, rank, op, member, output);
    } else {
        ftc_ledger_violate(l, "rank %d: operation %d delivers no decision", rank, op);
    }
}

/* --- when a decision is first delivered: validity --- */

/* Rank of c_0. */
static int first_coordinator(const struct ftc_ledger *l, int op,
                             const struct ftc_ledger_history *history)
{
    const struct ftc_program_operation *o = operation_of(l, op);
    int index = l->settings.rotation == FTC_ROTATION_SPREAD ? op % view_size(l, history) : 0;

    if (o->root >= 0)
        return o->root;
    for (int rank = 0; rank < l->n; rank++) {
        if (!ftc_set_has(&history->agreed, rank) && index-- == 0)
            return rank;
    }
    return -1;
}

/* c_0 .. c_{i-1} were given up, so they must have failed. */
static void check_given_up(struct ftc_ledger *l, int rank, int op,
                           const struct ftc_ledger_history *history,
                           const struct ftc_decision *decision)
{
    unsigned i = 0, given_up = decision->ballot.i;

    if (given_up >= (unsigned)view_size(l, history)) {
        ftc_ledger_violate(l, "rank %d: operation %d: decided by c_%u, which is nobody", rank, op,
                           given_up);
        return;
    }
    for (int c = first_coordinator(l, op, history); i < given_up; c = (c + 1) % l->n) {
        if (ftc_set_has(&history->agreed, c))
            continue;
        if (!ftc_set_has(&decision->failed, c))
            ftc_ledger_violate(
                l, "rank %d: operation %d: decided by c_%u, but c_%u = %d not in the failed set",
                rank, op, given_up, i, c);
        i++;
    }
}

/* Rule 3: sub-rounds <= failures, because each ballot after (0,0) leaves out at least one more
 * member of the view. f failures are masked, so more than f others must have hit the last
 * sub-round. */
static void check_sub_rounds(struct ftc_ledger *l, int rank, int op,
                             const struct ftc_ledger_history *history,
                             const struct ftc_decision *decision)
{
    int failed = ftc_set_count(&decision->failed) - ftc_set_count(&history->agreed);

    if (decision->ballot.i + decision->ballot.s > (unsigned)failed)
        ftc_ledger_violate(l, "rank %d: operation %d: decided in ballot (%u,%u) with %d failures",
                           rank, op, decision->ballot.i, decision->ballot.s, failed);
    int dead = ftc_set_count(&l->dead) - ftc_set_count(&history->agreed);
    if (dead < ftc_program_least_failures(&l->settings, operation_of(l, op)->kind,
                                          view_size(l, history), decision->ballot))
        ftc_ledger_violate(
            l, "rank %d: operation %d: ballot (%u,%u) was needed after %d failures, with f = %d",
            rank, op, decision->ballot.i, decision->ballot.s, dead, l->settings.f);
}

/* The failed set holds only dead ranks. It contains G and the coordinators that were given up. */
static void check_failed(struct ftc_ledger *l, int rank, int op,
                         const struct ftc_ledger_history *history,
                         const struct ftc_decision *decision)
{
    if (!ftc_set_subset(&decision->failed, &l->dead))
        ftc_ledger_violate(l, "rank %d: operation %d: a live rank is in the failed set", rank, op);
    if (!ftc_set_subset(&history->agreed, &decision->failed))
        ftc_ledger_violate(l, "rank %d: operation %d: the failed set has lost ranks of G", rank,
                           op);
    check_given_up(l, rank, op, history, decision);
    check_sub_rounds(l, rank, op, history, decision);
}

static void check_broadcast(struct ftc_ledger *l, int rank, int op,
                            const struct ftc_decision *decision)
{
    int root = operation_of(l, op)->root;

    if (decision->status != FTC_ERR_ROOT_FAILED) {
        ftc_ledger_check_broadcast(l, rank, op, &decision->value);
        return;
    }
    if (!ftc_set_has(&l->dead, root))
        ftc_ledger_violate(l, "rank %d: operation %d reports live root %d as failed", rank, op,
                           root);
    if (!ftc_set_has(&decision->failed, root))
        ftc_ledger_violate(l,
                           "rank %d: operation %d: ROOT_FAILED, but root %d not in the failed set",
                           rank, op, root);
}

static void check_validate(struct ftc_ledger *l, int rank, int op, const struct ftc_set *failed)
{
    for (int other = 0; other < l->n; other++) {
        const struct ftc_ledger_process *p = &l->process[other];
        if (!p->dead && p->called > op && !ftc_set_subset(&l->validating[other], failed))
            ftc_ledger_violate(l, "rank %d: validate %d does not name all that survivor %d knew",
                               rank, op, other);
    }
}

/* A rank that decides a ballot with a reduce has heard of every live rank. */
static void check_all_called(struct ftc_ledger *l, int rank, int op)
{
    if (l->record[op].callers == l->alive)
        return;
    for (int other = 0; other < l->n; other++) {
        if (!l->process[other].dead && l->process[other].called <= op)
            ftc_ledger_violate(l, "rank %d delivers operation %d before rank %d has called it",
                               rank, op, other);
    }
}

/* Rule 4, with `list`: a rank that died before its call was left out of the reduce, and is
 * named. */
static void check_left_out(struct ftc_ledger *l, int rank, int op, const struct ftc_set *failed)
{
    for (int other = ftc_set_next(&l->dead, 0); other >= 0;
         other = ftc_set_next(&l->dead, other + 1))
        if (l->process[other].called <= op && !ftc_set_has(failed, other))
            ftc_ledger_violate(
                l, "rank %d: operation %d is decided without rank %d and does not name it", rank,
                op, other);
}

/* May the results of this operation be compared (agreement.md, rule 2, "Vote")? */
static bool may_compare(const struct ftc_program_operation *o)
{
    return ftc_program_combines_for_all(o) && o->kind != FTC_CALL_GOSSIP;
}

static void check_status(struct ftc_ledger *l, int rank, int op,
                         const struct ftc_ledger_outcome *outcome)
{
    enum ftc_call_kind kind = operation_of(l, op)->kind;
    bool allowed = outcome->status == FTC_SUCCESS ||
                   (ftc_call_from_root(kind) && outcome->status == FTC_ERR_ROOT_FAILED) ||
                   (may_compare(operation_of(l, op)) && outcome->status == FTC_ERR_CORRUPT);

    if (outcome->status != outcome->decision->status || !allowed)
        ftc_ledger_violate(l, "rank %d: operation %d delivers status %d", rank, op,
                           outcome->status);
    const struct ftc_vote_verdict *verdict = &outcome->decision->verdict;
    check_verdict(l, rank, op, outcome->status, verdict->compared, ftc_set_count(&verdict->wrong));
}

void ftc_ledger_check_outcome(struct ftc_ledger *l, int rank, int op,
                              const struct ftc_ledger_outcome *outcome)
{
    const struct ftc_ledger_history *history = &l->record[op].history[outcome->history];
    const struct ftc_decision *decision = outcome->decision;
    const struct ftc_program_operation *o = operation_of(l, op);

    if (decision == NULL)
        return;
    check_status(l, rank, op, outcome);
    check_failed(l, rank, op, history, decision);
    if (ftc_program_combines_for_all(o) && !o->floating && decision->status == FTC_SUCCESS &&
        !may_be_wrong(l, op, decision->verdict.compared))
        ftc_ledger_check_counts(l, rank, op, &decision->value, &decision->failed);
    if (ftc_call_from_root(o->kind))
        check_broadcast(l, rank, op, decision);
    if (o->kind == FTC_CALL_VALIDATE)
        check_validate(l, rank, op, &decision->failed);
    bool first = decision->ballot.i == 0 && decision->ballot.s == 0;
    if (root_agreed_failed(l, op, history) || (first && !history->collects))
        return;
    check_all_called(l, rank, op);
    if (l->settings.scheme == FTC_SCHEME_LIST)
        check_left_out(l, rank, op, &decision->failed);
}

/* --- at the end: the numbers of messages --- */

static void expect(struct ftc_ledger *l, int op, const struct ftc_ledger_history *history, int kind,
                   uint64_t least, uint64_t most)
{
    uint64_t sent = history->sent[kind];

    if (sent < least || sent > most)
        ftc_ledger_violate(l, "operation %d: %llu %s were sent, expected %llu to %llu", op,
                           (unsigned long long)sent,
                           ftc_message_kind_name((enum ftc_message_kind)kind),
                           (unsigned long long)least, (unsigned long long)most);
}

static bool exchanges(const struct ftc_ledger *l, int op, const struct ftc_ledger_history *history)
{
    return ftc_program_exchanges(&l->settings, operation_of(l, op)->kind, view_size(l, history));
}

/* UP messages of a collecting ballot of m participants ("Cost without failures"). */
static uint64_t up_formula(uint64_t m, uint64_t f)
{
    uint64_t a = (m - 1) % (f + 1) + 1;
    return f * (f + 1) * ((m - 1) / (f + 1)) + a * (a - 1);
}

/* "Direct": each participant but c_b sends one UP. */
static bool directly(const struct ftc_ledger *l, uint64_t m)
{
    return m <= (uint64_t)l->settings.direct && l->settings.integrity != FTC_INTEGRITY_VOTE;
}

static uint64_t ups(const struct ftc_ledger *l, uint64_t m)
{
    return directly(l, m) ? m - 1 : up_formula(m, (uint64_t)l->settings.f);
}

/* "Exchange": the UPs of the rounds, and one of each participant that takes part in no round. */
static uint64_t exchange_ups(uint64_t m)
{
    uint64_t power = 1, rounds = 0;

    for (; 2 * power <= m; power *= 2)
        rounds++;
    return power * rounds + (m - power);
}

/* "Exchange": a participant that takes part in no round gets a DECIDE. */
static uint64_t exchange_decides(uint64_t m)
{
    uint64_t power = 1;

    while (2 * power <= m)
        power *= 2;
    return m - power;
}

/* The most UPs of a ballot of m participants or fewer. */
static uint64_t most_ups(const struct ftc_ledger *l, uint64_t m)
{
    uint64_t most = up_formula(m, (uint64_t)l->settings.f);

    if (l->settings.direct > 1 && most < m - 1)
        most = m - 1;
    if (l->settings.doubling > 1 && most < exchange_ups(m))
        most = exchange_ups(m);
    return most;
}

/* Does every participant get DECIDE from its parent only? */
static bool by_tree_alone(const struct ftc_ledger *l)
{
    return l->settings.dissemination == FTC_DISSEMINATION_TREE &&
           l->settings.correction == FTC_CORRECTION_NONE;
}

/* Does its parent owe DECIDE to each participant? Then without failures no participant asks. */
static bool is_owed(const struct ftc_ledger *l)
{
    return l->settings.dissemination == FTC_DISSEMINATION_TREE;
}

static bool in_pieces(const struct ftc_ledger *l)
{
    return l->settings.dissemination == FTC_DISSEMINATION_MULTICAST;
}

/* Most DECIDEs of one ballot: one from each participant to each other one, and the answers to those
 * that have lost patience. */
static uint64_t most_decides(const struct ftc_ledger *l, uint64_t m)
{
    return by_tree_alone(l) ? m - 1 : 2 * m * m;
}

/* Does the coordinator compare results? Then it waits for all of them. */
static bool compares(const struct ftc_ledger *l, int op, uint64_t m)
{
    return l->settings.integrity == FTC_INTEGRITY_VOTE && may_compare(operation_of(l, op)) &&
           m > (uint64_t)l->settings.f + 1;
}

/* No member of the view failed: the numbers are exactly those of the document. There are fewer
 * TREEs where processes stop early. */
static void check_numbers(struct ftc_ledger *l, int op, const struct ftc_ledger_history *history)
{
    bool decides = !ftc_call_to_root(operation_of(l, op)->kind);
    uint64_t m = (uint64_t)view_size(l, history);
    bool all_trees = l->settings.f == 0 || !decides || compares(l, op, m);
    uint64_t up = history->collects ? ups(l, m) : 0;
    uint64_t tree = history->collects && !directly(l, m) ? m - 1 : 0;
    uint64_t decide = decides ? m - 1 : 0;

    if (exchanges(l, op, history)) {
        up = exchange_ups(m);
        tree = 0;
        decide = exchange_decides(m);
    }
    expect(l, op, history, FTC_MESSAGE_UP, up, up);
    expect(l, op, history, FTC_MESSAGE_TREE, all_trees ? tree : 0, tree);
    expect(l, op, history, FTC_MESSAGE_DECIDE, in_pieces(l) ? 0 : decide,
           by_tree_alone(l) || !decides ? decide : most_decides(l, m));
    expect(l, op, history, FTC_MESSAGE_PREPARE, 0, 0);
    expect(l, op, history, FTC_MESSAGE_POKE, 0, 0);
    expect(l, op, history, FTC_MESSAGE_PULL, 0, decides && !is_owed(l) ? m - 1 : 0);
    if (!in_pieces(l) || !decides)
        expect(l, op, history, FTC_MESSAGE_FRAGMENT, 0, 0);
}

/* With failures a plain reduce sends fewer messages (Theorem 5). */
static void check_reduce_bounds(struct ftc_ledger *l, int op,
                                const struct ftc_ledger_history *history)
{
    uint64_t m = (uint64_t)view_size(l, history);

    expect(l, op, history, FTC_MESSAGE_UP, 0, most_ups(l, m));
    expect(l, op, history, FTC_MESSAGE_TREE, 0, m - 1);
    for (int kind = FTC_MESSAGE_DECIDE; kind < FTC_MESSAGES; kind++)
        expect(l, op, history, kind, 0, 0);
}

/*
 * At most f members of the view failed. So no ballot had to be retried, and each failure cost at
 * most one ballot. Then d failures cost at most d + 1 times the messages, without PREPARE, POKE,
 * PULL and the answers to PULL (Theorem 7). Each participant pokes each later coordinator at most
 * once. Each later coordinator sends each participant one PREPARE, unless PREPARE goes down a tree.
 */
static void check_bounds(struct ftc_ledger *l, int op, const struct ftc_ledger_history *history,
                         uint64_t failures)
{
    uint64_t m = (uint64_t)view_size(l, history), answers = history->sent[FTC_MESSAGE_PULL];
    uint64_t collects = failures + (history->collects ? 1 : 0);

    expect(l, op, history, FTC_MESSAGE_UP, 0, collects * most_ups(l, m));
    expect(l, op, history, FTC_MESSAGE_TREE, 0, collects * (m - 1));
    expect(l, op, history, FTC_MESSAGE_DECIDE, 0, (failures + 1) * most_decides(l, m) + answers);
    expect(l, op, history, FTC_MESSAGE_POKE, 0, failures * (m - 1));
    if (l->settings.prepare == FTC_PREPARE_DIRECT)
        expect(l, op, history, FTC_MESSAGE_PREPARE, 0, failures * (m - 1));
}

void ftc_ledger_check_messages(struct ftc_ledger *l, int op, int survivor)
{
    const struct ftc_ledger_history *history = ftc_ledger_history_of(l, op, survivor);
    int failures = ftc_set_count(&l->dead) - ftc_set_count(&history->agreed);

    if (root_agreed_failed(l, op, history)) {
        for (int kind = 0; kind < FTC_MESSAGES; kind++)
            expect(l, op, history, kind, 0, 0);
    } else if (failures == 0) {
        check_numbers(l, op, history);
    } else if (ftc_call_to_root(operation_of(l, op)->kind)) {
        check_reduce_bounds(l, op, history);
    } else if (failures <= l->settings.f) {
        check_bounds(l, op, history, (uint64_t)failures);
    }
}
