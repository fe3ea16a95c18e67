/*
 * A member of a communicator: its inputs and outputs, and the life of its operations. Operations
 * begin in call.c. The rules are in operation.c (ballots), collect.c (reduce and decision),
 * broadcast.c (holding a decision), spread.c and spread/correction.c (spreading it), repair.c
 * (asking for it) and receive.c (messages).
 *
 * After each input the rules are applied until nothing changes: to the operation that the input is
 * about, and to every retained one if L has grown (agreement.md, rule 0).
 */
#include "collectives/agreement/member.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/agreement/internal.h"

/* --- outputs --- */

int ftc_member_output(struct ftc_member *m, const struct ftc_output *output)
{
    if (m->output_count == m->output_room) {
        /* 4 is enough for nearly all ranks of a large job. */
        int room = m->output_room == 0 ? 4 : 2 * m->output_room;
        struct ftc_output *grown = realloc(m->output, (size_t)room * sizeof(*grown));
        if (grown == NULL)
            return FTC_ERR_NOMEM;
        m->output = grown;
        m->output_room = room;
    }
    struct ftc_output *slot = &m->output[m->output_count++];
    *slot = *output;
    ftc_buffer_ref(slot->head);
    ftc_buffer_ref(slot->value.buffer);
    ftc_buffer_ref(slot->result.buffer);
    return 0;
}

static void output_drop(struct ftc_output *output)
{
    ftc_buffer_unref(output->head);
    ftc_buffer_unref(output->value.buffer);
    ftc_buffer_unref(output->result.buffer);
    *output = (struct ftc_output){0};
}

const struct ftc_output *ftc_member_next_output(struct ftc_member *m)
{
    output_drop(&m->current);
    if (m->output_taken == m->output_count) {
        m->output_taken = m->output_count = 0;
        m->looked = (struct ftc_value){0}; /* the step is over */
        return NULL;
    }
    m->current = m->output[m->output_taken++];
    return &m->current;
}

/* A POKE, a PULL and all messages of a later ballot may need an answer. They cannot wait for the
 * receiver's next call. */
static bool is_urgent(enum ftc_message_kind kind, struct ftc_ballot_id ballot)
{
    return kind == FTC_MESSAGE_POKE || kind == FTC_MESSAGE_PULL || ballot.i > 0 || ballot.s > 0;
}

struct ftc_buffer *ftc_member_encode(struct ftc_member *m, struct ftc_operation *op,
                                     enum ftc_message_kind kind, const struct ftc_message *content)
{
    struct ftc_message message = *content;
    bool poke = kind == FTC_MESSAGE_POKE;

    message.kind = kind;
    message.op = op->k;
    message.epoch = op->epoch;
    message.signature = op->call.signature;
    /* A FRAGMENT has no checksum of its own: the DECIDE that it is a piece of has one. */
    message.sealed = op->checked && kind != FTC_MESSAGE_FRAGMENT;
    if (!poke)
        message.ballot = op->ballot.id;
    message.has_participants =
        !poke && kind != FTC_MESSAGE_FRAGMENT && (message.ballot.i > 0 || message.ballot.s > 0);
    if (message.has_participants)
        message.participants = op->ballot.participants->set;
    message.communicator = m->set.communicator;
    return ftc_message_encode(&message, m->set.scheme);
}

/* Puts out an output with a head of its own. */
static int put(struct ftc_member *m, struct ftc_operation *op, struct ftc_output *output)
{
    if (output->head == NULL)
        return FTC_ERR_NOMEM;
    int rc = ftc_member_output(m, output);
    ftc_buffer_unref(output->head);
    if (rc != 0 || m->set.flips == NULL)
        return rc;
    return ftc_integrity_disturb_message(m, op, (size_t)m->output_count - 1);
}

int ftc_member_send(struct ftc_member *m, struct ftc_operation *op, enum ftc_message_kind kind,
                    int to, const struct ftc_message *content)
{
    if (!ftc_integrity_sound(m, ftc_message_value(content)))
        return ftc_integrity_corrupt(m);
    struct ftc_output output = {.kind = FTC_OUTPUT_SEND,
                                .to = to,
                                .message = kind,
                                .head = ftc_member_encode(m, op, kind, content),
                                .value = *ftc_message_value(content),
                                .op = op->k,
                                .urgent = is_urgent(kind, op->ballot.id)};

    return put(m, op, &output);
}

