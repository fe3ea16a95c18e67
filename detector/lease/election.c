/* Elections: rules 3 and 5 of docs/design/nodes.md. */
#include "detector/lease/internal.h"
#include "detector/mutation.h"

#define SPLIT_DIGITS 8

/* How long a vote binds. That is shorter than for an echo, because the node that got the vote may
 * have lost, and then another one must be able to try soon. */
static uint64_t vote_ns(const struct ftc_lease *l)
{
    return 2 * l->set.period_ns;
}

static bool has_votes(const struct ftc_lease *l)
{
    int count = 0, base = ftc_set_count(&l->base), lowest = ftc_set_next(&l->base, 0);
    bool of_lowest = false;

    for (int i = ftc_set_next(&l->base, 0); i >= 0; i = ftc_set_next(&l->base, i + 1)) {
        bool votes = i == l->set.self || l->peer[i].votes;
        count += votes;
        of_lowest |= votes && i == lowest;
    }
    return 2 * count > base ||
           (2 * count == base && (of_lowest || FTC_LEASE_MUTATED(HALF_WITHOUT_LOWEST)));
}

static bool may_vote(const struct ftc_lease *l, int whom, uint64_t now_ns)
{
    bool leads = l->role == LEADER && ftc_lease_is_backed(l, now_ns);
    return !leads && (now_ns >= l->promised_ns || whom == l->leader);
}

/* Rule 5, "When": how long this node leaves it to the k nodes before it to replace a silent leader.
 * Half of the base can be dead at most, so the wait is 2 P at most where it matters. */
void ftc_lease_set_turn(struct ftc_lease *l)
{
    uint64_t before = 0, base = (uint64_t)ftc_set_count(&l->base), period = l->set.period_ns;

    if (!l->recount)
        return;
    for (int i = ftc_set_next(&l->base, 0); i >= 0 && i < l->set.self;
         i = ftc_set_next(&l->base, i + 1))
        before += !ftc_set_has(&l->refused, i) && i != l->leader;
    l->turn_ns = before * period;
    if (before > 1 && !FTC_LEASE_MUTATED(TURNS_OF_P))
        l->turn_ns = period + (before - 1) * 2 * period / base;
    l->recount = false;
}

/* Ask all nodes, by a probe or for votes. A node that would vote sticks to it for a while, so
 * answers to the last probe count, too. If they did not, a repetition each P/2 would never get a
 * quorum where messages take that long. */
static void ask(struct ftc_lease *l, bool probing, uint64_t now_ns)
{
    bool again = probing && l->role == ASKING && l->probing;

    ftc_lease_need_peers(l);
    l->failures += l->role == ASKING && !l->probing;
    l->role = ASKING;
    l->probing = probing;
    l->asked_ns = l->sent_ns = now_ns;
    l->relay.owed = l->relay.again = false;
    if (!probing)
        l->asked_term = (l->asked_term > l->term ? l->asked_term : l->term) + 1;
    for (int i = 0; i < l->set.nodes; i++)
        l->peer[i].votes &= again && now_ns - l->peer[i].voted_ns < vote_ns(l);
    ftc_set_copy(&l->pending, &l->base);
    ftc_set_subtract(&l->pending, &l->refused);
    ftc_set_remove(&l->pending, l->set.self);
}

uint64_t ftc_lease_question_term(const struct ftc_lease *l)
{
    uint64_t last = l->asked_term > l->term ? l->asked_term : l->term;
    return l->probing ? last + 1 : l->asked_term;
}

/* If there is a quorum of yeses to a probe, ask for votes. If there is a quorum of votes, lead. */
static void count_votes(struct ftc_lease *l, uint64_t now_ns)
{
    while (l->role == ASKING && has_votes(l)) {
        if (l->probing) {
            ask(l, false, now_ns);
        } else {
            ftc_lease_begin_term(l, l->asked_term, l->set.self);
            l->led_ns = l->elected_ns = now_ns;
            l->failures = 0;
            ftc_lease_lead(l, true, l->asked_ns + vote_ns(l), now_ns);
        }
    }
}

/* Rule 5, "Split": how much longer than the votes bind this node waits if its question fails. */
static uint64_t own_delay_ns(const struct ftc_lease *l)
{
    unsigned digit = (unsigned)l->set.self >> 2 * (l->failures % SPLIT_DIGITS) & 3;

    return FTC_LEASE_MUTATED(SPLIT_AGAIN) ? 0 : (1 + digit) * (l->set.period_ns / 8);
}

/* When this node asks next. A probe is repeated after P/2, because a node that could not vote then
 * may be able to now. A question for votes is given the time that a vote binds. */
uint64_t ftc_lease_next_question(const struct ftc_lease *l)
{
    if (l->role == ASKING)
        return l->asked_ns + (l->probing ? l->set.period_ns / 2 : vote_ns(l) + own_delay_ns(l));
    uint64_t due = l->promised_ns + l->turn_ns;
    return due > l->hold_ns ? due : l->hold_ns;
}

void ftc_lease_tick_other(struct ftc_lease *l, uint64_t now_ns)
{
    ftc_lease_set_turn(l);
    if (now_ns >= ftc_lease_next_question(l))
        ask(l, true, now_ns);
    count_votes(l, now_ns);
}

static void follow(struct ftc_lease *l)
{
    l->role = FOLLOWER;
    ftc_set_clear(&l->pending); /* its questions */
}

static void vote(struct ftc_lease *l, int whom, uint64_t term, uint64_t now_ns)
{
    ftc_lease_begin_term(l, term, whom);
    follow(l);
    ftc_lease_note(l, 0, now_ns);
    l->promised_ns = now_ns + vote_ns(l);
    l->relay.since_ns = now_ns - l->set.period_ns; /* a leader sends its first beat at once */
}

void ftc_lease_take_question(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                             uint64_t now_ns)
{
    bool probing = l->role == ASKING && l->probing, asking = l->role == ASKING && !l->probing;

    if (l->role == LEADER && l->grants && message->term > l->term + 1) {
        l->asked_term = message->term - 1 > l->asked_term ? message->term - 1 : l->asked_term;
        /* A node has voted in a later term, and would never follow this term again. */
        ask(l, false, now_ns);
        return;
    }
    if (message->term <= l->term || (asking && message->term <= l->asked_term) ||
        !may_vote(l, from, now_ns) || (probing && from > l->set.self))
        return; /* of two nodes that probe, the lower one goes on */
    if (probing)
        follow(l);
    l->hold_ns = now_ns + vote_ns(l);
    if (message->kind == FTC_LEASE_ASK)
        vote(l, from, message->term, now_ns);
    l->reply_to = from;
    l->reply = (struct ftc_lease_message){.kind = message->kind == FTC_LEASE_ASK ? FTC_LEASE_VOTE
                                                                                 : FTC_LEASE_WOULD,
                                          .term = message->term};
}

void ftc_lease_take_vote(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                         uint64_t now_ns)
{
    bool wanted = message->kind == (l->probing ? FTC_LEASE_WOULD : FTC_LEASE_VOTE);

    if (l->role == LEADER && message->kind == FTC_LEASE_VOTE && message->term == l->term)
        ftc_lease_count_late_vote(l, from, message, now_ns);
    if (l->role != ASKING || !wanted || message->term != ftc_lease_question_term(l))
        return;
    l->peer[from].votes = true;
    l->peer[from].voted_ns = now_ns;
    if (!l->probing) {
        l->recount |= ftc_set_unite(&l->refused, message->refused);
        ftc_set_unite(&l->declared, message->declared);
    }
    count_votes(l, now_ns);
}
