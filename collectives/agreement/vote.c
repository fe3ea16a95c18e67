/*
 * Comparing the results of the subtrees: agreement.md, rule 2, "Vote".
 *
 * Every complete group is in every subtree, in the same order. So if the lists of the ranks that
 * are left out are equal, the bits must be equal. The coordinator itself adds the value of the last
 * group to each result. Each time it combines that value afresh from the UPs. So one bit that
 * changes by itself changes one result.
 */
#include <string.h>

#include "collectives/agreement/collector.h"

bool ftc_vote_compares(const struct ftc_member_settings *settings,
                       const struct ftc_signature *signature)
{
    return settings->integrity == FTC_INTEGRITY_VOTE && signature->size > 0 &&
           (ftc_call_table[signature->kind].reduces || ftc_signature_gathers(signature));
}

bool ftc_vote_suits(const struct ftc_member *m, const struct ftc_operation *op)
{
    return ftc_vote_compares(&m->set, &op->call.signature) && op->ballot.size > m->set.f + 1;
}

bool ftc_vote_left_out(const struct ftc_member *m, const struct ftc_operation *op, int position)
{
    return position > 0 && op->ballot.collector == &ftc_collector_vote &&
           !FTC_MUTATED(GROUP_IN_TREE) &&
           ftc_topology_group(op->ballot.size, m->set.f, position).with_root;
}

static int keep_list(struct ftc_awaited *head, const struct ftc_set *list)
{
    if (ftc_set_empty(list))
        return 0;
    head->list = ftc_buffer_new(ftc_set_bytes(list->size));
    if (head->list == NULL)
        return FTC_ERR_NOMEM;
    ftc_set_to_bytes(list, head->list->data);
    return 0;
}

/* --- which results are alike --- */

static bool usable(const struct ftc_awaited *head)
{
    return head->arrived && head->failure_free;
}

/* Do both results have the same inputs? */
static bool comparable(const struct ftc_awaited *a, const struct ftc_awaited *b)
{
    if (!usable(a) || !usable(b))
        return false;
    if (FTC_MUTATED(COMPARE_ANY))
        return true;
    if (a->list == NULL || b->list == NULL)
        return a->list == b->list;
    return memcmp(a->list->data, b->list->data, a->list->size) == 0;
}

/* Do they have the same inputs and the same bits? */
static bool agree(const struct ftc_awaited *a, const struct ftc_awaited *b)
{
    const struct ftc_value *x = &a->contribution.value, *y = &b->contribution.value;

    return comparable(a, b) && x->size == y->size &&
           memcmp(ftc_value_bytes(x), ftc_value_bytes(y), x->size) == 0;
}

typedef bool alike_fn(const struct ftc_awaited *a, const struct ftc_awaited *b);

static int count_alike(const struct ftc_ballot *b, const struct ftc_awaited *head, alike_fn *alike)
{
    int count = 0;

    for (int s = 0; s < b->child_size; s++)
        count += &b->child[s] == head ? usable(head) : alike(&b->child[s], head);
    return count;
}

/* Returns the head to which most heads are alike; if there are several such heads, the lowest; NULL
 * if none is usable. If `within` is not NULL, only heads that are comparable to it count. No more
 * than `most` heads can be alike. */
static struct ftc_awaited *find_most_alike(struct ftc_ballot *b, alike_fn *alike,
                                           const struct ftc_awaited *within, int most, int *count)
{
    struct ftc_awaited *best = NULL;

    *count = 0;
    for (int s = 0; s < b->child_size && 2 * *count <= most; s++) {
        if (within != NULL && !comparable(&b->child[s], within))
            continue;
        int here = count_alike(b, &b->child[s], alike);
        if (here > *count) {
            *count = here;
            best = &b->child[s];
        }
    }
    return best;
}

/* --- results --- */

/* Computes the value of the coordinator's group from the UPs, and keeps the UPs. */
static int add_group(struct ftc_member *m, struct ftc_operation *op, struct ftc_contribution *sum)
{
    struct ftc_ballot *b = &op->ballot;
    int rc = 0;

    for (int i = 0; rc == 0 && i < b->group_size; i++) {
        struct ftc_contribution up = {0};
        if (!b->group[i].arrived)
            continue;
        ftc_value_set(&up.value, &b->group[i].contribution.value);
        if (sum->value.buffer == NULL)
            *sum = up;
        else
            rc = ftc_contribution_combine(m, op, sum, &up);
    }
    return rc != 0 ? rc : ftc_integrity_protect(m, op, FTC_FLIP_UP, &sum->value);
}

/* Combines the head's contribution with the value of the group: the whole result. */
static int complete(struct ftc_member *m, struct ftc_operation *op, struct ftc_awaited *head)
{
    struct ftc_contribution sum = {0};
    int rc = add_group(m, op, &sum);

    if (rc == 0)
        rc = ftc_contribution_combine(m, op, &sum, &head->contribution);
    if (rc == 0)
        rc = ftc_integrity_protect(m, op, FTC_FLIP_PARTIAL, &sum.value);
    if (rc == 0)
        head->contribution = sum;
    else
        ftc_contribution_drop(&sum);
    return rc;
}

