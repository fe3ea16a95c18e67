/*
 * A member of a communicator: its inputs, and the rules that are applied after them. The files
 * beside this one call only files below them:
 *
 *   member.c       inputs; inspect.c and digest.c look in
 *   call.c         begins an operation (rule 1)
 *   receive.c      judges messages (rule 0)
 *   collect.c      does what follows from a step of the collection (rules 2 to 4)
 *   ballot.c       enters and starts ballots (rules 1, 3 and 7)
 *   ask.c          opens settlements and asks for them (rule 9); settle.c has the rest
 *   broadcast.c    holds a decision (rule 5), and deliver.c delivers it
 *   spread.c       spreads it (rule 5), and repair.c asks for it (rule 6)
 *   collector.h    the ways to collect (rule 2): exchange.c, direct.c, vote.c, tree.c; the decision
 *                  of c_b (rule 4): decide.c
 *   internal.h     what all need: operations, two levels, messages, checksums, L, outputs, timer
 *
 * After each input the rules are applied until nothing changes: to the operation that the input is
 * about, and to every retained one if L has grown (agreement.md, rule 0).
 */
#include "collectives/agreement/member.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "collectives/agreement/collector.h"
#include "collectives/agreement/life.h"
#include "collectives/agreement/settle.h"

/* A process that was fenced learns it by an output. The input itself went well. */
static int unless_fenced(int rc)
{
    return rc == FTC_ERR_FENCED ? 0 : rc;
}

/* --- applying the rules --- */

/* Applies the rules to an operation. 1: something changed. A plain reduce frees itself when it is
 * done: do not touch `op` after that. */
static int apply(struct ftc_member *m, struct ftc_operation *op)
{
    if (ftc_operation_plain_reduce(op))
        return ftc_collect_advance(m, op);
    int rotated = ftc_ballot_rotate(m, op);
    if (rotated < 0)
        return rotated;
    int collected = ftc_collect_advance(m, op);
    if (collected < 0)
        return collected;
    int given_up = ftc_collect_give_up(m, op);
    if (given_up < 0)
        return given_up;
    int rc = m->set.prepare == FTC_PREPARE_TREE ? ftc_repair_prepare(m, op) : 0;
    if (rc == 0)
        rc = ftc_repair_pull(m, op);
    return rc < 0 ? rc : rotated | collected | given_up;
}

/* Applies the rules to op k, if it is still retained, until nothing changes. */
static int settle_one(struct ftc_member *m, uint64_t k)
{
    struct ftc_operation *op;
    int rc = 1;

    while (rc == 1 && (op = ftc_operation_find(m, k)) != NULL)
        rc = apply(m, op);
    return rc < 0 ? rc : 0;
}

static struct ftc_operation *first_after(const struct ftc_member *m, uint64_t k)
{
    struct ftc_operation *op = m->oldest;

    while (op != NULL && op->k <= k)
        op = op->next;
    return op;
}

/* If L has grown, or a wait is over, applies the rules to every retained operation. */
static int settle_all(struct ftc_member *m)
{
    while (m->changed) {
        struct ftc_operation *op = m->oldest;
        m->changed = false;
        while (op != NULL) {
            uint64_t k = op->k;
            int rc = settle_one(m, k);
            if (rc != 0)
                return rc;
            op = first_after(m, k);
        }
    }
    return 0;
}

/* Rule 9: asks for a settlement, if this is due. */
static int advance_settlements(struct ftc_member *m)
{
    uint64_t k;
    int rc;

    while ((rc = ftc_settling_advance(m, &k)) == 1) {
        rc = settle_one(m, k);
        if (rc == 0)
            rc = settle_all(m);
        if (rc != 0)
            break;
    }
    return rc;
}

static int settle(struct ftc_member *m, uint64_t k)
{
    int rc = settle_one(m, k);

    if (rc == 0)
        rc = settle_all(m);
    if (rc == 0)
        rc = advance_settlements(m);
    if (FTC_MUTATED(FORGET_AT_RETURN) && m->newest != NULL)
        ftc_operation_free_before(m, m->newest->returned ? m->next_op : m->newest->k);
    return rc;
}

/* Applies the rules after a step on op k. */
static int after_step(struct ftc_member *m, uint64_t k, int rc)
{
    return unless_fenced(rc == 0 ? settle(m, k) : rc);
}

