/* Operations: their memory, the list of those that are retained (agreement.md, rule 8), and what
 * rules ask about them. */
#include "collectives/agreement/internal.h"

#include <assert.h>
#include <stdlib.h>

static void awaited_clear(struct ftc_awaited *awaited, int count)
{
    for (int i = 0; i < count; i++) {
        ftc_contribution_drop(&awaited[i].contribution);
        ftc_buffer_unref(awaited[i].list);
        awaited[i].list = NULL;
    }
}

void ftc_ballot_forget(struct ftc_ballot *b)
{
    awaited_clear(b->group, b->group_size);
    awaited_clear(b->child, b->child_size);
    ftc_contribution_drop(&b->sum);
    ftc_set_fini(&b->verdict.wrong);
    b->verdict.compared = 0;
    ftc_fragments_drop(&b->spread.fragments);
}

void ftc_ballot_clear(struct ftc_ballot *b)
{
    ftc_ballot_forget(b);
    b->group_size = b->child_size = 0;
    ftc_view_unref(b->participants);
    b->participants = NULL;
}

void ftc_operation_destroy(struct ftc_operation *op)
{
    if (op == NULL)
        return;
    ftc_ballot_clear(&op->ballot);
    ftc_set_fini(&op->ballot.info.list);
    ftc_set_fini(&op->ballot.asked);
    ftc_set_fini(&op->ballot.decide_sent);
    ftc_set_fini(&op->ballot.prepare_sent);
    ftc_set_fini(&op->missing);
    free(op->ballot.spread.near);
    free(op->ballot.group);
    free(op->ballot.child);
    ftc_value_drop(&op->input);
    ftc_value_drop(&op->result);
    ftc_decision_unref(op->decision);
    ftc_view_unref(op->view);
    free(op);
}

static struct ftc_operation *operation_allocate(const struct ftc_member *m)
{
    struct ftc_operation *op = calloc(1, sizeof(*op));
    int n = m->set.ranks;

    if (op == NULL)
        return NULL;
    op->ballot.group = calloc((size_t)m->group_room, sizeof(*op->ballot.group));
    op->ballot.child = calloc((size_t)m->child_room, sizeof(*op->ballot.child));
    op->ballot.spread.near = calloc(2 * (size_t)ftc_correction_room(&m->correction), sizeof(int));
    if (op->ballot.group == NULL || op->ballot.child == NULL || op->ballot.spread.near == NULL ||
        ftc_set_init(&op->ballot.info.list, n) != 0 || ftc_set_init(&op->ballot.asked, n) != 0 ||
        ftc_set_init(&op->ballot.decide_sent, n) != 0 ||
        ftc_set_init(&op->ballot.prepare_sent, n) != 0 || ftc_set_init(&op->missing, n) != 0) {
        ftc_operation_destroy(op);
        return NULL;
    }
    return op;
}

/* The last operation that comes before k in the list; NULL: there is none. */
static struct ftc_operation *before(const struct ftc_member *m, uint64_t k)
{
    struct ftc_operation *last = m->newest;

    if (!ftc_op_is_settlement(k))
        return last;
    for (struct ftc_operation *op = last != NULL ? last->next : m->oldest; op != NULL;
         op = op->next)
        last = op;
    return last;
}

int ftc_operation_new(struct ftc_member *m, uint64_t k, const struct ftc_call *call,
                      struct ftc_view *view, struct ftc_operation **out)
{
    struct ftc_operation *op = m->spare, *last = before(m, k);

    if (op != NULL)
        m->spare = op->next;
    else if ((op = operation_allocate(m)) == NULL)
        return FTC_ERR_NOMEM;
    op->k = k;
    op->call = *call;
    op->view = ftc_view_ref(view);
    op->lead = 0;
    op->levels = op->sums = op->first_collects = op->exchanges = op->returned = false;
    op->asks = !ftc_op_is_settlement(k);
    op->checked = ftc_integrity_checks(m, &call->signature);
    op->poked = 0;
    op->ballots = 0;
    op->sent = 0;
    op->next = last != NULL ? last->next : m->oldest;
    if (last != NULL)
        last->next = op;
    else
        m->oldest = op;
    if (ftc_op_is_settlement(k))
        assert(op->next == NULL);
    else
        m->newest = op;
    m->retained += !ftc_op_is_settlement(k);
    *out = op;
    return 0;
}

