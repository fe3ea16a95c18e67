/* Spreading a decision: agreement.md, rules 5 and 6; the checked correction of algorithms-notes.md, 2.2. */
#include <assert.h>

#include "collectives/operation.h"

static int send_decide(struct ftc_member *m, struct ftc_operation *op, int to)
{
    struct ftc_message decide = {.correcting = op->ballot.correct.active,
                                 .contribution = {.decision = op->decision}};

    ftc_set_add(&op->ballot.decide_sent, to);
    return ftc_member_send(m, op, FTC_MESSAGE_DECIDE, to, &decide);
}

static bool is_ancestor(const struct ftc_member *m, const struct ftc_ballot *b, int position)
{
    for (int j = b->position; j > 0;) {
        j = ftc_topology_broadcast_parent(&m->set.tree, j);
        if (j == position)
            return true;
    }
    return false;
}

static int pass_on(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    int rc = 0;

    for (int c = 0; rc == 0; c++) {
        int j = ftc_topology_broadcast_child(&m->set.tree, b->size, b->position, c);
        if (j < 0)
            break;
        int to = ftc_ballot_rank(b, j);
        if (!ftc_knows_failed(m, to))
            rc = send_decide(m, op, to);
    }
    for (int to = ftc_set_next(&b->asked, 0); rc == 0 && to >= 0; to = ftc_set_next(&b->asked, to + 1)) {
        ftc_rule_taken(m, FTC_RULE_PULL_ANSWER);
        rc = send_decide(m, op, to);
    }
    ftc_set_clear(&b->asked);
    return rc;
}

/* Those reached by the tree correct; who is reached by correction only passes on (algorithms-notes.md, 2.2). */
static void correction_begin(struct ftc_member *m, struct ftc_operation *op, int from)
{
    struct ftc_ballot *b = &op->ballot;

    if (m->set.correction == FTC_CORRECTION_NONE || b->size < 2)
        return;
    b->correct.active = from == m->set.self || is_ancestor(m, b, ftc_ballot_position(b, from));
}

/* Hold DECIDE(b), from the coordinator's own decision or a message: deliver, pass on (rule 5). */
int ftc_broadcast_hold(struct ftc_member *m, struct ftc_operation *op, struct ftc_decision *decision,
                       int from)
{
    struct ftc_ballot *b = &op->ballot;
    bool again = op->returned;
    int rc = 0;

    assert(!b->holding);
    if (b->phase != FTC_BALLOT_DONE)
        ftc_rule_taken(m, FTC_RULE_STOP_EARLY);
    b->phase = FTC_BALLOT_DONE;
    b->holding = true;
    ftc_ballot_forget(b);
    if (again)
        ftc_rule_taken(m, FTC_RULE_PASS_AGAIN);
    else
        rc = ftc_member_deliver(m, op, decision->status, decision, &decision->value);
    if (rc != 0)
        return rc;
    if (FTC_MUTATED(DECIDED_KEEP_DECIDE) && again)
        return 0;
    correction_begin(m, op, from);
    rc = pass_on(m, op);
    if (rc == 0 && b->correct.active)
        rc = ftc_broadcast_correct(m, op);
    if (rc == 0 && (b->collects || FTC_MUTATED(FORGET_ON_BROADCAST)))
        ftc_operation_free_before(m, op->k);
    return rc;
}

/* --- correction --- */

static int ring_distance(const struct ftc_ballot *b, int position, enum ftc_side side)
{
    int right = (position - b->position + b->size) % b->size;

    return side == FTC_SIDE_RIGHT ? right : b->size - right;
}

void ftc_broadcast_heard(struct ftc_member *m, struct ftc_operation *op, int from)
{
    struct ftc_ballot *b = &op->ballot;
    int position = ftc_ballot_position(b, from);

    (void)m;
    for (enum ftc_side side = FTC_SIDE_LEFT; side <= FTC_SIDE_RIGHT; side++) {
        int distance = ring_distance(b, position, side);
        if (distance < b->correct.near[side])
            b->correct.near[side] = distance;
    }
}

