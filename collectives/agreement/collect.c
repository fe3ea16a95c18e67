/*
 * Collecting and deciding: agreement.md, rules 2, 3 and 4.
 *
 * A participant waits for the UP of each group member, and then for the TREE of each child, until
 * the message or a notice comes. Contributions wait in their slots. They are combined in order of
 * position, never of arrival, so that everybody gets the same bits. The coordinator takes the
 * lowest failure-free subtree.
 */
#include <assert.h>
#include <string.h>

#include "collectives/agreement/internal.h"

/* The up-correction is done. If results are compared, c_b keeps the contributions of its group, and
 * the other members leave the group's value to c_b: they send nothing of it up. */
static int group_combine(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->position == 0 && ftc_vote_compares(m, op))
        return 0;
    int rc = ftc_awaited_combine(m, op, b->group, b->group_size, true);
    if (rc != 0)
        return rc;
    if (ftc_vote_left_out(m, op, b->position)) {
        ftc_value_drop(&b->sum.value);
        ftc_set_clear(&b->info.list);
    }
    return ftc_contribution_protect(m, op, FTC_FLIP_UP);
}

/* p != c_b has done its part of the collection. */
static int contributor_done(struct ftc_member *m, struct ftc_operation *op)
{
    op->ballot.phase = FTC_BALLOT_DONE;
    if (ftc_operation_plain_reduce(op)) {
        int rc = ftc_member_deliver(m, op, FTC_SUCCESS, NULL, NULL);
        ftc_operation_free(m, op);
        return rc == 0 ? 1 : rc;
    }
    ftc_contribution_drop(&op->ballot.sum);
    return 1;
}

static int group_advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (!ftc_awaited_settle(m, b, b->group, b->group_size, false))
        return 0;
    int rc = group_combine(m, op);
    if (rc != 0)
        return rc;
    if (ftc_ballot_direct(m, b) && b->position > 0)
        return contributor_done(m, op);
    b->phase = FTC_BALLOT_TREE;
    return 1;
}

/* p != c_b: all children have come or are written off. Passes the sum on to the I(f)-parent. */
static int tree_advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (!ftc_awaited_settle(m, b, b->child, b->child_size, true))
        return 0;
    int rc = ftc_awaited_combine(m, op, b->child, b->child_size, false);
    if (rc == 0)
        rc = ftc_contribution_protect(m, op, FTC_FLIP_PARTIAL);
    if (rc != 0)
        return rc;
    int parent =
        ftc_ballot_rank(b, ftc_topology_reduce_parent(m->set.f, m->set.reduce_arity, b->position));
    if (!ftc_knows_failed(m, parent)) {
        struct ftc_message tree = {.info = b->info, .contribution = b->sum};
        rc = ftc_member_send(m, op, FTC_MESSAGE_TREE, parent, &tree);
        if (rc != 0)
            return rc;
    }
    return contributor_done(m, op);
}

/* The root of a plain reduce has the value. So every live process has called this op (rule 8). */
static int reduce_deliver(struct ftc_member *m, struct ftc_operation *op, int status)
{
    struct ftc_value none = {0};
    const struct ftc_value *result = status == FTC_SUCCESS ? &op->ballot.sum.value : &none;
    int rc = ftc_member_deliver(m, op, status, NULL, result);

    if (status == FTC_SUCCESS)
        ftc_operation_free_before(m, op->k);
    ftc_operation_free(m, op);
    return rc == 0 ? 1 : rc;
}

/* agreement.md, rule 3: more than f failures hit this ballot. Or (two levels) a node that has live
 * ranks lost its delegate. */
static int coordinator_retry(struct ftc_member *m, struct ftc_operation *op);

static int coordinator_done(struct ftc_member *m, struct ftc_operation *op)
{
    if (ftc_levels_lost_a_delegate(m, op)) {
        ftc_rule_taken(m, FTC_RULE_RETRY_NODE);
        return coordinator_retry(m, op);
    }
    op->ballot.phase = FTC_BALLOT_DONE;
    if (ftc_operation_plain_reduce(op))
        return reduce_deliver(m, op, op->ballot.status);
    int rc = ftc_collect_decide(m, op);
    return rc == 0 ? 1 : rc;
}

static int coordinator_retry(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (ftc_operation_plain_reduce(op))
        return reduce_deliver(m, op, FTC_ERR_TOO_MANY_FAILURES);
    int rc = ftc_member_learn(m, &b->info.list);
    if (rc != 0)
        return rc;
    if (!ftc_set_intersects(&m->known, &b->participants->set) && !FTC_MUTATED(RETRY_AT_ONCE)) {
        if (b->phase != FTC_BALLOT_RETRY)
            ftc_rule_taken(m, FTC_RULE_RETRY_WAIT);
        b->phase = FTC_BALLOT_RETRY;
        return 0;
    }
    ftc_rule_taken(m, FTC_RULE_RETRY);
    rc = ftc_ballot_start(m, op, (struct ftc_ballot_id){.i = b->id.i, .s = b->id.s + 1});
    return rc == 0 ? 1 : rc;
}

