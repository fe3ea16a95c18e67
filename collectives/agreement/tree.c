/*
 * Collecting in groups and trees (agreement.md, rule 2).
 *
 * A participant waits for the UP of each group member, and then for the TREE of each child, until
 * the message or a notice comes. The coordinator takes one failure-free subtree.
 */
#include <assert.h>

#include "collectives/agreement/collector.h"
#include "collectives/values/types.h"

/* The group is in order of position, which is the order of combination. */
static void await_group(const struct ftc_member *m, struct ftc_ballot *b)
{
    struct ftc_group group = ftc_topology_group(b->size, m->set.f, b->position);

    if (group.with_root)
        ftc_awaited_add(b->group, &b->group_size, b->coordinator);
    for (int i = 0; i < group.count; i++)
        ftc_awaited_add(b->group, &b->group_size, ftc_ballot_rank(b, group.first + i));
    if (b->group_size == 0)
        ftc_awaited_add(b->group, &b->group_size, m->set.self);
    assert(b->group_size <= m->group_room);
}

static void await_children(const struct ftc_member *m, struct ftc_ballot *b)
{
    int f = m->set.f, arity = m->set.reduce_arity;
    int room = b->position == 0 ? f + 1 : arity;

    for (int c = 0; c < room; c++) {
        int j = b->position == 0 ? ftc_topology_head(b->size, f, c)
                                 : ftc_topology_reduce_child(b->size, f, arity, b->position, c);
        if (j < 0)
            break;
        ftc_awaited_add(b->child, &b->child_size, ftc_ballot_rank(b, j));
    }
    assert(b->child_size <= m->child_room);
}

int ftc_tree_begin(struct ftc_member *m, struct ftc_operation *op, const struct ftc_message *up)
{
    struct ftc_ballot *b = &op->ballot;

    await_group(m, b);
    await_children(m, b);
    for (int i = 0; i < b->group_size; i++) {
        int rc = 0;
        if (b->group[i].rank == m->set.self)
            ftc_awaited_arrive_here(&b->group[i], up);
        else
            rc = ftc_contribution_send(m, op, b->group[i].rank, up);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* The up-correction. */
static int group_advance(struct ftc_member *m, struct ftc_operation *op)
{
    int rc = ftc_contribution_combine_group(m, op);

    if (rc <= 0)
        return rc;
    op->ballot.phase = FTC_BALLOT_TREE;
    return FTC_COLLECTED_MORE;
}

int ftc_tree_pass_up(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (!ftc_awaited_settle(m, b, b->child, b->child_size, true))
        return FTC_COLLECTED_NOTHING;
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
    b->phase = FTC_BALLOT_DONE;
    return FTC_COLLECTED_CONTRIBUTED;
}

int ftc_tree_complete(struct ftc_member *m, struct ftc_operation *op)
{
    if (ftc_levels_lost_a_delegate(m, op)) {
        ftc_rule_taken(m, FTC_RULE_RETRY_NODE);
        return FTC_COLLECTED_TOO_LITTLE;
    }
    op->ballot.phase = FTC_BALLOT_DONE;
    return FTC_COLLECTED_ALL;
}

/* --- which subtree c_b takes (rule 2) --- */

/* Has the result the same bits whichever failure-free subtree is taken? */
static bool same_bits(const struct ftc_operation *op)
{
    const struct ftc_signature *s = &op->call.signature;

    return !ftc_call_table[s->kind].reduces || s->size == 0 || ftc_operation_gathers(op) ||
           ftc_operator_exact((ftc_type)s->type, s->operator_code);
}

/* May c_b take the subtree of this head, though a lower one may still come? */
static bool take_early(struct ftc_member *m, const struct ftc_operation *op,
                       const struct ftc_awaited *head)
{
    const struct ftc_ballot *b = &op->ballot;
    bool decided = b->sum.decision != NULL || head->contribution.decision != NULL;

    if (m->set.take == FTC_TAKE_LOWEST)
        return false;
    if (m->set.take == FTC_TAKE_FIRST || decided || same_bits(op)) {
        ftc_rule_taken(m, FTC_RULE_TAKE_EARLY);
        return true;
    }
    if (b->waited)
        ftc_rule_taken(m, FTC_RULE_STRAGGLER);
    return b->waited;
}

/* A failure-free subtree has come, and c_b begins to wait for the lower ones, if it does not wait
 * yet. If no other wait is under way, the timer is an old one, and this wait need not be longer
 * because of it. */
static int wait_for_lower(struct ftc_member *m, struct ftc_ballot *b)
{
    int rc = 0;

    if (m->set.take == FTC_TAKE_AUTO && m->set.straggler_ns > 0 && b->straggler_ns == 0) {
        if (ftc_timer_need(m) == 0)
            m->timer_ns = 0;
        b->straggler_ns = ftc_timer_from_now(m, m->set.straggler_ns);
        rc = ftc_timer_arm(m);
    }
    return rc == 0 ? FTC_COLLECTED_NOTHING : rc;
}

void ftc_tree_tick(struct ftc_member *m, struct ftc_operation *op, uint64_t passed_ns)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->straggler_ns == 0)
        return;
    bool over = b->straggler_ns <= passed_ns;
    b->waited = over && !FTC_MUTATED(STRAGGLER_FOR_EVER);
    b->straggler_ns = over ? 0 : b->straggler_ns - passed_ns;
    m->changed |= b->waited;
}