void ftc_operation_free(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_operation **link = &m->oldest, *before = NULL;

    while (*link != op) {
        before = *link;
        link = &before->next;
    }
    *link = op->next;
    if (m->newest == op)
        m->newest = before;
    m->retained -= !ftc_operation_is_settlement(op);
    ftc_ballot_clear(&op->ballot);
    ftc_value_drop(&op->input);
    ftc_value_drop(&op->result);
    ftc_decision_unref(op->decision);
    op->decision = NULL;
    ftc_view_unref(op->view);
    op->view = NULL;
    op->next = m->spare;
    m->spare = op;
    ftc_rule_taken(m, FTC_RULE_FREE);
}

/* agreement.md, rule 8: every live process has called a later op, and so has delivered these. */
void ftc_operation_free_before(struct ftc_member *m, uint64_t k)
{
    struct ftc_operation *op = m->oldest;

    while (op != NULL && op->k < k) {
        struct ftc_operation *next = op->next;
        if (ftc_operation_is_settlement(op) == ftc_op_is_settlement(k))
            ftc_operation_free(m, op);
        op = next;
    }
}

struct ftc_operation *ftc_operation_find(const struct ftc_member *m, uint64_t k)
{
    struct ftc_operation *op = m->newest;

    if (op != NULL && op->k == k)
        return op;
    for (op = m->oldest; op != NULL && op->k < k; op = op->next)
        ;
    return op != NULL && op->k == k ? op : NULL;
}

bool ftc_operation_plain_reduce(const struct ftc_operation *op)
{
    return ftc_call_to_root(op->call.signature.kind) && (!op->levels || op->sums);
}

int ftc_operation_coordinator(const struct ftc_operation *op, uint32_t i)
{
    uint32_t behind = i == 0 ? op->lead : i <= op->lead ? i - 1 : i;

    assert(i < (uint32_t)op->view->size);
    return ftc_view_member(op->view,
                           (int)(((uint32_t)op->start + behind) % (uint32_t)op->view->size));
}

uint64_t ftc_operation_most(const struct ftc_operation *op)
{
    const struct ftc_signature *s = &op->call.signature;

    return ftc_operation_gathers(op) ? ftc_blocks_most(op->view->size, s->size) : s->size;
}

/* Is this a value, or a part of one, of the operation? `ranks`: it may have blocks of these. */
static bool value_fits(const struct ftc_operation *op, const struct ftc_value *value,
                       const struct ftc_set *ranks)
{
    uint64_t size = op->call.signature.size;

    return ftc_operation_gathers(op) ? ftc_blocks_sound(value, ranks, size) : value->size == size;
}

/* x of a broadcast is empty (agreement.md, "Operations"). x of a node has blocks of its ranks. */
bool ftc_operation_contribution_fits(const struct ftc_operation *op, const struct ftc_value *value)
{
    const struct ftc_view *ranks = op->levels ? op->view : op->ballot.participants;

    return ftc_call_from_root(op->call.signature.kind) ? value->size == 0
                                                       : value_fits(op, value, &ranks->set);
}

/* Over two levels a decision of a broadcast proves only that the delegates have called it, unless
 * (0,0) collects: then the delegates wait for the posts of all ranks. */
bool ftc_operation_settles(const struct ftc_operation *op, struct ftc_ballot_id ballot)
{
    bool gathered =
        !op->levels || !ftc_call_from_root(op->call.signature.kind) || FTC_MUTATED(SETTLE_BY_NODES);

    return op->first_collects || (gathered && (ballot.i > 0 || ballot.s > 0));
}

/* Only the root of a reduce has the value. */
bool ftc_decision_fits(const struct ftc_operation *op, const struct ftc_decision *decision)
{
    int kind = op->call.signature.kind;

    if (decision->status == FTC_ERR_ROOT_FAILED)
        return ftc_call_from_root(kind) && decision->value.size == 0;
    return decision->status == FTC_SUCCESS &&
           (ftc_call_table[kind].carries ? value_fits(op, &decision->value, &op->view->set)
                                         : decision->value.size == 0);
}

int ftc_ballot_rank(const struct ftc_ballot *b, int position)
{
    return ftc_view_rank(b->participants, b->coordinator, position);
}

int ftc_ballot_position(const struct ftc_ballot *b, int rank)
{
    return ftc_view_position(b->participants, b->coordinator, rank);
}
