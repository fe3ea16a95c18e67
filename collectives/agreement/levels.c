/* Two levels (docs/design/nodes.md, "Two levels"): which rank takes part for a node. */
#include <assert.h>

#include "collectives/agreement/internal.h"

bool ftc_member_two_levels(const struct ftc_member *m, const struct ftc_signature *signature)
{
    return ftc_levels_refuse(&m->set, signature, &m->agreed) == NULL;
}

void ftc_member_one_level(struct ftc_member *m)
{
    assert(m->next_op == 0 && m->oldest == NULL);
    m->set.nodes = 0;
    m->set.first_ranks = NULL;
}

bool ftc_levels_sound(const struct ftc_member_settings *set)
{
    if (set->nodes <= 1)
        return true;
    bool sound = set->first_ranks != NULL && set->first_ranks[0] == 0 &&
                 set->first_ranks[set->nodes] == set->ranks && set->scheme == FTC_SCHEME_LIST &&
                 set->integrity == FTC_INTEGRITY_NONE &&
                 set->dissemination != FTC_DISSEMINATION_MULTICAST;

    for (int node = 0; sound && node < set->nodes; node++)
        sound = set->first_ranks[node] < set->first_ranks[node + 1];
    return sound;
}

static int node_of(const struct ftc_member *m, int rank)
{
    int low = 0, high = m->set.nodes - 1;

    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (m->set.first_ranks[middle] <= rank)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The lowest rank of the node of `rank`. */
static int first_of(const struct ftc_member *m, int rank)
{
    return m->set.first_ranks[node_of(m, rank)];
}

static int end_of(const struct ftc_member *m, int rank)
{
    return m->set.first_ranks[node_of(m, rank) + 1];
}

/* Is the root another rank of the same node? Then it comes before `rank`. */
static bool behind_root(const struct ftc_member *m, int root, int rank)
{
    return root >= 0 && root != rank && node_of(m, root) == node_of(m, rank);
}

void ftc_levels_keep_delegates(const struct ftc_member *m, int root, struct ftc_set *members)
{
    for (int node = 0; node < m->set.nodes; node++) {
        int first = m->set.first_ranks[node], end = m->set.first_ranks[node + 1];
        bool leads = root >= first && root < end && ftc_set_has(members, root);
        int delegate = leads ? root : ftc_set_next(members, first);
        for (int rank = ftc_set_next(members, first); rank >= 0 && rank < end;
             rank = ftc_set_next(members, rank + 1))
            if (rank != delegate)
                ftc_set_remove(members, rank);
    }
}

/* The delegates in the view are kept until the view or the root changes. */
struct ftc_view *ftc_levels_delegates(struct ftc_member *m, int root)
{
    struct ftc_set members = {0};

    if (m->delegates != NULL && m->delegates_of == m->view && m->delegates_root == root)
        return m->delegates;
    if (ftc_set_init(&members, m->set.ranks) != 0)
        return NULL;
    ftc_set_copy(&members, &m->view->set);
    ftc_levels_keep_delegates(m, root, &members);
    struct ftc_view *delegates = ftc_view_new(&members);
    ftc_set_fini(&members);
    if (delegates == NULL)
        return NULL;
    ftc_view_unref(m->delegates);
    ftc_view_unref(m->delegates_of);
    m->delegates = delegates;
    m->delegates_of = ftc_view_ref(m->view);
    m->delegates_root = root;
    return delegates;
}

/* The rotation order: the root, the other ranks of its node in ascending order, the next nodes. So
 * the next coordinator after the root is the next delegate of its node. */
void ftc_levels_rotation(const struct ftc_member *m, struct ftc_operation *op)
{
    int root = op->call.signature.root;
    int start = ftc_view_index(op->view, ftc_set_next(&op->view->set, first_of(m, root)));

    op->lead = (uint32_t)(ftc_view_index(op->view, root) - start);
    op->start = start;
}

/* Have all ranks failed that come before this rank on its node? */
bool ftc_levels_is_delegate(const struct ftc_member *m, const struct ftc_operation *op)
{
    int self = m->set.self, root = op->call.signature.root;
    int rank = ftc_set_next(&op->view->set, first_of(m, self));

    if (root == self)
        return true;
    if (behind_root(m, root, self) && !ftc_knows_failed(m, root) && !FTC_MUTATED(ROOT_NOT_FIRST))
        return false;
    while (rank < self && ftc_knows_failed(m, rank))
        rank = ftc_set_next(&op->view->set, rank + 1);
    return rank == self;
}

int ftc_levels_learn_before(struct ftc_member *m, const struct ftc_operation *op, int delegate)
{
    int rank = ftc_set_next(&op->view->set, first_of(m, delegate)), root = op->call.signature.root;

    if (root == delegate)
        return 0;
    if (behind_root(m, root, delegate)) {
        int rc = ftc_member_learn_rank(m, root);
        if (rc != 0)
            return rc;
    }
    for (; rank >= 0 && rank < delegate; rank = ftc_set_next(&op->view->set, rank + 1)) {
        int rc = ftc_member_learn_rank(m, rank);
        if (rc != 0)
            return rc;
    }
    return 0;
}

bool ftc_levels_survives(const struct ftc_member *m, const struct ftc_operation *op, int rank)
{
    int other = ftc_set_next(&op->view->set, first_of(m, rank)), end = end_of(m, rank);

    for (; other >= 0 && other < end; other = ftc_set_next(&op->view->set, other + 1))
        if (!ftc_knows_failed(m, other) && !ftc_set_has(&op->ballot.info.list, other))
            return true;
    return false;
}

bool ftc_levels_lost_a_delegate(const struct ftc_member *m, const struct ftc_operation *op)
{
    const struct ftc_set *participants = &op->ballot.participants->set;

    if (!op->levels || FTC_MUTATED(LEAVE_OUT_NODE))
        return false;
    for (int rank = ftc_set_next(participants, 0); rank >= 0;
         rank = ftc_set_next(participants, rank + 1))
        if ((ftc_knows_failed(m, rank) || ftc_set_has(&op->ballot.info.list, rank)) &&
            ftc_levels_survives(m, op, rank))
            return true;
    return false;
}

bool ftc_levels_same_node(const struct ftc_member *m, int a, int b)
{
    return node_of(m, a) == node_of(m, b);
}

bool ftc_levels_names_node(const struct ftc_member *m, int rank, const struct ftc_set *set)
{
    int first = ftc_set_next(set, 0), end = end_of(m, rank);

    return (first < 0 || first >= first_of(m, rank)) && ftc_set_next(set, end) < 0 &&
           !ftc_set_has(set, rank);
}

bool ftc_levels_one_of_each(const struct ftc_member *m, const struct ftc_set *participants)
{
    int rank = ftc_set_next(participants, 0);

    while (rank >= 0) {
        int next = ftc_set_next(participants, rank + 1);
        if (next >= 0 && next < end_of(m, rank))
            return false;
        rank = next;
    }
    return true;
}

bool ftc_levels_before_me(const struct ftc_member *m, int root, const struct ftc_set *participants)
{
    int self = m->set.self, rank = ftc_set_next(participants, first_of(m, self));

    if (root == self)
        return false;
    return (behind_root(m, root, self) && ftc_set_has(participants, root)) ||
           (rank >= 0 && rank < self);
}
