/* Delivering an operation to the caller: agreement.md, rule 5; and over two levels, what the
 * decision word of the node says. */
#include <assert.h>

#include "collectives/agreement/collector.h"
#include "collectives/agreement/life.h"
#include "collectives/agreement/settle.h"

/* agreement.md, rule 5: G := D's failed set; L := L ∪ G; epoch := (k, D's ballot), unless that
 * ballot is (0,0). */
static int adopt_decision(struct ftc_member *m, struct ftc_operation *op,
                          struct ftc_decision *decision)
{
    op->decision = ftc_decision_ref(decision);
    if (decision->ballot.i > 0 || decision->ballot.s > 0)
        m->epoch = (struct ftc_epoch){
            .op = op->k, .ballot = decision->ballot, .settled = m->epoch.settled};
    int rc = ftc_member_learn(m, &decision->failed);
    if (rc != 0 || m->set.share == FTC_SHARE_OFF || ftc_set_equal(&m->agreed, &decision->failed))
        return rc;
    ftc_set_copy(&m->agreed, FTC_MUTATED(G_FROM_L) ? &m->known : &decision->failed);
    return ftc_member_renew_view(m);
}

static void report_verdict(struct ftc_member *m, const struct ftc_vote_verdict *verdict)
{
    m->report.compared = verdict->compared;
    if (verdict->compared > 0)
        ftc_set_copy(&m->report_wrong, &verdict->wrong);
    else
        ftc_set_clear(&m->report_wrong);
}

int ftc_member_deliver(struct ftc_member *m, struct ftc_operation *op, int status,
                       struct ftc_decision *decision, const struct ftc_value *result)
{
    struct ftc_output output = {.kind = FTC_OUTPUT_DELIVER, .status = status, .decision = decision};

    if (ftc_operation_is_settlement(op))
        return ftc_settlement_deliver(m, op, decision);
    assert(!op->returned);
    if (result != NULL && !ftc_integrity_sound(m, result))
        return ftc_integrity_corrupt(m);
    op->returned = true;
    ftc_rule_taken(m, FTC_RULE_DELIVER);
    m->report = (struct ftc_member_report){.ballots = op->ballots,
                                           .coordinator = op->ballot.coordinator,
                                           .spreads = decision != NULL,
                                           .dissemination = op->ballot.spread.dissemination,
                                           .correction = ftc_spread_correction(m, op)};
    report_verdict(m, decision != NULL ? &decision->verdict : &op->ballot.verdict);
    m->report.write_offs =
        decision != NULL ? decision->write_offs : ftc_contribution_write_offs(m, op);
    if (decision != NULL) {
        int rc = adopt_decision(m, op, decision);
        if (rc != 0)
            return rc;
        m->report.exchanged = op->exchanges && decision->ballot.i + decision->ballot.s == 0;
        m->report.retries = decision->ballot.i + decision->ballot.s;
        ftc_set_copy(&m->report_failed, &decision->failed);
    } else {
        ftc_set_copy(&m->report_failed, &m->known);
        ftc_set_unite(&m->report_failed, &op->ballot.info.list);
    }
    if (result != NULL && result->buffer != NULL)
        output.result = *result;
    if (!FTC_MUTATED(CONTRIBUTE_UNDECIDED))
        ftc_value_drop(&op->input);
    int rc = ftc_member_output(m, &output);
    ftc_value_drop(&op->result);
    return rc;
}

int ftc_member_deliver_word(struct ftc_member *m, struct ftc_operation *op,
                            struct ftc_decision *decision)
{
    int rc = ftc_member_deliver(m, op, decision->status, decision, &decision->value);

    if (rc != 0)
        return rc;
    ftc_rule_taken(m, FTC_RULE_ADOPT);
    if (ftc_operation_settles(op, decision->ballot) || FTC_MUTATED(FORGET_ON_WORD))
        ftc_operation_free_before(m, op->k);
    return 0;
}

int ftc_member_deliver_kept_word(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_decision *decision = m->word;

    if (decision == NULL)
        return 0;
    m->word = NULL;
    int rc =
        ftc_decision_fits(op, decision) ? ftc_member_deliver_word(m, op, decision) : FTC_ERR_PROTO;
    ftc_decision_unref(decision);
    return rc;
}
