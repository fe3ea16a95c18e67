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

/* Sets sum to "sum op next". First it checks that both values are still what they were. */
static int combine(struct ftc_member *m, const struct ftc_operation *op, struct ftc_value *sum,
                   struct ftc_value *next)
{
    assert(op->call.combine != NULL);
    if (!ftc_integrity_sound(m, sum) || !ftc_integrity_sound(m, next))
        return ftc_integrity_corrupt(m);
    int rc = ftc_value_own(next);
    if (rc != 0)
        return rc;
    op->call.combine(op->call.combine_arg, ftc_value_bytes(sum), ftc_value_bytes(next), next->size);
    next->checksum = 0;
    ftc_value_set(sum, next);
    return 0;
}

/* Combines `next` into `sum`, and uses it up. DECIDED beats UNDECIDED; two DECIDED are equal. */
int ftc_collect_combine(struct ftc_member *m, const struct ftc_operation *op,
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

/* Combines the contributions that arrived with the sum, in order. */
static int combine_arrived(struct ftc_member *m, struct ftc_operation *op, struct ftc_awaited *list,
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
        int rc = ftc_collect_combine(m, op, &b->sum, &list[i].contribution);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Writes off the ranks of the list that are known to have failed. Has each of the others come? */
static bool settled(struct ftc_member *m, struct ftc_ballot *b, struct ftc_awaited *list, int count,
                    bool children)
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

/* To be called when the sum of a phase is complete. */
static int protect_sum(struct ftc_member *m, struct ftc_operation *op,
                       enum ftc_flip_variable variable)
{
    struct ftc_contribution *sum = &op->ballot.sum;

    return sum->decision == NULL ? ftc_integrity_protect(m, op, variable, &sum->value) : 0;
}

/* The up-correction is done. If results are compared, c_b keeps the contributions of its group, and
 * the other members leave the group's value to c_b: they send nothing of it up. */
static int group_combine(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->position == 0 && ftc_vote_compares(m, op))
        return 0;
    int rc = combine_arrived(m, op, b->group, b->group_size, true);
    if (rc != 0)
        return rc;
    if (ftc_vote_left_out(m, op, b->position)) {
        ftc_value_drop(&b->sum.value);
        ftc_set_clear(&b->info.list);
    }
    return protect_sum(m, op, FTC_FLIP_UP);
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

    if (!settled(m, b, b->group, b->group_size, false))
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

    if (!settled(m, b, b->child, b->child_size, true))
        return 0;
    int rc = combine_arrived(m, op, b->child, b->child_size, false);
    if (rc == 0)
        rc = protect_sum(m, op, FTC_FLIP_PARTIAL);
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

    if (!settled(m, b, b->child, b->child_size, true))
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
        rc = ftc_collect_combine(m, op, &b->sum, taken);
    } else {
        ftc_contribution_drop(&b->sum);
        b->sum = *taken;
        *taken = (struct ftc_contribution){0};
    }
    return rc == 0 ? protect_sum(m, op, FTC_FLIP_PARTIAL) : rc;
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

        if (!settled(m, b, head, 1, true))
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

/* The value that a validate has collected is a union of L. Bits after the last rank are ignored:
 * others have sent them. */
static int learn_collected(struct ftc_member *m, const struct ftc_value *value)
{
    struct ftc_set collected = {0};

    if (!ftc_integrity_sound(m, value))
        return ftc_integrity_corrupt(m);
    int rc = ftc_set_init(&collected, m->set.ranks);
    if (rc != 0)
        return rc;
    ftc_set_add_bytes(&collected, ftc_value_bytes(value));
    rc = ftc_member_learn(m, &collected);
    ftc_set_fini(&collected);
    return rc;
}

/* Makes a new decision (rule 4): (OK or CORRUPT, the collected value or a broadcast root's own, L,
 * b), or ROOT_FAILED. */
static int decide_afresh(struct ftc_member *m, struct ftc_operation *op, struct ftc_decision **out)
{
    struct ftc_ballot *b = &op->ballot;
    int kind = op->call.signature.kind;
    struct ftc_decision *decision;
    int rc = 0;

    if (kind == FTC_CALL_VALIDATE)
        rc = learn_collected(m, &b->sum.value);
    if (rc != 0)
        return rc;
    decision = ftc_decision_new(m->set.ranks);
    if (decision == NULL)
        return FTC_ERR_NOMEM;
    ftc_set_copy(&decision->failed, &m->known);
    if (FTC_MUTATED(LEAVE_OUT_L)) {
        ftc_set_copy(&decision->failed, &m->agreed);
        ftc_set_unite(&decision->failed, &b->info.list);
    }
    decision->ballot = b->id;
    decision->status = b->status;
    decision->verdict = b->verdict;
    b->verdict = (struct ftc_vote_verdict){0};
    if (ftc_call_table[kind].has_result)
        ftc_value_set(&decision->value, &b->sum.value);
    else if (kind == FTC_CALL_REDUCE && b->id.i == 0)
        ftc_value_set(&op->result, &b->sum.value);
    else if (kind == FTC_CALL_BCAST && b->id.i == 0)
        ftc_value_set(&decision->value, &op->input);
    else if (kind == FTC_CALL_BCAST)
        decision->status = FTC_ERR_ROOT_FAILED;
    bool root_failed = decision->status == FTC_ERR_ROOT_FAILED;
    ftc_rule_taken(m, root_failed ? FTC_RULE_DECIDE_ROOT_FAILED : FTC_RULE_DECIDE);
    *out = decision;
    return ftc_integrity_disturb(m, op, FTC_FLIP_DECISION, 0, &decision->value);
}

/* agreement.md, rule 4. */
int ftc_collect_decide(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_decision *decision = NULL;
    int rc = ftc_member_learn(m, &b->info.list);

    if (rc != 0)
        return rc;
    if (b->sum.decision != NULL) {
        decision = ftc_decision_ref(b->sum.decision);
        if (FTC_MUTATED(UNITE_LATER_LISTS))
            ftc_set_unite(&decision->failed, &m->known);
        ftc_rule_taken(m, FTC_RULE_DECIDE_UNCHANGED);
    } else {
        rc = decide_afresh(m, op, &decision);
    }
    ftc_contribution_drop(&b->sum);
    if (rc == 0)
        rc = ftc_broadcast_hold(m, op, decision, &(struct ftc_arrival){.from = m->set.self});
    ftc_decision_unref(decision);
    return rc;
}

static struct ftc_awaited *awaited_find(struct ftc_awaited *list, int count, int rank)
{
    for (int i = 0; i < count; i++)
        if (list[i].rank == rank)
            return &list[i];
    return NULL;
}

/* Keeps a contribution that is awaited, and drops any other. */
static void awaited_arrive(struct ftc_awaited *awaited, struct ftc_message *message)
{
    awaited->arrived = true;
    awaited->contribution = message->contribution;
    message->contribution = (struct ftc_contribution){0};
}

void ftc_collect_up(struct ftc_member *m, struct ftc_operation *op, int from,
                    struct ftc_message *message)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_awaited *awaited = awaited_find(b->group, b->group_size, from);

    (void)m;
    if (b->phase != FTC_BALLOT_GROUP || awaited->arrived ||
        (awaited->written_off && !FTC_MUTATED(LATE_CONTRIBUTION)))
        return;
    if (message->has_list && !FTC_MUTATED(UP_WITHOUT_LIST)) /* ranks without a post */
        ftc_set_unite(&b->info.list, &message->info.list);
    awaited_arrive(awaited, message);
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
    struct ftc_awaited *awaited = awaited_find(b->child, b->child_size, from);

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
    awaited_arrive(awaited, message);
    if (b->position == 0 && ftc_vote_compares(m, op))
        return ftc_vote_keep_list(awaited, &message->info.list);
    return 0;
}
