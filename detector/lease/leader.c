/* The leader: rules 2, 6, 7 and 8 of docs/design/nodes.md. */
#include <stdlib.h>

#include "detector/lease/internal.h"
#include "detector/mutation.h"

void ftc_lease_need_peers(struct ftc_lease *l)
{
    size_t nodes = (size_t)l->set.nodes;

    if (l->peer != NULL)
        return;
    l->peer = calloc(nodes, sizeof(*l->peer));
    l->sorted = calloc(nodes, sizeof(*l->sorted));
    if (l->peer == NULL || l->sorted == NULL)
        abort(); /* a fail-stop like any other */
}

/* --- rule 2: backed --- */

static int descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* 1 + the latest beat that the node has echoed; 0: none. */
static uint64_t echoed_by(const struct ftc_lease *l, int node)
{
    const struct peer *peer = &l->peer[node];

    if (node == l->set.self)
        return (uint64_t)l->beat + 1;
    return peer->answered ? (uint64_t)peer->echoed + 1 : 0;
}

/* 1 + the latest beat that a quorum has echoed; 0: none. A quorum is more than half of the base, or
 * half of it with its lowest node. */
static uint64_t echoed_by_quorum(struct ftc_lease *l)
{
    int count = 0, base = ftc_set_count(&l->base), lowest = ftc_set_next(&l->base, 0);
    uint64_t with_lowest = echoed_by(l, lowest);

    for (int i = ftc_set_next(&l->base, 0); i >= 0; i = ftc_set_next(&l->base, i + 1))
        if (i != lowest)
            l->sorted[count++] = echoed_by(l, i);
    qsort(l->sorted, (size_t)count, sizeof(*l->sorted), descending);
    /* With the lowest node a quorum needs base / 2 others (more than half) of an odd base, and
     * base / 2 - 1 others (exactly half) of an even base. */
    int others = base % 2 == 0 ? base / 2 - 1 : base / 2;
    uint64_t worst = others > 0 ? l->sorted[others - 1] : with_lowest,
             first = worst < with_lowest ? worst : with_lowest;
    /* Without the lowest node a quorum needs more than half of the base. */
    uint64_t without = base / 2 + 1 <= count ? l->sorted[base / 2] : 0;
    if (FTC_LEASE_MUTATED(HALF_WITHOUT_LOWEST) && base % 2 == 0 && count >= base / 2)
        without = l->sorted[base / 2 - 1];
    return first > without ? first : without;
}

bool ftc_lease_is_backed(const struct ftc_lease *l, uint64_t now_ns)
{
    return now_ns < l->backed_ns;
}

/* --- rule 1: beats --- */

/* Name the nodes whose echoes of earlier beats have come. */
static void name_answers(struct ftc_lease *l, struct ftc_lease_box *beat)
{
    for (int i = 0; i < FTC_LEASE_LAGS; i++)
        ftc_set_clear(&beat->named[i]);
    for (int i = ftc_set_next(&beat->nodes, 0); i >= 0; i = ftc_set_next(&beat->nodes, i + 1)) {
        uint32_t echoed = FTC_LEASE_MUTATED(NAME_UNANSWERED) ? l->beat : l->peer[i].echoed,
                 lag = l->beat - echoed;
        if (i == l->set.self || !l->peer[i].answered || lag >= FTC_LEASE_LAGS)
            continue;
        ftc_set_add(&beat->named[lag], i);
        if (l->grants && l->peer[i].granted == 0)
            l->peer[i].granted = l->beat + 1;
    }
}

/* A node that has answered for the first time in this term waits for its lease. */
uint64_t ftc_lease_next_beat(const struct ftc_lease *l)
{
    return l->sent_ns + (l->awaits ? l->set.period_ns / 4 : l->set.period_ns);
}

/* Rule 1, "Not reached". All that a node knows to ask for beats may be dead, the last leader among
 * them. Leases of others are over E + L after the election, or after the base shrank (rule 7). */
static void reach_out(struct ftc_lease *l, uint64_t now_ns)
{
    const struct ftc_set *nodes = &l->relay.beat.nodes;

    if (l->led_ns == 0 || now_ns - l->elected_ns < l->set.period_ns / 2 ||
        now_ns - l->led_ns >= l->patience_ns + l->lease_ns || FTC_LEASE_MUTATED(NOT_REACHED))
        return;
    for (int i = ftc_set_next(nodes, 0); i >= 0; i = ftc_set_next(nodes, i + 1))
        if (i != l->set.self && l->peer[i].echoed == 0)
            ftc_set_add(&l->pending, i);
}