int ftc_member_multicast(struct ftc_member *m, struct ftc_operation *op,
                         const struct ftc_message *piece)
{
    struct ftc_output output = {.kind = FTC_OUTPUT_MULTICAST,
                                .to = -1,
                                .message = FTC_MESSAGE_FRAGMENT,
                                .head = ftc_member_encode(m, op, FTC_MESSAGE_FRAGMENT, piece),
                                .value = piece->contribution.value,
                                .piece = piece->piece,
                                .op = op->k};

    return put(m, op, &output);
}

int ftc_member_fence(struct ftc_member *m)
{
    int rc = ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_FENCED});

    m->fenced = true;
    ftc_rule_taken(m, FTC_RULE_FENCED);
    return rc == 0 ? FTC_ERR_FENCED : rc;
}

/* A process that was fenced learns it by an output. The input itself went well. */
static int unless_fenced(int rc)
{
    return rc == FTC_ERR_FENCED ? 0 : rc;
}

/* --- L --- */

/* A process that was declared failed does nothing more: the rules assume that it has stopped. */
static int learned(struct ftc_member *m)
{
    m->changed = true;
    return ftc_knows_failed(m, m->set.self) ? ftc_member_fence(m) : 0;
}

int ftc_member_learn(struct ftc_member *m, const struct ftc_set *failed)
{
    return ftc_set_unite(&m->known, failed) ? learned(m) : 0;
}

int ftc_member_learn_rank(struct ftc_member *m, int rank)
{
    if (ftc_knows_failed(m, rank))
        return 0;
    ftc_set_add(&m->known, rank);
    return learned(m);
}

/* --- delivery --- */

/* agreement.md, rule 5: G := D's failed set; L := L ∪ G; epoch := (k, D's ballot), unless that
 * ballot is (0,0). */
static int adopt_decision(struct ftc_member *m, struct ftc_operation *op,
                          struct ftc_decision *decision)
{
    op->decision = ftc_decision_ref(decision);
    if (decision->ballot.i > 0 || decision->ballot.s > 0)
        m->epoch = (struct ftc_epoch){.op = op->k, .ballot = decision->ballot};
    int rc = ftc_member_learn(m, &decision->failed);
    if (rc != 0 || m->set.share == FTC_SHARE_OFF || ftc_set_equal(&m->agreed, &decision->failed))
        return rc;
    ftc_set_copy(&m->agreed, FTC_MUTATED(G_FROM_L) ? &m->known : &decision->failed);
    struct ftc_set members = {0};
    if (ftc_set_init(&members, m->set.ranks) != 0)
        return FTC_ERR_NOMEM;
    ftc_set_fill(&members);
    ftc_set_subtract(&members, &m->agreed);
    ftc_view_unref(m->view);
    m->view = ftc_view_new(&members);
    ftc_set_fini(&members);
    return m->view == NULL ? FTC_ERR_NOMEM : 0;
}

static void report_verdict(struct ftc_member *m, const struct ftc_vote_verdict *verdict)
{
    m->report.compared = verdict->compared;
    if (verdict->compared > 0)
        ftc_set_copy(&m->report_wrong, &verdict->wrong);
    else
        ftc_set_clear(&m->report_wrong);
}

int ftc_member_deliver(struct ftc_member *m, struct ftc_operation *op, int status,
                       struct ftc_decision *decision, const struct ftc_value *result)
{
    struct ftc_output output = {.kind = FTC_OUTPUT_DELIVER, .status = status, .decision = decision};

