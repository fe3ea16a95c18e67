/* Making a decision from what was collected (agreement.md, rule 4). */
#include "collectives/agreement/collector.h"

/* The value that a validate has collected begins with a union of L. Bits after the last rank are
 * ignored: other ranks have sent them. */
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

    if (ftc_call_table[kind].names)
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
    decision->write_offs = ftc_contribution_write_offs(m, op);
    decision->verdict = b->verdict;
    b->verdict = (struct ftc_vote_verdict){0};
    if (ftc_call_table[kind].has_result)
        ftc_value_set(&decision->value, &b->sum.value);
    else if (ftc_call_to_root(kind) && b->id.i == 0)
        ftc_value_set(&op->result, &b->sum.value);
    else if (ftc_call_from_root(kind) && b->id.i == 0)
        ftc_value_set(&decision->value, &op->input);
    else if (ftc_call_from_root(kind))
        decision->status = FTC_ERR_ROOT_FAILED;
    bool root_failed = decision->status == FTC_ERR_ROOT_FAILED;
    ftc_rule_taken(m, root_failed ? FTC_RULE_DECIDE_ROOT_FAILED : FTC_RULE_DECIDE);
    *out = decision;
    return ftc_integrity_disturb(m, op, FTC_FLIP_DECISION, 0, &decision->value);
}

int ftc_decide_collected(struct ftc_member *m, struct ftc_operation *op, struct ftc_decision **out)
{
    struct ftc_ballot *b = &op->ballot;
    int rc = ftc_member_learn(m, &b->info.list);

    if (rc != 0)
        return rc;
    if (b->sum.decision == NULL)
        return decide_afresh(m, op, out);
    *out = ftc_decision_ref(b->sum.decision);
    if (FTC_MUTATED(UNITE_LATER_LISTS))
        ftc_set_unite(&(*out)->failed, &m->known);
    ftc_rule_taken(m, FTC_RULE_DECIDE_UNCHANGED);
    return 0;
}
