/*
 * Contributions: sending, awaiting and combining them (agreement.md, rule 2).
 *
 * A participant waits for a contribution until the message or a notice comes. Contributions wait in
 * their slots. They are combined in order of position, never of arrival, so that everybody gets the
 * same bits.
 */
#include <assert.h>

#include "collectives/agreement/collector.h"

struct ftc_awaited *ftc_awaited_add(struct ftc_awaited *list, int *count, int rank)
{
    struct ftc_awaited *awaited = &list[(*count)++];

    assert(awaited->contribution.value.buffer == NULL && awaited->contribution.decision == NULL);
    *awaited = (struct ftc_awaited){.rank = rank};
    return awaited;
}

struct ftc_awaited *ftc_awaited_find(struct ftc_awaited *list, int count, int rank)
{
    for (int i = 0; i < count; i++)
        if (list[i].rank == rank)
            return &list[i];
    return NULL;
}

void ftc_awaited_arrive(struct ftc_awaited *awaited, struct ftc_message *message)
{
    awaited->arrived = true;
    awaited->contribution = message->contribution;
    message->contribution = (struct ftc_contribution){0};
}

void ftc_awaited_arrive_here(struct ftc_awaited *awaited, const struct ftc_message *up)
{
    awaited->arrived = true;
    if (up->contribution.decision != NULL)
        awaited->contribution.decision = ftc_decision_ref(up->contribution.decision);
    else
        ftc_value_set(&awaited->contribution.value, &up->contribution.value);
}

int ftc_contribution_send(struct ftc_member *m, struct ftc_operation *op, int to,
                          const struct ftc_message *up)
{
    return ftc_knows_failed(m, to) ? 0 : ftc_member_send(m, op, FTC_MESSAGE_UP, to, up);
}

void ftc_contribution_receive(struct ftc_ballot *b, int from, struct ftc_message *message)
{
    struct ftc_awaited *awaited = ftc_awaited_find(b->group, b->group_size, from);

    if (b->phase != FTC_BALLOT_GROUP || awaited->arrived ||
        (awaited->written_off && !FTC_MUTATED(LATE_CONTRIBUTION)))
        return;
    if (message->has_list && !FTC_MUTATED(UP_WITHOUT_LIST)) /* ranks without a post */
        ftc_set_unite(&b->info.list, &message->info.list);
    ftc_awaited_arrive(awaited, message);
}

bool ftc_awaited_settle(struct ftc_member *m, struct ftc_ballot *b, struct ftc_awaited *list,
                        int count, bool children)
{
    bool all = true;

    for (int i = 0; i < count; i++) {
        if (list[i].arrived || list[i].written_off)
            continue;
        if (!ftc_knows_failed(m, list[i].rank)) {
            all = false;
            continue;
        }
        list[i].written_off = true;
        ftc_set_add(&b->info.list, list[i].rank);
        b->info.count++;
        b->info.child |= children;
        ftc_rule_taken(m, children ? FTC_RULE_WRITE_OFF_CHILD : FTC_RULE_WRITE_OFF_GROUP);
    }
    return all;
}

/* Failed ranks of the view that a ballot after (0,0) began without. */
static uint32_t begun_without(const struct ftc_member *m, const struct ftc_operation *op)
{
    const struct ftc_ballot *b = &op->ballot;
    const struct ftc_set *view = &op->view->set;
    uint32_t count = 0;

    if (b->id.i + b->id.s == 0)
        return 0;
    for (int rank = ftc_set_next(view, 0); rank >= 0; rank = ftc_set_next(view, rank + 1))
        count += ftc_knows_failed(m, rank) && !ftc_set_has(&b->participants->set, rank) &&
                 !ftc_set_has(&b->info.list, rank);
    return count;
}

/* With `bit` others tell nothing of what they wrote off. In a direct ballot, and where nothing is
 * collected, nobody else writes off. */