    assert(!op->returned);
    if (result != NULL && !ftc_integrity_sound(m, result))
        return ftc_integrity_corrupt(m);
    op->returned = true;
    ftc_rule_taken(m, FTC_RULE_DELIVER);
    m->report = (struct ftc_member_report){.ballots = op->ballots,
                                           .coordinator = op->ballot.coordinator,
                                           .spreads = decision != NULL,
                                           .dissemination = op->ballot.spread.dissemination,
                                           .correction = ftc_spread_correction(m, op)};
    report_verdict(m, decision != NULL ? &decision->verdict : &op->ballot.verdict);
    if (decision != NULL) {
        int rc = adopt_decision(m, op, decision);
        if (rc != 0)
            return rc;
        m->report.retries = decision->ballot.i + decision->ballot.s;
        ftc_set_copy(&m->report_failed, &decision->failed);
        ftc_decision_ref(decision);
        ftc_decision_unref(m->current_decision);
        m->current_decision = decision; /* output.decision stays valid: a call has one delivery */
    } else {
        ftc_set_copy(&m->report_failed, &m->known);
        ftc_set_unite(&m->report_failed, &op->ballot.info.list);
    }
    if (result != NULL && result->buffer != NULL)
        output.result = *result;
    if (!FTC_MUTATED(CONTRIBUTE_UNDECIDED))
        ftc_value_drop(&op->input);
    int rc = ftc_member_output(m, &output);
    ftc_value_drop(&op->result);
    return rc;
}

/* --- applying the rules --- */

/* Applies the rules to an operation. 1: something changed. A plain reduce frees itself when it is
 * done: do not touch `op` after that. */
static int apply(struct ftc_member *m, struct ftc_operation *op)
{
    if (ftc_operation_plain_reduce(op))
        return ftc_collect_advance(m, op);
    int rotated = ftc_operation_rotate(m, op);
    if (rotated < 0)
        return rotated;
    int collected = ftc_collect_advance(m, op);
    if (collected < 0)
        return collected;
    int given_up = ftc_exchange_give_up(m, op);
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

/* If L has grown, applies the rules to every retained operation. */
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

static int settle(struct ftc_member *m, uint64_t k)
{
    int rc = settle_one(m, k);

    if (rc == 0)
        rc = settle_all(m);
    if (FTC_MUTATED(FORGET_AT_RETURN) && m->newest != NULL)
        ftc_operation_free_before(m, m->newest->returned ? m->next_op : m->newest->k);
    return rc;
}

int ftc_member_settle(struct ftc_member *m, uint64_t k, int rc)
{
    return unless_fenced(rc == 0 ? settle(m, k) : rc);
}

/* --- other inputs --- */

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
    uint64_t k = m->scratch.op;
    struct ftc_operation *op = ftc_operation_find(m, k);
    if (k >= m->next_op)
        rc = ftc_receive_keep(m, k, from, datagram, buffer);
    else if (op == NULL)
        ftc_rule_taken(m, FTC_RULE_DROP_FREED);
    else
        rc = ftc_receive_judge(m, op, from, datagram);
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
    return unless_fenced(rc == 0 ? settle_all(m) : rc);
}

/* --- life --- */

static int all_ranks(struct ftc_member *m)
{
    struct ftc_set all = {0};

    if (ftc_set_init(&all, m->set.ranks) != 0)
        return FTC_ERR_NOMEM;
    ftc_set_fill(&all);
    m->view = ftc_view_new(&all);
    ftc_set_fini(&all);
    return m->view == NULL ? FTC_ERR_NOMEM : 0;
}

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
    m->child_room =
        settings->f + 1 > settings->reduce_arity ? settings->f + 1 : settings->reduce_arity;
    if (ftc_set_init(&m->known, n) != 0 || ftc_set_init(&m->agreed, n) != 0 ||
        ftc_set_init(&m->report_failed, n) != 0 || ftc_set_init(&m->report_wrong, n) != 0 ||
        ftc_message_init(&m->scratch, n) != 0 || all_ranks(m) != 0) {
        ftc_member_destroy(m);
        return FTC_ERR_NOMEM;
    }
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
    output_drop(&m->current);
    while (m->output_taken < m->output_count)
        output_drop(&m->output[m->output_taken++]);
    free(m->output);
    free(m->mismatch);
    ftc_decision_unref(m->current_decision);
    ftc_decision_unref(m->word);
    ftc_view_unref(m->delegates);
    ftc_view_unref(m->delegates_of);
    ftc_message_fini(&m->scratch);
    ftc_view_unref(m->view);
    ftc_set_fini(&m->known);
    ftc_set_fini(&m->agreed);
    ftc_set_fini(&m->report_failed);
    ftc_set_fini(&m->report_wrong);
    free(m);
}