/* --- inputs --- */

int ftc_member_call(struct ftc_member *m, const struct ftc_call *call)
{
    int rc = ftc_member_check_call(m, call);

    if (rc != 0)
        return rc;
    rc = ftc_member_begin(m);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return ftc_error_set(FTC_ERR_STATE, "a settlement holds the next operation back");
    m->next_op++;
    if (m->fenced)
        return 0;
    if (FTC_MUTATED(FORGET_AT_CALL))
        ftc_operation_free_before(m, m->next_op);
    rc = ftc_member_begin_call(m, call);
    return after_step(m, m->next_op - 1, rc);
}

void ftc_member_skip(struct ftc_member *m, uint64_t op)
{
    assert(!ftc_member_busy(m));
    if (op > m->next_op) {
        m->settling.begun = false;
        m->next_op = op;
    }
}

/* The lowest number of an operation, or of a settlement if k is one, of which messages are kept. */
static uint64_t first_to_keep(const struct ftc_member *m, uint64_t k)
{
    return ftc_op_is_settlement(k) ? m->settling.open + 1 : m->next_op;
}

static int receive(struct ftc_member *m, int from, struct ftc_buffer *buffer, bool datagram)
{
    if (from < 0 || from >= m->set.ranks || from == m->set.self)
        return FTC_ERR_PROTO;
    if (m->fenced)
        return 0;
    int rc = ftc_message_decode(&m->scratch, buffer, m->set.ranks, m->set.scheme);
    if (rc == 0 && (m->scratch.communicator != m->set.communicator ||
                    (datagram && m->scratch.kind != FTC_MESSAGE_FRAGMENT)))
        rc = FTC_ERR_PROTO;
    if (rc != 0) {
        ftc_contribution_drop(&m->scratch.contribution);
        return rc;
    }
    m->looked = *ftc_message_value(&m->scratch);
    uint64_t k = m->scratch.op, next = first_to_keep(m, k);
    struct ftc_operation *op = ftc_operation_find(m, k);
    if (op == NULL && k < m->next_op && ftc_member_busy(m) && FTC_MUTATED(SUMS_OF_ANOTHER))
        op = m->newest;
    if (op == NULL && k == m->settling.open)
        rc = ftc_settlement_open(m, &op);
    if (op != NULL)
        rc = rc == 0 ? ftc_receive_judge(m, op, from, datagram) : rc;
    else if (rc == 0 && k >= next && m->scratch.kind != FTC_MESSAGE_TAKEN)
        rc = ftc_receive_keep(m, k, k - next, from, datagram, buffer);
    else if (rc == 0)
        rc = ftc_sums_receive_late(m, from);
    ftc_contribution_drop(&m->scratch.contribution);
    return unless_fenced(rc == 0 && op != NULL ? settle(m, k) : rc);
}

int ftc_member_receive(struct ftc_member *m, int from, struct ftc_buffer *buffer)
{
    return receive(m, from, buffer, false);
}

int ftc_member_datagram(struct ftc_member *m, int from, struct ftc_buffer *buffer)
{
    return receive(m, from, buffer, true);
}

int ftc_member_notice(struct ftc_member *m, int rank)
{
    if (rank < 0 || rank >= m->set.ranks)
        return FTC_ERR_ARG;
    if (m->fenced)
        return 0;
    int rc = ftc_member_learn_rank(m, rank);
    if (rc == 0)
        rc = settle_all(m);
    return unless_fenced(rc == 0 ? advance_settlements(m) : rc);
}

static bool word_sound(const struct ftc_member *m, const struct ftc_decision *decision)
{
    return decision->failed.size == m->set.ranks && decision->verdict.compared == 0 &&
           ftc_set_subset(&m->agreed, &decision->failed);
}

int ftc_member_adopt(struct ftc_member *m, uint64_t k, struct ftc_decision *decision)
{
    struct ftc_operation *op = ftc_operation_find(m, k);

    if (m->fenced || (op != NULL && op->returned) || k > m->next_op ||
        (op == NULL && k < m->next_op))
        return 0;
    if (!word_sound(m, decision) || (op != NULL && !op->levels))
        return FTC_ERR_PROTO;
    if (op == NULL) { /* the operation is not called yet */
        if (m->word == NULL)
            m->word = ftc_decision_ref(decision);
        return 0;
    }
    if (!ftc_decision_fits(op, decision))
        return FTC_ERR_PROTO;
    return after_step(m, k, ftc_member_deliver_word(m, op, decision));
}