uint32_t ftc_contribution_write_offs(const struct ftc_member *m, const struct ftc_operation *op)
{
    const struct ftc_ballot *b = &op->ballot;
    bool alone = !b->collects || ftc_collects_directly(&m->set, b->size);

    if (m->set.scheme == FTC_SCHEME_LIST)
        return begun_without(m, op) + (uint32_t)ftc_set_count(&b->info.list);
    return m->set.scheme == FTC_SCHEME_COUNT || alone ? begun_without(m, op) + b->info.count
                                                      : FTC_WRITE_OFFS_UNKNOWN;
}

/* Puts the blocks of both side by side. They were well-formed when they came. */
static int merge(struct ftc_member *m, struct ftc_value *sum, const struct ftc_value *next)
{
    struct ftc_value merged;
    int rc = ftc_blocks_merge(&merged, sum, next);

    if (rc == FTC_ERR_PROTO)
        return ftc_integrity_corrupt(m);
    if (rc != 0)
        return rc;
    ftc_value_drop(sum);
    *sum = merged;
    ftc_rule_taken(m, FTC_RULE_MERGE_BLOCKS);
    return 0;
}

/* Sets sum to "sum op next". First it checks that both values are still what they were. */
static int combine(struct ftc_member *m, const struct ftc_operation *op, struct ftc_value *sum,
                   struct ftc_value *next)
{
    if (!ftc_integrity_sound(m, sum) || !ftc_integrity_sound(m, next))
        return ftc_integrity_corrupt(m);
    if (ftc_operation_gathers(op))
        return merge(m, sum, next);
    assert(op->call.combine != NULL);
    int rc = ftc_value_own(next);
    if (rc != 0)
        return rc;
    op->call.combine(op->call.combine_arg, ftc_value_bytes(sum), ftc_value_bytes(next), next->size);
    next->checksum = 0;
    ftc_value_set(sum, next);
    return 0;
}

int ftc_contribution_combine(struct ftc_member *m, const struct ftc_operation *op,
                             struct ftc_contribution *sum, struct ftc_contribution *next)
{
    int rc = 0;

    if (sum->decision != NULL || next->decision != NULL) {
        if (sum->decision == NULL || next->decision == NULL)
            ftc_rule_taken(m, FTC_RULE_DECIDED_BEATS);
        if (FTC_MUTATED(UNDECIDED_WINS) ? next->decision == NULL : sum->decision == NULL) {
            ftc_contribution_drop(sum);
            *sum = *next;
            *next = (struct ftc_contribution){0};
        }
    } else if (!op->returned && next->value.size > 0) {
        /* A process that has returned contributes DECIDED(D), which will beat this sum. And its
         * caller may have destroyed the operator. */
        rc = combine(m, op, &sum->value, &next->value);
    }
    ftc_contribution_drop(next);
    return rc;
}

int ftc_awaited_combine(struct ftc_member *m, struct ftc_operation *op, struct ftc_awaited *list,
                        int count, bool sum_is_empty)
{
    struct ftc_ballot *b = &op->ballot;

    for (int i = 0; i < count; i++) {
        if (!list[i].arrived)
            continue;
        if (sum_is_empty) {
            b->sum = list[i].contribution;
            list[i].contribution = (struct ftc_contribution){0};
            sum_is_empty = false;
            continue;
        }
        int rc = ftc_contribution_combine(m, op, &b->sum, &list[i].contribution);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int ftc_contribution_protect(struct ftc_member *m, struct ftc_operation *op,
                             enum ftc_flip_variable variable)
{
    struct ftc_contribution *sum = &op->ballot.sum;

    return sum->decision == NULL ? ftc_integrity_protect(m, op, variable, &sum->value) : 0;
}

int ftc_contribution_combine_group(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (!ftc_awaited_settle(m, b, b->group, b->group_size, false))
        return 0;
    int rc = ftc_awaited_combine(m, op, b->group, b->group_size, true);
    if (rc == 0)
        rc = ftc_contribution_protect(m, op, FTC_FLIP_UP);
    return rc == 0 ? 1 : rc;
}
