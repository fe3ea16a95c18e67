/* Rule 6 of agreement.md: asking for a decision (PULL), and announcing a ballot (PREPARE). */
#include "collectives/agreement/internal.h"

/* With the tree, its parent owes p DECIDE(b). Without, nobody does: any failure may have been that
 * of who would have sent it, and without failures chance may have missed p. */
static bool must_ask(const struct ftc_member *m, const struct ftc_ballot *b, int parent)
{
    if (b->spread.dissemination == FTC_DISSEMINATION_TREE || FTC_MUTATED(PULL_FOR_PARENT_ONLY))
        return ftc_knows_failed(m, parent);
    return (b->spread.impatient && !FTC_MUTATED(PULL_FOR_FAILURES_ONLY)) ||
           ftc_set_intersects(&m->known, &b->participants->set);
}

/* agreement.md, rule 6: decided or not, p without DECIDE(b) asks its nearest live ancestor, up to
 * c_b, and the next one when that fails too. */
int ftc_repair_pull(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_message pull = {0};
    int j = b->position, to;

    if (b->holding || j <= 0 || b->exchanges || (FTC_MUTATED(ONLY_UNDECIDED_PULL) && op->returned))
        return 0;
    j = ftc_topology_broadcast_parent(&m->set.tree, j);
    to = ftc_ballot_rank(b, j);
    if (!must_ask(m, b, to))
        return 0;
    while (j > 0 && ftc_knows_failed(m, to)) {
        j = ftc_topology_broadcast_parent(&m->set.tree, j);
        to = ftc_ballot_rank(b, j);
    }
    if (ftc_knows_failed(m, to) || to == b->pulled)
        return 0;
    b->pulled = to;
    ftc_rule_taken(m, FTC_RULE_PULL);
    if (!ftc_set_intersects(&m->known, &b->participants->set))
        ftc_rule_taken(m, FTC_RULE_PULL_IMPATIENT);
    return ftc_member_send(m, op, FTC_MESSAGE_PULL, to, &pull);
}

/* The asked one remembers, and answers once it holds DECIDE(b), even if it sent it before. */
int ftc_repair_asked(struct ftc_member *m, struct ftc_operation *op, int from)
{
    struct ftc_ballot *b = &op->ballot;

    if (!b->holding) {
        ftc_rule_taken(m, FTC_RULE_PULL_REMEMBER);
        if (!FTC_MUTATED(EARLY_PULL_FORGOTTEN))
            ftc_set_add(&b->asked, from);
        return 0;
    }
    ftc_rule_taken(m, FTC_RULE_PULL_ANSWER);
    return ftc_broadcast_send(m, op, from, FTC_WAY_OWED, 0);
}

static int send_prepare(struct ftc_member *m, struct ftc_operation *op, int to)
{
    struct ftc_message prepare = {0};

    ftc_set_add(&op->ballot.prepare_sent, to);
    return ftc_member_send(m, op, FTC_MESSAGE_PREPARE, to, &prepare);
}

static int prepare_all(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    for (int j = 1; j < b->size; j++) {
        int rc = send_prepare(m, op, ftc_ballot_rank(b, j));
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* To the children of `position`; in place of a child known failed to that child's children, and so
 * on. */
static int prepare_children(struct ftc_member *m, struct ftc_operation *op, int position)
{
    struct ftc_ballot *b = &op->ballot;

    for (int c = 0;; c++) {
        int rc = 0, j = ftc_topology_broadcast_child(&m->set.tree, b->size, position, c);
        if (j < 0)
            return 0;
        int to = ftc_ballot_rank(b, j);
        if (ftc_knows_failed(m, to)) {
            ftc_rule_taken(m, FTC_RULE_PREPARE_ADOPT);
            rc = FTC_MUTATED(NO_ADOPTION) ? 0 : prepare_children(m, op, j);
        } else if (!ftc_set_has(&b->prepare_sent, to)) {
            rc = send_prepare(m, op, to);
        }
        if (rc != 0)
            return rc;
    }
}

/* Called when c_b starts b, and down a tree for everyone in b without DECIDE(b) (rule 6). */
int ftc_repair_prepare(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->holding || b->position < 0 || (b->id.i == 0 && b->id.s == 0))
        return 0;
    if (m->set.prepare == FTC_PREPARE_TREE)
        return prepare_children(m, op, b->position);
    return b->position == 0 ? prepare_all(m, op) : 0;
}
