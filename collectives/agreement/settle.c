/* Settlements: agreements about the failed that nobody calls (agreement.md, rule 9). */
#include "collectives/agreement/settle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Frees the first of these, and those after it. */
static void drop_pending(struct ftc_settled **first)
{
    while (*first != NULL) {
        struct ftc_settled *settled = *first;
        *first = settled->next;
        ftc_decision_unref(settled->decision);
        free(settled);
    }
}

void ftc_settling_init(struct ftc_member *m)
{
    m->settling.open = FTC_SETTLEMENT;
    m->settling.view = ftc_view_ref(m->view);
}

void ftc_settling_fini(struct ftc_settling *s)
{
    drop_pending(&s->pending);
    ftc_view_unref(s->view);
}

/* --- the agreement --- */

/* Rule 9, 4: n_p is fixed now, and this process begins no operation until the delivery. */
int ftc_settlement_contribute(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_settling *s = &m->settling;
    uint64_t next = m->next_op + s->begun;

    if (op->input.buffer != NULL)
        return 0;
    struct ftc_buffer *buffer = ftc_buffer_new(sizeof(next));
    if (buffer == NULL)
        return FTC_ERR_NOMEM;
    memcpy(buffer->data, &next, sizeof(next));
    op->input = (struct ftc_value){.buffer = buffer, .size = sizeof(next)};
    s->holds = true;
    ftc_rule_taken(m, FTC_RULE_SETTLE_CONTRIBUTE);
    return ftc_integrity_protect(m, op, FTC_FLIP_INPUT, &op->input);
}

/* F of a later settlement has that of the earlier ones. So it replaces those that would be in force
 * from the same operation on, or from a later one. */
static int add_pending(struct ftc_member *m, struct ftc_decision *decision)
{
    struct ftc_settled **link = &m->settling.pending, *added = malloc(sizeof(*added));

    if (added == NULL)
        return FTC_ERR_NOMEM;
    *added = (struct ftc_settled){.name = m->settling.name, .decision = ftc_decision_ref(decision)};
    if (!FTC_MUTATED(SETTLE_AT_ONCE))
        memcpy(&added->from, ftc_value_bytes(&decision->value), sizeof(added->from));
    while (*link != NULL && (*link)->from < added->from)
        link = &(*link)->next;
    drop_pending(link);
    *link = added;
    return 0;
}

/* The next settlement is open: its view, its epoch, its number. */
static int open_next(struct ftc_member *m, struct ftc_operation *op, struct ftc_decision *decision)
{
    struct ftc_settling *s = &m->settling;
    struct ftc_view *view = ftc_view_without(&decision->failed);

    if (view == NULL)
        return FTC_ERR_NOMEM;
    ftc_view_unref(s->view);
    s->view = view;
    s->name = ftc_settlement_name(op->k, decision->ballot);
    s->open = op->k + 1;
    s->holds = false;
    s->due = true;
    return 0;
}

int ftc_settlement_deliver(struct ftc_member *m, struct ftc_operation *op,
                           struct ftc_decision *decision)
{
    assert(op->k == m->settling.open && !op->returned);
    if (!ftc_integrity_sound(m, &decision->value))
        return ftc_integrity_corrupt(m);
    op->returned = true;
    op->decision = ftc_decision_ref(decision);
    if (!FTC_MUTATED(CONTRIBUTE_UNDECIDED))
        ftc_value_drop(&op->input);
    ftc_rule_taken(m, FTC_RULE_SETTLE);
    int rc = open_next(m, op, decision);
    if (rc == 0)
        rc = add_pending(m, decision);
    if (rc == 0)
        rc = ftc_member_learn(m, &decision->failed);
    return rc == 0 ? ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_SETTLED,
                                                               .op = op->k,
                                                               .decision = decision})
                   : rc;
}

/* --- asking --- */

/* Does this process know of a failure that neither G nor a settlement names? */
static bool knows_more(const struct ftc_member *m)
{
    const struct ftc_settling *s = &m->settling;

    for (int rank = ftc_set_next(&m->known, 0); rank >= 0; rank = ftc_set_next(&m->known, rank + 1))
        if (!ftc_set_has(&m->agreed, rank) && ftc_set_has(&s->view->set, rank))
            return true;
    return false;
}

bool ftc_member_unsettled(const struct ftc_member *m)
{
    return m->settling.reduces && !m->fenced && knows_more(m);
}

/* Two levels: a reduce is an agreement, and the few that are none do not settle. */
void ftc_settling_note_call(struct ftc_member *m, bool reduces)
{
    struct ftc_settling *s = &m->settling;

    s->begun = false;
    s->reduces = reduces && m->set.share == FTC_SHARE_PIGGYBACK && m->set.nodes <= 1;
    s->due |= s->reduces;
}

/* --- the next operation --- */

/* Rule 9, 6: the first pending settlement is in force from now on. */
static int enforce_first(struct ftc_member *m)
{
    struct ftc_settled *first = m->settling.pending, *rest = first->next;

    ftc_rule_taken(m, FTC_RULE_SETTLE_IN_FORCE);
    if (FTC_MUTATED(SETTLE_ONE_EPOCH))
        m->epoch = (struct ftc_epoch){0};
    if (!FTC_MUTATED(SETTLE_KEEPS_EPOCH))
        m->epoch.settled = first->name;
    bool grows = ftc_set_unite(&m->agreed, &first->decision->failed);
    first->next = NULL;
    drop_pending(&m->settling.pending);
    m->settling.pending = rest;
    return grows ? ftc_member_renew_view(m) : 0;
}

bool ftc_member_held_back(const struct ftc_member *m)
{
    return m->settling.holds && !m->settling.begun && !FTC_MUTATED(SETTLE_WITHOUT_WAIT);
}

int ftc_member_begin(struct ftc_member *m)
{
    struct ftc_settling *s = &m->settling;
    int rc = 0;

    if (m->fenced || s->begun)
        return 1;
    if (ftc_member_held_back(m))
        return 0;
    while (rc == 0 && s->pending != NULL && s->pending->from <= m->next_op)
        rc = enforce_first(m);
    s->begun = true;
    return rc == 0 ? 1 : rc;
}
