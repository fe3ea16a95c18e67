/*
 * The state of a member as bytes, for exploring state spaces. Histories that lead to the same
 * behaviour must give the same bytes. So this leaves out what no later step looks at: counters for
 * reports, what a finished phase has used up, and what is read only with a setting that is off.
 */
#include "collectives/agreement/collector.h"
#include "collectives/agreement/life.h"

struct digest {
    ftc_digest_sink *sink;
    void *arg;
    const struct ftc_member *member;
};

static void add_number(const struct digest *d, uint64_t number)
{
    d->sink(d->arg, &number, sizeof(number));
}

static void add_ballot_id(const struct digest *d, struct ftc_ballot_id id)
{
    add_number(d, (uint64_t)id.i << 32 | id.s);
}

static void add_epoch(const struct digest *d, struct ftc_epoch epoch)
{
    add_number(d, epoch.op);
    add_ballot_id(d, epoch.ballot);
    add_number(d, epoch.settled);
}

static void add_set(const struct digest *d, const struct ftc_set *set)
{
    add_number(d, (uint64_t)ftc_set_count(set));
    for (int rank = ftc_set_next(set, 0); rank >= 0; rank = ftc_set_next(set, rank + 1))
        add_number(d, (uint64_t)rank);
}

static void add_value(const struct digest *d, const struct ftc_value *value)
{
    size_t size = value->buffer != NULL ? value->size : 0;

    add_number(d, size);
    if (size > 0)
        d->sink(d->arg, ftc_value_bytes(value), size);
}

static void add_decision(const struct digest *d, const struct ftc_decision *decision)
{
    add_number(d, decision != NULL);
    if (decision == NULL)
        return;
    add_number(d, (uint64_t)(int64_t)decision->status);
    add_ballot_id(d, decision->ballot);
    add_set(d, &decision->failed);
    if (d->member->set.scheme == FTC_SCHEME_COUNT)
        add_number(d, decision->write_offs);
    add_value(d, &decision->value);
    add_number(d, decision->verdict.compared);
    if (decision->verdict.compared > 0)
        add_set(d, &decision->verdict.wrong);
}

static void add_contribution(const struct digest *d, const struct ftc_contribution *contribution)
{
    add_decision(d, contribution->decision);
    if (contribution->decision == NULL)
        add_value(d, &contribution->value);
}

/* A message carries the number of write-offs with `count` only. */
static void add_info(const struct digest *d, const struct ftc_failure_info *info)
{
    add_set(d, &info->list);
    add_number(d, info->child);
    if (d->member->set.scheme == FTC_SCHEME_COUNT)
        add_number(d, info->count);
}

static void add_awaited(const struct digest *d, const struct ftc_awaited *list, int count)
{
    for (int i = 0; i < count; i++) {
        add_number(d, (uint64_t)list[i].arrived | (uint64_t)list[i].written_off << 1 |
                          (uint64_t)list[i].failure_free << 2);
        if (d->member->set.levels_plain) /* sums.c: the rank that has sent */
            add_number(d, (uint64_t)list[i].rank);
        if (list[i].arrived)
            add_contribution(d, &list[i].contribution);
        if (list[i].list != NULL)
            d->sink(d->arg, list[i].list->data, list[i].list->size);
    }
}

/* Rule 2: each phase looks at its own part, and at what is still to come. */
static void add_collect(const struct digest *d, const struct ftc_ballot *b)
{
    add_number(d, (uint64_t)b->phase | (uint64_t)(ftc_ballot_exchanges(b) && b->given_up) << 8);
    if (b->phase == FTC_BALLOT_DONE)
        return;
    add_info(d, &b->info);
    bool kept = d->member->set.integrity == FTC_INTEGRITY_VOTE && b->position == 0;
    if (b->phase == FTC_BALLOT_GROUP || (b->phase == FTC_BALLOT_TREE && kept))
        add_awaited(d, b->group, b->group_size);
    if (ftc_ballot_exchanges(b))
        add_number(d, (uint64_t)b->round);
    if (b->phase == FTC_BALLOT_TREE)
        add_number(d, b->straggler_ns << 1 | b->waited);
    if (b->phase == FTC_BALLOT_TREE || ftc_ballot_exchanges(b))
        add_contribution(d, &b->sum);
    if (b->phase != FTC_BALLOT_RETRY)
        add_awaited(d, b->child, b->child_size);
}

