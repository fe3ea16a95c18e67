/* Opening settlements, and asking for them (agreement.md, rule 9). settle.c, below this file, has
 * what they are made of. */
#include <string.h>

#include "collectives/agreement/life.h"
#include "collectives/agreement/settle.h"

/* n_p of each rank is a number in the bytes of this host's order, as a caller's values are. */
static void maximum(void *arg, const void *in, void *inout, size_t size)
{
    uint64_t a, b;

    (void)arg, (void)size;
    memcpy(&a, in, sizeof(a));
    memcpy(&b, inout, sizeof(b));
    if (a > b && !FTC_MUTATED(SETTLE_WITHOUT_MAXIMUM))
        memcpy(inout, &a, sizeof(a));
}

int ftc_settlement_open(struct ftc_member *m, struct ftc_operation **out)
{
    const struct ftc_settling *s = &m->settling;
    const struct ftc_call call = {
        .signature = {.kind = FTC_CALL_SETTLE, .root = -1, .size = sizeof(uint64_t)},
        .combine = maximum};
    struct ftc_view *view = FTC_MUTATED(SETTLE_IN_VIEW) ? m->view : s->view;
    struct ftc_operation *op;
    int rc = ftc_operation_new(m, s->open, &call, view, &op);

    if (rc != 0)
        return rc;
    *out = op;
    op->epoch = (struct ftc_epoch){.settled = s->name};
    op->start = m->set.rotation == FTC_ROTATION_FIRST
                    ? 0
                    : (int)((s->open - FTC_SETTLEMENT) % (uint64_t)view->size);
    op->exchanges = true; /* so (0,0) is given up like an exchange (rule 9, 3) */
    return ftc_ballot_enter(m, op, (struct ftc_ballot_id){0}, op->view);
}

static int ask(struct ftc_member *m, struct ftc_operation *op, uint64_t *k)
{
    int rc = op == NULL ? ftc_settlement_open(m, &op) : 0;

    if (rc != 0)
        return rc;
    if (op->asks || op->ballot.id.i > 0 || op->ballot.id.s > 0)
        return 0;
    op->asks = true;
    ftc_rule_taken(m, FTC_RULE_SETTLE_ASK);
    *k = op->k;
    return 1;
}

int ftc_settling_advance(struct ftc_member *m, uint64_t *k)
{
    struct ftc_settling *s = &m->settling;

    if (!s->due)
        return 0;
    s->due = false;
    if (FTC_MUTATED(FORGET_SETTLEMENT))
        ftc_operation_free_before(m, s->open);
    struct ftc_operation *op = ftc_operation_find(m, s->open);
    if (op == NULL && ftc_receive_has_kept(m, s->open)) {
        s->due = true;
        *k = s->open;
        int rc = ftc_settlement_open(m, &op);
        rc = rc == 0 ? ftc_receive_kept(m, s->open, op) : rc;
        return rc == 0 ? 1 : rc;
    }
    return ftc_member_unsettled(m) ? ask(m, op, k) : 0;
}