/* Takes the value of subtree s, combined with that of the coordinator's group. */
static int take_subtree(struct ftc_member *m, struct ftc_operation *op, int s)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_contribution *taken = &b->child[s].contribution;
    int rc = 0;

    b->straggler_ns = 0;
    b->info.count += b->child[s].count;
    if (!ftc_topology_subtree_has_root_value(b->size, m->set.f, s)) {
        rc = ftc_contribution_combine(m, op, &b->sum, taken);
    } else {
        ftc_contribution_drop(&b->sum);
        b->sum = *taken;
        *taken = (struct ftc_contribution){0};
    }
    return rc == 0 ? ftc_contribution_protect(m, op, FTC_FLIP_PARTIAL) : rc;
}

/* Can the subtree of this head be taken? `gone`: it has come, or is written off. */
static bool usable(struct ftc_ballot *b, const struct ftc_awaited *head, bool gone)
{
    if (!gone && b->waited) {
        if (FTC_MUTATED(STRAGGLER_FAILED))
            ftc_set_add(&b->info.list, head->rank);
        return FTC_MUTATED(STRAGGLER_TAKEN);
    }
    return head->arrived && head->failure_free;
}

int ftc_tree_choose(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    bool all = true;

    if (b->child_size < m->set.f + 1 && !FTC_MUTATED(EMPTY_SUBTREE_FAILED)) {
        /* A subtree is empty, and hence failure-free; or the form is Direct. In both cases the
         * coordinator's own up-corrected value is complete. */
        ftc_rule_taken(m, FTC_RULE_EMPTY_SUBTREE);
        return ftc_tree_complete(m, op);
    }
    for (int s = 0; s < b->child_size; s++) {
        struct ftc_awaited *head = &b->child[s];
        bool gone = ftc_awaited_settle(m, b, head, 1, true);

        all &= gone;
        if (!usable(b, head, gone)) {
            if (gone && FTC_MUTATED(MASK_NOTHING))
                return FTC_COLLECTED_TOO_LITTLE;
            continue;
        }
        if (!all && !take_early(m, op, head))
            return wait_for_lower(m, b);
        int rc = take_subtree(m, op, s);
        return rc == 0 ? ftc_tree_complete(m, op) : rc;
    }
    return all ? FTC_COLLECTED_TOO_LITTLE : FTC_COLLECTED_NOTHING;
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

/* A mutation: the late subtree replaces the value of D. */
static void take_after_decision(struct ftc_operation *op, const struct ftc_message *tree)
{
    struct ftc_decision *decision = op->decision;
    const struct ftc_value *late = &tree->contribution.value;

    if (decision != NULL && decision->value.buffer != NULL && late->buffer != NULL)
        ftc_value_set(&decision->value, late);
}

/* A TREE that comes before the own group is complete waits in its slot (rule 0). */
struct ftc_awaited *ftc_tree_keep(struct ftc_member *m, struct ftc_operation *op, int from,
                                  struct ftc_message *tree)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_awaited *awaited = ftc_awaited_find(b->child, b->child_size, from);

    bool late = awaited->written_off && !FTC_MUTATED(LATE_CONTRIBUTION);
    if (FTC_MUTATED(TAKE_AFTER_DECISION) && b->phase == FTC_BALLOT_DONE)
        take_after_decision(op, tree);
    if (b->phase > FTC_BALLOT_TREE || awaited->arrived || late)
        return NULL;
    ftc_set_unite(&b->info.list, &tree->info.list);
    if (b->position == 0) {
        awaited->failure_free = subtree_failure_free(m, b, from, &tree->info);
        awaited->count = tree->info.count;
    } else {
        b->info.count += tree->info.count;
        b->info.child |= tree->info.child;
    }
    ftc_awaited_arrive(awaited, tree);
    return awaited;
}

static int take(struct ftc_member *m, struct ftc_operation *op, int from, struct ftc_message *tree)
{
    ftc_tree_keep(m, op, from, tree);
    return 0;
}

static int advance(struct ftc_member *m, struct ftc_operation *op)
{
    if (op->ballot.phase == FTC_BALLOT_GROUP)
        return group_advance(m, op);
    return op->ballot.position == 0 ? ftc_tree_choose(m, op) : ftc_tree_pass_up(m, op);
}

const struct ftc_collector ftc_collector_tree = {
    .begin = ftc_tree_begin,
    .advance = advance,
    .take = take,
};