static void add_correction(const struct digest *d, const struct ftc_ballot *b)
{
    const struct ftc_corrector *c = &b->spread.corrector;

    if (d->member->set.correction == FTC_CORRECTION_NONE)
        return;
    add_number(d, (uint64_t)c->state | (uint64_t)c->walks << 8 | (uint64_t)c->turn << 9);
    add_number(d, (uint64_t)c->answer);
    add_number(d, (uint64_t)c->off[FTC_SIDE_LEFT]);
    add_number(d, (uint64_t)c->off[FTC_SIDE_RIGHT]);
    for (int i = 0; i < 2 * c->room; i++)
        add_number(d, (uint64_t)c->near[i]);
}

/* Pieces are left out: exploring loses no datagram, so there are none to wait for. */
static void add_spread(const struct digest *d, const struct ftc_ballot *b)
{
    const struct ftc_spread *s = &b->spread;
    const struct ftc_member_settings *set = &d->member->set;

    if (set->correction == FTC_CORRECTION_NONE && set->dissemination == FTC_DISSEMINATION_TREE)
        return;
    add_number(d, (uint64_t)s->pace | (uint64_t)s->impatient << 8 | (uint64_t)s->rounds << 16);
    add_number(d, s->pace_ns);
    add_number(d, s->patience_ns);
    add_set(d, &b->decide_sent);
    add_correction(d, b);
}

static void add_ballot(const struct digest *d, const struct ftc_ballot *b)
{
    add_ballot_id(d, b->id);
    add_set(d, &b->participants->set);
    add_collect(d, b);
    add_spread(d, b);
    add_number(d, b->holding);
    if (b->holding)
        return;
    add_set(d, &b->asked);
    add_number(d, (uint64_t)(int64_t)b->pulled);
    if (d->member->set.prepare == FTC_PREPARE_TREE)
        add_set(d, &b->prepare_sent);
}

/* Its number and the ranks say all: the rest follows from the number. */
static void add_unanswered(const struct digest *d, const struct ftc_unanswered *u)
{
    add_number(d, u->count > 0 ? u->k + 1 : 0);
    for (int i = 0; i < u->count; i++)
        add_number(d, (uint64_t)u->rank[i]);
}

static void add_settling(const struct digest *d, const struct ftc_settling *s)
{
    add_number(d, s->open);
    add_number(d, s->name);
    add_set(d, &s->view->set);
    add_number(d, (uint64_t)s->reduces | (uint64_t)s->begun << 1 | (uint64_t)s->holds << 2);
    for (const struct ftc_settled *settled = s->pending; settled != NULL; settled = settled->next) {
        add_number(d, settled->from);
        add_number(d, settled->name);
        add_set(d, &settled->decision->failed);
    }
}

static void add_operation(const struct digest *d, const struct ftc_operation *op)
{
    const struct ftc_signature *signature = &op->call.signature;

    add_number(d, op->k);
    add_number(d, signature->kind);
    add_number(d, (uint64_t)(int64_t)signature->root);
    add_set(d, &op->view->set);
    add_epoch(d, op->epoch);
    add_number(d, (uint64_t)op->returned | (uint64_t)op->first_collects << 1 |
                      (uint64_t)op->asks << 2);
    if (!op->returned) {
        add_number(d, op->poked);
        add_value(d, &op->input);
        if (op->levels)
            add_set(d, &op->missing);
    }
    add_decision(d, op->decision);
    add_ballot(d, &op->ballot);
}

void ftc_member_digest(const struct ftc_member *m, ftc_digest_sink *sink, void *arg)
{
    struct digest d = {.sink = sink, .arg = arg, .member = m};

    add_number(&d, m->fenced);
    if (m->fenced)
        return;
    add_number(&d, m->next_op);
    add_number(&d, (uint64_t)m->more_asked << 63 | m->timer_ns);
    add_number(&d, m->set.settle_every > 0 ? m->row : 0);
    add_set(&d, &m->known);
    add_set(&d, &m->agreed);
    add_epoch(&d, m->epoch);
    add_decision(&d, m->word);
    add_settling(&d, &m->settling);
    add_unanswered(&d, &m->unanswered);
    for (const struct ftc_operation *op = m->oldest; op != NULL; op = op->next)
        add_operation(&d, op);
    ftc_receive_digest(m, sink, arg);
}
