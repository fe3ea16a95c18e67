/*
 * Ballot (0,0) by recursive doubling (agreement.md, rule 2, "Exchange"). Each participant gets the
 * contributions of all, and then decides the same as all others.
 *
 * m' is the largest power of two up to m, the number of participants. The first 2 (m - m')
 * participants in ascending order are pairs. The second of a pair gives its contribution to the
 * first before the rounds, and gets the decision from it after them. (Thakur, Rabenseifner, Gropp
 * 2005, section 4.4.)
 */
#include <assert.h>

#include "collectives/agreement/collector.h"

/* A place is an index among the participants in ascending order, whichever of them is c_0. Values
 * are combined in order of place. */
struct places {
    int own;   /* place of this rank */
    int pairs; /* number of pairs */
    int power; /* m': so many participants take part in the rounds */
};

static struct places places_of(const struct ftc_member *m, const struct ftc_ballot *b)
{
    struct places places = {.own = ftc_view_index(b->participants, m->set.self), .power = 1};

    while (2 * places.power <= b->size)
        places.power *= 2;
    places.pairs = b->size - places.power;
    return places;
}

static bool is_second(const struct places *places)
{
    return places->own < 2 * places->pairs && places->own % 2 == 1;
}

static bool is_first(const struct places *places)
{
    return places->own < 2 * places->pairs && places->own % 2 == 0;
}

/* --- rounds --- */

/* At most one partner in each round, and the second of the own pair. */
int ftc_exchange_partners(int participants)
{
    int partners = 1;

    for (; participants > 1; participants /= 2)
        partners++;
    return partners;
}

/* The rank whose contribution this rank waits for; NULL: there is none. */
static struct ftc_awaited *current(struct ftc_ballot *b)
{
    return b->round < b->group_size ? &b->group[b->round] : NULL;
}

static int send_sum(struct ftc_member *m, struct ftc_operation *op, int to)
{
    struct ftc_message up = {.has_list = op->levels, .info = op->ballot.info};

    up.contribution.value = op->ballot.sum.value;
    return ftc_contribution_send(m, op, to, &up);
}

/* Sends the sum to the rank that is awaited now. In round 0 the first of a pair awaits the second,
 * to which it sends nothing. */
static int begin_round(struct ftc_member *m, struct ftc_operation *op)
{
    struct places places = places_of(m, &op->ballot);
    struct ftc_awaited *partner = current(&op->ballot);

    if (partner == NULL || (is_first(&places) && op->ballot.round == 0))
        return 0;
    return send_sum(m, op, partner->rank);
}

/* Lists the ranks whose contributions come to this rank, in order: the second of its pair, then the
 * partners of the rounds. */
static void await_partners(struct ftc_ballot *b, const struct places *places)
{
    int number = places->own < 2 * places->pairs ? places->own / 2 : places->own - places->pairs;

    if (is_first(places))
        ftc_awaited_add(b->group, &b->group_size,
                        ftc_view_member(b->participants, places->own + 1));
    for (int bit = 1; bit < places->power; bit *= 2) {
        int other = number ^ bit;
        int place = other < places->pairs ? 2 * other : other + places->pairs;
        ftc_awaited_add(b->group, &b->group_size, ftc_view_member(b->participants, place));
    }
}

static int begin(struct ftc_member *m, struct ftc_operation *op, const struct ftc_message *up)
{
    struct ftc_ballot *b = &op->ballot;
    struct places places = places_of(m, b);

    ftc_value_set(&b->sum.value, &up->contribution.value);
    if (is_second(&places)) {
        b->phase = FTC_BALLOT_DONE;
        return send_sum(m, op, ftc_exchange_decider(m, b));
    }
    await_partners(b, &places);
    assert(b->group_size <= m->group_room);
    return begin_round(m, op);
}

/* Everybody combines in ascending order of places, so all get the same bits. */
static int combine(struct ftc_member *m, struct ftc_operation *op, struct ftc_awaited *partner)
{
    struct ftc_contribution *sum = &op->ballot.sum, *theirs = &partner->contribution;

    if (partner->rank > m->set.self)
        return ftc_contribution_combine(m, op, sum, theirs);
    int rc = ftc_contribution_combine(m, op, theirs, sum);
    *sum = *theirs;
    *theirs = (struct ftc_contribution){0};
    return rc;
}