static void send_beat(struct ftc_lease *l, uint64_t now_ns)
{
    struct ftc_lease_box *beat = &l->relay.beat;

    l->awaits = l->awaits && !l->grants;
    ftc_set_copy(&beat->nodes, &l->base);
    ftc_set_subtract(&beat->nodes, &l->refused);
    ftc_set_copy(&beat->refused, &l->refused);
    ftc_set_copy(&beat->declared, &l->declared);
    ftc_set_copy(&beat->silent, &l->silent);
    name_answers(l, beat);
    l->relay.grants = l->grants;
    ftc_lease_note(l, l->beat + 1, now_ns);
    l->sent_ns = now_ns;
    for (int i = ftc_set_next(&l->refused, 0); i >= 0; i = ftc_set_next(&l->refused, i + 1))
        if (l->peer[i].refused_since == 0)
            l->peer[i].refused_since = l->beat;
    ftc_lease_spread(l);
    reach_out(l, now_ns);
}

void ftc_lease_lead(struct ftc_lease *l, bool proven, uint64_t backed_ns, uint64_t now_ns)
{
    ftc_lease_need_peers(l);
    l->role = LEADER;
    l->proven = proven;
    l->grants = proven && now_ns < backed_ns; /* votes may have come late */
    l->backed_ns = backed_ns;
    for (int i = 0; i < l->set.nodes; i++) {
        struct peer *peer = &l->peer[i];
        /* The silence of a node counts from the last beat of the former leader at the earliest. */
        peer->heard_ns = peer->heard_ns > l->beat_ns ? peer->heard_ns : l->beat_ns;
        /* A vote counts as an echo, so that the first beat can grant a lease. */
        peer->answered = peer->votes;
        peer->echoed = peer->refused_since = peer->granted = 0;
    }
    ftc_apart_lead(&l->apart, now_ns);
    send_beat(l, now_ns);
}

static void count_answer(struct ftc_lease *l, int node, const struct ftc_lease_message *message,
                         uint64_t now_ns)
{
    struct peer *peer = &l->peer[node];

    if (node == l->set.self || ftc_set_has(&l->refused, node))
        return;
    if (!peer->answered || message->beat > peer->echoed)
        peer->echoed = message->beat;
    l->awaits |= !peer->answered;
    peer->answered = true;
    peer->heard_ns = now_ns;
    ftc_apart_echo(&l->apart, node, now_ns);
}

void ftc_lease_count_late_vote(struct ftc_lease *l, int from,
                               const struct ftc_lease_message *message, uint64_t now_ns)
{
    struct peer *peer = &l->peer[from];

    l->recount |= ftc_set_unite(&l->refused, message->refused);
    ftc_set_unite(&l->declared, message->declared);
    if (peer->answered)
        return;
    peer->answered = l->awaits = true;
    peer->echoed = 0;
    peer->heard_ns = now_ns;
}

void ftc_lease_count_echo(struct ftc_lease *l, const struct ftc_lease_message *message,
                          uint64_t now_ns)
{
    if (message->beat == 0 || message->beat > l->beat)
        return;
    for (int i = ftc_set_next(message->nodes, 0); i >= 0; i = ftc_set_next(message->nodes, i + 1))
        count_answer(l, i, message, now_ns);
    for (int i = 0; i < message->pairs; i++)
        if (ftc_set_has(message->nodes, message->pair[i].node))
            ftc_apart_pair(&l->apart, message->pair[i].node, message->pair[i].unheard);
    ftc_lease_tick_leader(l, now_ns);
}

/* A node that has echoed the first beat that grants it a lease has got it. */
bool ftc_lease_awaited(const struct ftc_lease *lease, uint64_t now_ns)
{
    const struct ftc_set *base = &lease->base;

    if (lease->fenced || lease->role != LEADER || !lease->grants)
        return false;
    for (int i = ftc_set_next(base, 0); i >= 0; i = ftc_set_next(base, i + 1)) {
        const struct peer *peer = &lease->peer[i];
        bool silent = now_ns - peer->heard_ns >= lease->lease_ns;
        if (i != lease->set.self && !ftc_set_has(&lease->refused, i) && !silent &&
            (peer->granted == 0 || peer->echoed < peer->granted))
            return true;
    }
    return false;
}