static int complete_all(struct ftc_member *m, struct ftc_operation *op,
                        const struct ftc_awaited *peer)
{
    struct ftc_ballot *b = &op->ballot;
    int rc = 0;

    for (int s = 0; rc == 0 && s < b->child_size; s++)
        if (comparable(&b->child[s], peer))
            rc = complete(m, op, &b->child[s]);
    return rc;
}

/* --- verdict --- */

static void take(struct ftc_ballot *b, struct ftc_contribution *contribution)
{
    b->sum = *contribution;
    *contribution = (struct ftc_contribution){0};
}

/* Takes DECIDED(D), if a member contributed it. A live process that has delivered D is in every
 * failure-free subtree, so there is nothing to compare. */
static bool take_decided(struct ftc_ballot *b)
{
    struct ftc_contribution *decided = NULL;

    for (int i = 0; i < b->group_size; i++)
        if (b->group[i].contribution.decision != NULL)
            decided = &b->group[i].contribution;
    for (int s = 0; s < b->child_size; s++)
        if (usable(&b->child[s]) && b->child[s].contribution.decision != NULL)
            decided = &b->child[s].contribution;
    if (decided != NULL)
        take(b, decided);
    return decided != NULL;
}

/* Records the verdict. `best` is one of the majority; NULL: there is no majority. */
static int record(struct ftc_member *m, struct ftc_ballot *b, const struct ftc_awaited *peer,
                  int compared, const struct ftc_awaited *best)
{
    struct ftc_vote_verdict *verdict = &b->verdict;

    if (ftc_set_init(&verdict->wrong, m->set.ranks) != 0)
        return FTC_ERR_NOMEM;
    verdict->compared = (uint32_t)compared;
    for (int s = 0; s < b->child_size; s++) {
        const struct ftc_awaited *head = &b->child[s];
        if (comparable(head, peer) && (best == NULL || !agree(head, best)))
            ftc_set_add(&verdict->wrong, head->rank);
    }
    ftc_rule_taken(m, FTC_RULE_COMPARE);
    if (best == NULL)
        ftc_rule_taken(m, FTC_RULE_DETECT);
    else if (!ftc_set_empty(&verdict->wrong))
        ftc_rule_taken(m, FTC_RULE_OUTVOTE);
    return 0;
}

/* All heads have come or are written off. Returns 1, and leaves in the ballot the value that is
 * taken, or that none can be taken, and the verdict. Returns 0 if no subtree is failure-free. */
static int choose(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    int compared, votes;
    const struct ftc_awaited *peer = find_most_alike(b, comparable, NULL, b->child_size, &compared);

    if (peer == NULL)
        return 0;
    if (take_decided(b))
        return 1;
    int rc = complete_all(m, op, peer);
    if (rc != 0)
        return rc;
    struct ftc_awaited *best = find_most_alike(b, agree, peer, compared, &votes);
    if (2 * votes <= compared && !FTC_MUTATED(NO_MAJORITY))
        best = NULL;
    if (compared > 1)
        rc = record(m, b, peer, compared, best);
    if (rc != 0)
        return rc;
    if (best == NULL)
        b->status = FTC_ERR_CORRUPT;
    else
        take(b, &best->contribution);
    return 1;
}

/* --- collecting --- */

static int combine_group(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    int rc = ftc_awaited_combine(m, op, b->group, b->group_size, true);

    if (rc != 0)
        return rc;
    if (ftc_vote_left_out(m, op, b->position)) {
        ftc_value_drop(&b->sum.value);
        ftc_set_clear(&b->info.list);
    }
    return ftc_contribution_protect(m, op, FTC_FLIP_UP);
}

/* The up-correction. c_b keeps the contributions of its group, and the other members leave the
 * group's value to c_b: they send nothing of it up. */
static int group_advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (!ftc_awaited_settle(m, b, b->group, b->group_size, false))
        return FTC_COLLECTED_NOTHING;
    int rc = b->position == 0 ? 0 : combine_group(m, op);
    if (rc != 0)
        return rc;
    b->phase = FTC_BALLOT_TREE;
    return FTC_COLLECTED_MORE;
}

/* c_b waits for all heads. */
static int compare(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (!ftc_awaited_settle(m, b, b->child, b->child_size, true))
        return FTC_COLLECTED_NOTHING;
    int rc = choose(m, op);
    if (rc < 0)
        return rc;
    return rc == 1 ? ftc_tree_complete(m, op) : FTC_COLLECTED_TOO_LITTLE;
}

static int advance(struct ftc_member *m, struct ftc_operation *op)
{
    if (op->ballot.phase == FTC_BALLOT_GROUP)
        return group_advance(m, op);
    return op->ballot.position == 0 ? compare(m, op) : ftc_tree_pass_up(m, op);
}

static int take_tree(struct ftc_member *m, struct ftc_operation *op, int from,
                     struct ftc_message *tree)
{
    struct ftc_awaited *head = ftc_tree_keep(m, op, from, tree);

    return head != NULL && op->ballot.position == 0 ? keep_list(head, &tree->info.list) : 0;
}

const struct ftc_collector ftc_collector_vote = {
    .begin = ftc_tree_begin,
    .advance = advance,
    .take = take_tree,
};
