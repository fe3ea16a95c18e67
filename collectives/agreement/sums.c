/*
 * Reduces over two levels whose senders go on (docs/design/nodes.md, S1 to S8). The root awaits one
 * sum of each node, from whichever rank of the node sends it. The other ranks keep no state.
 */
#include <string.h>

#include "collectives/agreement/collector.h"

/* S1 */
static bool suits(const struct ftc_member_settings *set, const struct ftc_signature *signature)
{
    return ftc_sums_refuse(set, signature) == NULL &&
           ftc_levels_refuse(set, signature, NULL) == NULL;
}

bool ftc_member_sums(const struct ftc_member *m, const struct ftc_signature *signature)
{
    return suits(&m->set, signature) && !ftc_set_has(&m->agreed, signature->root);
}

/* --- the root --- */

/* The sums stand in the order of the nodes from that of the root on. So the value has the same bits
 * whichever rank sends the sum of a node. */
static int begin(struct ftc_member *m, struct ftc_operation *op, const struct ftc_message *up)
{
    struct ftc_ballot *b = &op->ballot;

    (void)m;
    for (int j = 0; j < b->size; j++)
        ftc_awaited_add(b->group, &b->group_size, ftc_ballot_rank(b, j));
    ftc_awaited_arrive_here(&b->group[0], up);
    return 0;
}

/* Names the ranks of a node that is written off. */
static void name_node(const struct ftc_member *m, struct ftc_operation *op, int rank)
{
    const struct ftc_set *view = &op->view->set;

    for (int other = rank; other >= 0 && ftc_levels_same_node(m, other, rank);
         other = ftc_set_next(view, other + 1))
        ftc_set_add(&op->ballot.info.list, other);
}

/* S5: a node is written off when all of its ranks have failed. */
static bool node_is_settled(struct ftc_member *m, struct ftc_operation *op,
                            struct ftc_awaited *node)
{
    bool gone = FTC_MUTATED(SUMS_OF_DELEGATES) ? ftc_knows_failed(m, node->rank)
                                               : !ftc_levels_survives(m, op, node->rank);

    if (node->arrived || node->written_off)
        return true;
    if (!gone)
        return false;
    node->written_off = true;
    name_node(m, op, node->rank);
    ftc_rule_taken(m, FTC_RULE_WRITE_OFF_GROUP);
    return true;
}

static int advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    bool all = true;

    for (int i = 0; i < b->group_size; i++)
        all &= node_is_settled(m, op, &b->group[i]);
    if (!all)
        return FTC_COLLECTED_NOTHING;
    int rc = ftc_awaited_combine(m, op, b->group, b->group_size, true);
    if (rc != 0)
        return rc;
    b->phase = FTC_BALLOT_DONE;
    return FTC_COLLECTED_ALL;
}

const struct ftc_collector ftc_collector_sums = {.begin = begin, .advance = advance};

/* A mutation: the root takes the sum of a delegate and that of its successor. */
static int take_again(struct ftc_member *m, struct ftc_operation *op, struct ftc_awaited *node)
{
    return ftc_contribution_combine(m, op, &node->contribution, &m->scratch.contribution);
}

/* The highest rank that has sent is the delegate, if one of them lives: S6 answers it. */
static void note_sender(struct ftc_awaited *node, int from)
{
    bool later = FTC_MUTATED(SUMS_FIRST_SENDER) ? !node->arrived : from > node->rank;

    if (later)
        node->rank = from;
}

int ftc_sums_receive(struct ftc_member *m, struct ftc_operation *op, int from)
{
    struct ftc_message *message = &m->scratch;
    struct ftc_ballot *b = &op->ballot;
    struct ftc_awaited *node = b->group;

    while (node < b->group + b->group_size && !ftc_levels_same_node(m, node->rank, from))
        node++;
    if (node == b->group || node == b->group + b->group_size || message->kind != FTC_MESSAGE_UP ||
        !message->has_list || message->contribution.decision != NULL ||
        !ftc_levels_names_node(m, from, &message->info.list) ||
        !ftc_operation_contribution_fits(op, &message->contribution.value))
        return FTC_ERR_PROTO;
    note_sender(node, from);
    if (node->arrived && FTC_MUTATED(SUMS_TWICE))
        return take_again(m, op, node);
    if (node->arrived || node->written_off)
        return 0;
    if (!FTC_MUTATED(UP_WITHOUT_LIST))
        ftc_set_unite(&b->info.list, &message->info.list);
    ftc_awaited_arrive(node, message);
    return 0;
}

/* --- messages without an operation --- */

/* The reduce that such a message names in its head. */
struct reduce {
    uint64_t k;
    struct ftc_epoch epoch;
    const struct ftc_signature *signature;
};