/* --- rules 6, 7, 8 --- */

static void refuse_silent(struct ftc_lease *l, uint64_t now_ns)
{
    uint64_t limit = l->set.timeout_ns - 2 * l->set.period_ns;

    for (int i = ftc_set_next(&l->base, 0); i >= 0; i = ftc_set_next(&l->base, i + 1))
        if (i != l->set.self && now_ns - l->peer[i].heard_ns >= limit &&
            !ftc_set_has(&l->refused, i)) {
            ftc_set_add(&l->refused, i);
            ftc_set_add(&l->silent, i);
            l->recount = true;
        }
}

/* More than clocks whose rates differ by 1 % can differ by during E + L. */
uint64_t ftc_lease_margin_ns(const struct ftc_lease *l)
{
    return l->lease_ns / 50;
}

static bool is_over(const struct ftc_lease *l, int node, uint64_t now_ns)
{
    return FTC_LEASE_MUTATED(NO_WAIT_APART) ||
           now_ns - l->peer[node].heard_ns >= l->lease_ns + ftc_lease_margin_ns(l);
}

/* Has every other node stopped to listen to `node`? A node that has echoed a beat refuses all that
 * the beat refuses. A refused node echoes nothing, but it listens to nobody once its lease is
 * over. */
static bool all_refuse(const struct ftc_lease *l, int node, uint64_t now_ns)
{
    if (l->peer[node].refused_since == 0 && !FTC_LEASE_MUTATED(DECLARE_UNREFUSED))
        return false;
    for (int i = ftc_set_next(&l->base, 0); i >= 0; i = ftc_set_next(&l->base, i + 1)) {
        if (i == l->set.self || i == node || FTC_LEASE_MUTATED(DECLARE_UNREFUSED))
            continue;
        if (ftc_set_has(&l->refused, i) ? !is_over(l, i, now_ns)
                                        : echoed_by(l, i) <= l->peer[node].refused_since)
            return false;
    }
    return true;
}

/* Rule 7. The grants of this leader to a node end L after the last echo of that node. Those of
 * earlier leaders end E + L after the election of this one. */
static void declare_refused(struct ftc_lease *l, uint64_t now_ns)
{
    bool old = FTC_LEASE_MUTATED(NO_WAIT) || l->led_ns == 0 ||
               now_ns - l->led_ns >= l->patience_ns + l->lease_ns + ftc_lease_margin_ns(l);

    for (int i = ftc_set_next(&l->refused, 0); i >= 0 && old; i = ftc_set_next(&l->refused, i + 1))
        if (!ftc_set_has(&l->declared, i) && is_over(l, i, now_ns) && all_refuse(l, i, now_ns))
            ftc_set_add(&l->declared, i);
}

static void refuse_apart(struct ftc_lease *l, uint64_t now_ns)
{
    const struct ftc_set *chosen = ftc_apart_choose(&l->apart, &l->base, &l->refused, now_ns);

    if (chosen == NULL)
        return;
    if (ftc_set_has(chosen, l->set.self))
        ftc_lease_fence(l);
    else
        l->recount |= ftc_set_unite(&l->refused, chosen);
}

void ftc_lease_tick_leader(struct ftc_lease *l, uint64_t now_ns)
{
    uint64_t echoed = echoed_by_quorum(l),
             sent = echoed > 1 ? ftc_lease_noted(l, (uint32_t)(echoed - 1)) : 0;

    if (sent != 0) {
        uint64_t until = sent + l->patience_ns;
        l->proven = true;
        l->backed_ns = until > l->backed_ns ? until : l->backed_ns;
        ftc_lease_extend(l, sent + l->lease_ns);
    }
    l->grants = l->proven && ftc_lease_is_backed(l, now_ns);
    if (l->grants) {
        refuse_silent(l, now_ns);
        refuse_apart(l, now_ns);
        declare_refused(l, now_ns);
    }
    if (!l->fenced && now_ns >= ftc_lease_next_beat(l))
        send_beat(l, now_ns);
}
