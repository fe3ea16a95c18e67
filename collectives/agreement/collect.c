/* Acts on the result of a step of the collection: agreement.md, rules 2, 3 and 4. */
#include "collectives/agreement/collector.h"
#include "collectives/agreement/life.h"

/* p != c_b has done its part. */
static int contributed(struct ftc_member *m, struct ftc_operation *op)
{
    if (ftc_operation_plain_reduce(op)) {
        int rc = ftc_member_deliver(m, op, FTC_SUCCESS, NULL, NULL);
        ftc_operation_free(m, op);
        return rc == 0 ? 1 : rc;
    }
    ftc_contribution_drop(&op->ballot.sum);
    return 1;
}

/* The root of a plain reduce has the value. So every live process has called this op (rule 8). */
static int reduce_deliver(struct ftc_member *m, struct ftc_operation *op, int status)
{
    struct ftc_value none = {0};
    const struct ftc_value *result = status == FTC_SUCCESS ? &op->ballot.sum.value : &none;
    int rc = ftc_member_deliver(m, op, status, NULL, result);

    if (rc == 0)
        rc = ftc_sums_delivered(m, op);
    if (status == FTC_SUCCESS)
        ftc_operation_free_before(m, op->k);
    ftc_operation_free(m, op);
    return rc == 0 ? 1 : rc;
}

static int decide(struct ftc_member *m, struct ftc_operation *op)
{
    if (ftc_operation_plain_reduce(op))
        return reduce_deliver(m, op, op->ballot.status);
    int rc = ftc_collect_decide(m, op);
    return rc == 0 ? 1 : rc;
}

/* agreement.md, rule 3: more than f failures hit this ballot. Or (two levels) a node that has live
 * ranks lost its delegate. */
static int retry(struct ftc_member *m, struct ftc_operation *op)
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

int ftc_collect_advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->phase == FTC_BALLOT_DONE)
        return 0;
    int rc = b->phase == FTC_BALLOT_RETRY ? FTC_COLLECTED_TOO_LITTLE : b->collector->advance(m, op);
    switch (rc) {
    case FTC_COLLECTED_CONTRIBUTED:
        return contributed(m, op);
    case FTC_COLLECTED_ALL:
        return decide(m, op);
    case FTC_COLLECTED_TOO_LITTLE:
        return retry(m, op);
    default: /* NOTHING, MORE or an error */
        return rc;
    }
}

int ftc_collect_give_up(struct ftc_member *m, struct ftc_operation *op)
{
    int rc = ftc_ballot_exchanges(&op->ballot) ? ftc_exchange_give_up(m, op) : 0;

    if (rc != FTC_COLLECTED_TOO_LITTLE)
        return rc;
    rc = ftc_ballot_start(m, op, (struct ftc_ballot_id){.s = 1});
    return rc == 0 ? 1 : rc;
}

int ftc_collect_decide(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_decision *decision = NULL;
    int rc = ftc_ballot_exchanges(&op->ballot) ? ftc_exchange_decide(m, op, &decision)
                                               : ftc_decide_collected(m, op, &decision);

    ftc_contribution_drop(&op->ballot.sum);
    if (rc == 0)
        rc = ftc_broadcast_hold(m, op, decision, &(struct ftc_arrival){.from = m->set.self});
    ftc_decision_unref(decision);
    return rc;
}
