/* agreement.md, rule 6: asking for a decision (PULL), and announcing a ballot (PREPARE). */
#include "collectives/agreement/collector.h"
#include "collectives/agreement/spread.h"

/* With the tree the broadcast parent owes p DECIDE(b). With gossip and multicast nobody does: any
 * failed rank may be the one that would have sent it, and chance may have missed p without a
 * failure. */
static bool must_ask(const struct ftc_member *m, const struct ftc_ballot *b, int parent)
{
    if (b->spread.dissemination == FTC_DISSEMINATION_TREE || FTC_MUTATED(PULL_FOR_PARENT_ONLY))
        return ftc_knows_failed(m, parent);
    return (b->spread.impatient && !FTC_MUTATED(PULL_FOR_FAILURES_ONLY)) ||
           ftc_set_intersects(&m->known, &b->participants->set);
}

/* agreement.md, rule 6: p does not hold DECIDE(b). Decided or not, it asks its nearest live
 * ancestor, up to c_b, and the next one when that one fails, too. */
int ftc_repair_pull(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_message pull = {0};
    int j = b->position, to;

    if (b->holding || j <= 0 || ftc_ballot_exchanges(b) ||
        (FTC_MUTATED(ONLY_UNDECIDED_PULL) && op->returned))
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

/* A rank that is asked remembers it, and answers once it holds DECIDE(b), even if it has sent it
 * before. */
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
    return ftc_member_send_decide(m, op, from, FTC_WAY_OWED, 0);
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

/* Sends PREPARE to the children of `position`. In place of a child that is known to have failed it
 * goes to the children of that child, and so on. */
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

/* c_b calls this when it starts b. If PREPARE goes down the tree, every rank in b without DECIDE(b)
 * calls it, too (rule 6). */
int ftc_repair_prepare(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->holding || b->position < 0 || (b->id.i == 0 && b->id.s == 0))
        return 0;
    if (m->set.prepare == FTC_PREPARE_TREE)
        return prepare_children(m, op, b->position);
    return b->position == 0 ? prepare_all(m, op) : 0;
}