/* Rule 2, "Vote": c_b waits for all heads. */
static int coordinator_compare(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (!ftc_awaited_settle(m, b, b->child, b->child_size, true))
        return 0;
    int rc = ftc_vote_choose(m, op);
    if (rc < 0)
        return rc;
    return rc == 1 ? coordinator_done(m, op) : coordinator_retry(m, op);
}

/* Takes the value of subtree s, combined with that of the coordinator's group. */
static int take_subtree(struct ftc_member *m, struct ftc_operation *op, int s)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_contribution *taken = &b->child[s].contribution;
    int rc = 0;

    if (!ftc_topology_subtree_has_root_value(b->size, m->set.f, s)) {
        rc = ftc_contribution_combine(m, op, &b->sum, taken);
    } else {
        ftc_contribution_drop(&b->sum);
        b->sum = *taken;
        *taken = (struct ftc_contribution){0};
    }
    return rc == 0 ? ftc_contribution_protect(m, op, FTC_FLIP_PARTIAL) : rc;
}

/* c_b takes the lowest failure-free subtree, once all lower ones have come or are written off (rule
 * 2). */
static int coordinator_advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->child_size < m->set.f + 1 && !FTC_MUTATED(EMPTY_SUBTREE_FAILED)) {
        /* A subtree is empty, and hence failure-free; or the form is Direct. In both cases the
         * coordinator's own up-corrected value is complete. */
        ftc_rule_taken(m, FTC_RULE_EMPTY_SUBTREE);
        return coordinator_done(m, op);
    }
    if (ftc_vote_compares(m, op))
        return coordinator_compare(m, op);
    for (int s = 0; s < b->child_size; s++) {
        struct ftc_awaited *head = &b->child[s];

        if (!ftc_awaited_settle(m, b, head, 1, true))
            return 0;
        if (!head->arrived || !head->failure_free) {
            if (FTC_MUTATED(MASK_NOTHING))
                break;
            continue;
        }
        b->info.count += head->count;
        int rc = take_subtree(m, op, s);
        return rc == 0 ? coordinator_done(m, op) : rc;
    }
    return coordinator_retry(m, op);
}

int ftc_collect_advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    switch (b->phase) {
    case FTC_BALLOT_GROUP:
        return b->exchanges ? ftc_exchange_advance(m, op) : group_advance(m, op);
    case FTC_BALLOT_TREE:
        return b->position == 0 ? coordinator_advance(m, op) : tree_advance(m, op);
    case FTC_BALLOT_RETRY:
        return coordinator_retry(m, op);
    case FTC_BALLOT_DONE:
        break;
    }
    return 0;
}

/* c_b decides, and holds DECIDE(b). */
int ftc_collect_decide(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_decision *decision = NULL;
    int rc = ftc_ballot_decide(m, op, &decision);

    ftc_contribution_drop(&op->ballot.sum);
    if (rc == 0)
        rc = ftc_broadcast_hold(m, op, decision, &(struct ftc_arrival){.from = m->set.self});
    ftc_decision_unref(decision);
    return rc;
}

/* Subtree s is failure-free if the list names no member of it, or if the bit is not set. */
static bool subtree_failure_free(const struct ftc_member *m, const struct ftc_ballot *b, int from,
                                 const struct ftc_failure_info *info)
{
    if (FTC_MUTATED(FAILED_SUBTREE))
        return true;
    if (m->set.scheme != FTC_SCHEME_LIST)
        return !info->child;
    int s = ftc_topology_subtree(m->set.f, ftc_ballot_position(b, from));
    for (int rank = ftc_set_next(&info->list, 0); rank >= 0;
         rank = ftc_set_next(&info->list, rank + 1)) {
        int position = ftc_ballot_position(b, rank);
        if (position > 0 && ftc_topology_subtree(m->set.f, position) == s)
            return false;
    }
    return true;
}

/* A TREE that comes before the own group is complete waits in its slot (rule 0). */
int ftc_collect_tree(struct ftc_member *m, struct ftc_operation *op, int from,
                     struct ftc_message *message)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_awaited *awaited = ftc_awaited_find(b->child, b->child_size, from);

    bool late = awaited->written_off && !FTC_MUTATED(LATE_CONTRIBUTION);
    if (b->phase > FTC_BALLOT_TREE || awaited->arrived || late)
        return 0;
    ftc_set_unite(&b->info.list, &message->info.list);
    if (b->position == 0) {
        awaited->failure_free = subtree_failure_free(m, b, from, &message->info);
        awaited->count = message->info.count;
    } else {
        b->info.count += message->info.count;
        b->info.child |= message->info.child;
    }
    ftc_awaited_arrive(awaited, message);
    if (b->position == 0 && ftc_vote_compares(m, op))
        return ftc_vote_keep_list(awaited, &message->info.list);
    return 0;
}