static bool correction_done(const struct ftc_ballot *b)
{
    const struct ftc_corrector *c = &b->correct;
    bool met = c->off[0] >= c->near[0] && c->off[1] >= c->near[1];

    return met || c->off[0] + c->off[1] >= b->size - 1;
}

/* The next target of the correction, right before left, the less advanced side first; -1 when done. */
static int correction_target(struct ftc_ballot *b)
{
    struct ftc_corrector *c = &b->correct;

    if (correction_done(b))
        return -1;
    enum ftc_side side = c->off[FTC_SIDE_LEFT] < c->off[FTC_SIDE_RIGHT] ? FTC_SIDE_LEFT : FTC_SIDE_RIGHT;
    if (c->off[side] >= c->near[side])
        side = 1 - side;
    int distance = ++c->off[side];
    int position = side == FTC_SIDE_RIGHT ? b->position + distance : b->position - distance + b->size;
    return ftc_ballot_rank(b, position % b->size);
}

/* One message of the correction, then a pause. Who was sent DECIDE already, or is known failed, counts as sent to. */
int ftc_broadcast_correct(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_output timer = {.kind = FTC_OUTPUT_TIMER, .delay_ns = m->set.correction_delay_ns};
    int to;

    do {
        to = correction_target(b);
    } while (to >= 0 && (ftc_set_has(&b->decide_sent, to) || ftc_knows_failed(m, to)));
    if (to < 0) {
        b->correct.active = false;
        return 0;
    }
    ftc_rule_taken(m, FTC_RULE_CORRECT);
    int rc = send_decide(m, op, to);
    return rc == 0 ? ftc_member_output(m, &timer) : rc;
}

/* --- repair --- */

/* agreement.md, rule 6: decided or not, p without DECIDE(b) whose broadcast parent failed asks its nearest live ancestor,
 * up to c_b, and the next one when that fails too. */
int ftc_broadcast_repair(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_message pull = {0};
    int j = b->position, to;

    if (b->holding || j == 0 || (FTC_MUTATED(ONLY_UNDECIDED_PULL) && op->returned))
        return 0;
    j = ftc_topology_broadcast_parent(&m->set.tree, j);
    to = ftc_ballot_rank(b, j);
    if (!ftc_knows_failed(m, to))
        return 0;
    while (j > 0 && ftc_knows_failed(m, to)) {
        j = ftc_topology_broadcast_parent(&m->set.tree, j);
        to = ftc_ballot_rank(b, j);
    }
    if (ftc_knows_failed(m, to) || to == b->pulled)
        return 0;
    b->pulled = to;
    ftc_rule_taken(m, FTC_RULE_PULL);
    return ftc_member_send(m, op, FTC_MESSAGE_PULL, to, &pull);
}

/* The asked one remembers, and answers once it holds DECIDE(b), even if it sent it before. */
int ftc_broadcast_asked(struct ftc_member *m, struct ftc_operation *op, int from)
{
    struct ftc_ballot *b = &op->ballot;

    if (!b->holding) {
        ftc_rule_taken(m, FTC_RULE_PULL_REMEMBER);
        if (!FTC_MUTATED(EARLY_PULL_FORGOTTEN))
            ftc_set_add(&b->asked, from);
        return 0;
    }
    ftc_rule_taken(m, FTC_RULE_PULL_ANSWER);
    return send_decide(m, op, from);
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

/* To the children of `position`; in place of a child known failed to that child's children, and so on. */
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
int ftc_broadcast_prepare(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->holding || (b->id.i == 0 && b->id.s == 0))
        return 0;
    if (m->set.prepare == FTC_PREPARE_TREE)
        return prepare_children(m, op, b->position);
    return b->position == 0 ? prepare_all(m, op) : 0;
}