static int send(struct ftc_member *m, const struct reduce *reduce, int to,
                struct ftc_message *message)
{
    message->op = reduce->k;
    message->epoch = reduce->epoch;
    message->signature = *reduce->signature;
    message->communicator = m->set.communicator;
    struct ftc_output output = {.kind = FTC_OUTPUT_SEND,
                                .to = to,
                                .message = message->kind,
                                .head = ftc_message_encode(message, m->set.scheme),
                                .value = *ftc_message_value(message),
                                .op = reduce->k,
                                .urgent = reduce->k + 1 < m->next_op};
    if (output.head == NULL)
        return FTC_ERR_NOMEM;
    int rc = ftc_member_output(m, &output);
    ftc_buffer_unref(output.head);
    return rc;
}

/* S6. The epoch is that of the sum which is answered. The receiver does not look at it. */
static int send_taken(struct ftc_member *m, const struct reduce *reduce, int to)
{
    struct ftc_message taken = {.kind = FTC_MESSAGE_TAKEN};

    return ftc_knows_failed(m, to) ? 0 : send(m, reduce, to, &taken);
}

static int answer(struct ftc_member *m)
{
    struct ftc_unanswered *u = &m->unanswered;
    const struct reduce reduce = {u->k, u->epoch, &u->signature};
    int rc = 0;

    for (int i = 0; rc == 0 && i < u->count; i++)
        rc = send_taken(m, &reduce, u->rank[i]);
    u->count = 0;
    return rc;
}

int ftc_sums_delivered(struct ftc_member *m, const struct ftc_operation *op)
{
    struct ftc_unanswered *u = &m->unanswered;
    const struct ftc_ballot *b = &op->ballot;

    if (!op->sums)
        return 0;
    u->count = 0; /* this TAKEN stands for that of the reduce before */
    u->k = op->k;
    u->epoch = op->epoch;
    u->signature = op->call.signature;
    for (int i = 1; i < b->group_size; i++)
        if (b->group[i].arrived)
            u->rank[u->count++] = b->group[i].rank;
    return op->call.answers ? answer(m) : 0;
}

int ftc_sums_answer_before(struct ftc_member *m, const struct ftc_signature *next)
{
    bool ends_row = !ftc_member_sums(m, next) || next->root != m->set.self;

    return ends_row && !FTC_MUTATED(SUMS_OWED_FOR_EVER) ? answer(m) : 0;
}

/* --- the others --- */

int ftc_sums_pass(struct ftc_member *m, int root)
{
    m->report = (struct ftc_member_report){.coordinator = root};
    ftc_set_clear(&m->report_wrong);
    ftc_set_copy(&m->report_failed, &m->known);
    ftc_rule_taken(m, FTC_RULE_DELIVER);
    return ftc_member_output(
        m, &(struct ftc_output){.kind = FTC_OUTPUT_DELIVER, .status = FTC_SUCCESS});
}

int ftc_member_sum(struct ftc_member *m, uint64_t k, struct ftc_epoch epoch,
                   const struct ftc_call *call)
{
    const struct reduce reduce = {k, epoch, &call->signature};
    struct ftc_message up = {.kind = FTC_MESSAGE_UP, .has_list = true};
    size_t size = (size_t)call->signature.size;

    if (m->fenced)
        return 0;
    up.info.list = *call->missing;
    if (size > 0) {
        struct ftc_buffer *buffer = ftc_buffer_new(size);
        if (buffer == NULL)
            return FTC_ERR_NOMEM;
        memcpy(buffer->data, call->input, size);
        up.contribution.value = (struct ftc_value){.buffer = buffer, .size = size};
    }
    ftc_rule_taken(m, FTC_RULE_SUM);
    int rc = send(m, &reduce, (int)call->signature.root, &up);
    ftc_contribution_drop(&up.contribution);
    return rc;
}

int ftc_sums_receive_late(struct ftc_member *m, int from)
{
    const struct ftc_message *message = &m->scratch;
    int root = (int)message->signature.root;
    bool sums = suits(&m->set, &message->signature);

    if (message->kind == FTC_MESSAGE_TAKEN) {
        if (!sums || from != root || message->op >= m->next_op)
            return FTC_ERR_PROTO;
        return ftc_member_output(
            m, &(struct ftc_output){.kind = FTC_OUTPUT_TAKEN, .to = root, .op = message->op});
    }
    ftc_rule_taken(m, FTC_RULE_DROP_FREED);
    if (!sums || message->kind != FTC_MESSAGE_UP || root != m->set.self ||
        FTC_MUTATED(SUMS_UNANSWERED))
        return 0;
    ftc_rule_taken(m, FTC_RULE_TAKEN_AGAIN);
    return send_taken(m, &(struct reduce){message->op, message->epoch, &message->signature}, from);
}