/* The sum will now be sent, decided, or combined with the next one. */
static int protect(struct ftc_member *m, struct ftc_operation *op)
{
    return op->checked ? ftc_integrity_protect(m, op, FTC_FLIP_PARTIAL, &op->ballot.sum.value) : 0;
}

/* Decides from the contributions of all and from G only, and so the same as everybody else. */
int ftc_exchange_decide(struct ftc_member *m, struct ftc_operation *op, struct ftc_decision **out)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_decision *decision = ftc_decision_new(m->set.ranks);

    *out = decision;
    if (decision == NULL)
        return FTC_ERR_NOMEM;
    ftc_set_copy(&decision->failed, FTC_MUTATED(EXCHANGE_WITH_L) ? &m->known : &m->agreed);
    ftc_set_unite(&decision->failed, &b->info.list);
    decision->write_offs = ftc_contribution_write_offs(m, op);
    if (ftc_call_table[op->call.signature.kind].names)
        ftc_set_add_bytes(&decision->failed, ftc_value_bytes(&b->sum.value));
    if (ftc_call_table[op->call.signature.kind].has_result)
        ftc_value_set(&decision->value, &b->sum.value);
    ftc_rule_taken(m, FTC_RULE_EXCHANGE);
    return op->checked ? ftc_integrity_disturb(m, op, FTC_FLIP_DECISION, 0, &decision->value) : 0;
}

static int advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_awaited *partner = current(b);

    if (partner == NULL || (!partner->arrived && !(FTC_MUTATED(EXCHANGE_WITHOUT_DEAD) &&
                                                   ftc_knows_failed(m, partner->rank))))
        return FTC_COLLECTED_NOTHING;
    int rc = partner->arrived ? combine(m, op, partner) : 0;
    b->round++;
    if (rc == 0)
        rc = protect(m, op);
    if (rc == 0 && current(b) == NULL)
        return FTC_COLLECTED_ALL;
    if (rc == 0)
        rc = begin_round(m, op);
    return rc == 0 ? FTC_COLLECTED_MORE : rc;
}

/* --- the second of a pair, and the next ballot --- */

int ftc_exchange_decider(const struct ftc_member *m, const struct ftc_ballot *b)
{
    struct places places = places_of(m, b);

    return is_second(&places) ? ftc_view_member(b->participants, places.own - 1) : -1;
}

int ftc_exchange_pass_on(struct ftc_member *m, struct ftc_operation *op)
{
    struct places places = places_of(m, &op->ballot);

    if (!is_first(&places))
        return 0;
    int to = ftc_view_member(op->ballot.participants, places.own + 1);
    return ftc_knows_failed(m, to) ? 0 : ftc_member_send_decide(m, op, to, FTC_WAY_OWED, 0);
}

int ftc_exchange_give_up(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_message poke = {.ballot = {.s = 1}};
    bool unfinished = (!op->returned && op->asks) || (b->position == 0 && b->given_up);

    if (!unfinished || b->position < 0 || FTC_MUTATED(EXCHANGE_FOR_EVER) ||
        !ftc_set_intersects(&m->known, &b->participants->set) ||
        ftc_knows_failed(m, b->coordinator))
        return 0;
    if (b->position == 0) {
        ftc_rule_taken(m, FTC_RULE_GIVE_UP_EXCHANGE);
        return FTC_COLLECTED_TOO_LITTLE;
    }
    if (b->given_up)
        return 0;
    b->given_up = true;
    ftc_rule_taken(m, FTC_RULE_POKE);
    return ftc_member_send(m, op, FTC_MESSAGE_POKE, b->coordinator, &poke);
}

/* c_0 was poked: some rank cannot finish. c_0 starts (0,1) once it knows of the failure itself. */
void ftc_exchange_given_up(struct ftc_member *m, struct ftc_operation *op)
{
    bool late = !ftc_ballot_exchanges(&op->ballot);

    op->ballot.given_up |= !late;
    ftc_rule_taken(m, late ? FTC_RULE_DROP_SMALLER : FTC_RULE_POKED);
}

const struct ftc_collector ftc_collector_exchange = {
    .begin = begin,
    .advance = advance,
};