int ftc_member_more(struct ftc_member *m)
{
    return m->fenced ? 0 : ftc_spread_more(m);
}

int ftc_member_timer(struct ftc_member *m)
{
    uint64_t passed_ns = m->timer_ns;
    int rc = 0;

    if (m->fenced || passed_ns == 0)
        return 0;
    m->timer_ns = 0;
    m->ticking = true;
    for (struct ftc_operation *op = m->oldest; rc == 0 && op != NULL; op = op->next) {
        ftc_tree_tick(m, op, passed_ns);
        rc = ftc_spread_tick(m, op, passed_ns);
    }
    if (rc == 0)
        rc = settle_all(m);
    m->ticking = false;
    return unless_fenced(rc == 0 ? ftc_timer_arm(m) : rc);
}

/* --- life --- */

int ftc_member_create(struct ftc_member **out, const struct ftc_member_settings *settings)
{
    int n = settings->ranks;

    if (n < 1 || settings->self < 0 || settings->self >= n || settings->f < 0 ||
        settings->reduce_arity < 1)
        return ftc_error_set(FTC_ERR_ARG, "rank %d of %d with f = %d is not possible",
                             settings->self, n, settings->f);
    if (!ftc_levels_sound(settings))
        return ftc_error_set(FTC_ERR_ARG, "two levels need nodes with consecutive ranks, scheme "
                                          "list, no integrity, no multicast");
    assert(settings->dissemination != FTC_DISSEMINATION_MULTICAST || settings->fragment > 0);
    struct ftc_member *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return FTC_ERR_NOMEM;
    m->set = *settings;
    m->correction =
        (struct ftc_correction_shape){settings->correction, settings->distance, settings->f};
    m->report = (struct ftc_member_report){.coordinator = -1,
                                           .spreads = true,
                                           .dissemination = settings->dissemination,
                                           .correction = settings->correction};
    m->group_room = settings->f + 2 > settings->direct ? settings->f + 2 : settings->direct;
    if (m->group_room < ftc_exchange_partners(settings->doubling))
        m->group_room = ftc_exchange_partners(settings->doubling);
    if (settings->levels_plain && m->group_room < settings->nodes)
        m->group_room = settings->nodes;
    m->child_room =
        settings->f + 1 > settings->reduce_arity ? settings->f + 1 : settings->reduce_arity;
    if (ftc_set_init(&m->known, n) != 0 || ftc_set_init(&m->agreed, n) != 0 ||
        ftc_set_init(&m->report_failed, n) != 0 || ftc_set_init(&m->report_wrong, n) != 0 ||
        ftc_message_init(&m->scratch, n) != 0 || ftc_member_renew_view(m) != 0 ||
        (settings->levels_plain &&
         (m->unanswered.rank = calloc((size_t)settings->nodes, sizeof(int))) == NULL)) {
        ftc_member_destroy(m);
        return FTC_ERR_NOMEM;
    }
    ftc_settling_init(m);
    *out = m;
    return 0;
}

void ftc_member_destroy(struct ftc_member *m)
{
    if (m == NULL)
        return;
    for (struct ftc_operation *op = m->oldest, *next; op != NULL; op = next) {
        next = op->next;
        ftc_operation_destroy(op);
    }
    for (struct ftc_operation *op = m->spare, *next; op != NULL; op = next) {
        next = op->next;
        ftc_operation_destroy(op);
    }
    ftc_receive_drop_kept(m);
    ftc_member_drop_outputs(m);
    free(m->mismatch);
    free(m->unanswered.rank);
    ftc_decision_unref(m->word);
    ftc_view_unref(m->delegates);
    ftc_view_unref(m->delegates_of);
    ftc_message_fini(&m->scratch);
    ftc_settling_fini(&m->settling);
    ftc_view_unref(m->view);
    ftc_set_fini(&m->known);
    ftc_set_fini(&m->agreed);
    ftc_set_fini(&m->report_failed);
    ftc_set_fini(&m->report_wrong);
    free(m);
}
