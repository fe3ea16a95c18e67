/* Leases: rules 1 to 8 of docs/design/nodes.md. */
#include "detector/lease/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "detector/mutation.h"

#define LEAST_PERIODS 20

/* --- life --- */

static void free_sets(struct ftc_lease *l)
{
    ftc_set_fini(&l->base);
    ftc_set_fini(&l->refused);
    ftc_set_fini(&l->declared);
    ftc_set_fini(&l->told_refused);
    ftc_set_fini(&l->told_declared);
    ftc_set_fini(&l->silent);
    ftc_set_fini(&l->pending);
    for (int i = 0; l->peer != NULL && i < l->set.nodes; i++)
        ftc_set_fini(&l->peer[i].refused);
}

static bool allocate(struct ftc_lease *l)
{
    size_t nodes = (size_t)l->set.nodes;
    int rc = 0;

    l->peer = calloc(nodes, sizeof(*l->peer));
    l->sorted = calloc(nodes, sizeof(*l->sorted));
    if (l->peer == NULL || l->sorted == NULL)
        return false;
    struct ftc_set *sets[] = {&l->base,          &l->refused, &l->declared, &l->told_refused,
                              &l->told_declared, &l->silent,  &l->pending};
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]) && rc == 0; i++)
        rc = ftc_set_init(sets[i], l->set.nodes);
    for (int i = 0; i < l->set.nodes && rc == 0; i++)
        rc = ftc_set_init(&l->peer[i].refused, l->set.nodes);
    return rc == 0 && ftc_apart_init(&l->apart, l->set.self, l->set.nodes, l->set.greetings,
                                     l->set.timeout_ns) == FTC_SUCCESS;
}

int ftc_lease_create(struct ftc_lease **out, const struct ftc_lease_settings *settings)
{
    if (settings->nodes < 1 || settings->self < 0 || settings->self >= settings->nodes)
        return ftc_error_set(FTC_ERR_ARG, "there is no node %d of %d", settings->self,
                             settings->nodes);
    if (settings->greetings != 0 && settings->greetings < FTC_APART_LEAST)
        return ftc_error_set(FTC_ERR_ARG, "%d greetings are too few; give at least %d",
                             settings->greetings, FTC_APART_LEAST);
    if (settings->period_ns == 0 || settings->timeout_ns / LEAST_PERIODS < settings->period_ns)
        return ftc_error_set(
            FTC_ERR_ARG, "nodes need a timeout of at least %d heartbeat periods; give a longer one",
            LEAST_PERIODS);
    struct ftc_lease *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for leases");
    l->set = *settings;
    l->set.greetings = settings->greetings != 0 ? settings->greetings : FTC_LEASE_GREETINGS;
    l->patience_ns = settings->timeout_ns / 5;
    l->lease_ns = settings->timeout_ns / 2;
    l->leader = l->reply_to = -1;
    if (!allocate(l)) {
        ftc_lease_destroy(l);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for leases of %d nodes", settings->nodes);
    }
    ftc_set_fill(&l->base);
    *out = l;
    return FTC_SUCCESS;
}

void ftc_lease_destroy(struct ftc_lease *lease)
{
    if (lease == NULL)
        return;
    free_sets(lease);
    free(lease->peer);
    free(lease->sorted);
    ftc_apart_fini(&lease->apart);
    free(lease);
}

uint64_t ftc_lease_until(const struct ftc_lease *lease)
{
    return lease->until_ns;
}

int ftc_lease_leader(const struct ftc_lease *lease)
{
    return lease->leader;
}

const struct ftc_set *ftc_lease_refused(const struct ftc_lease *lease)
{
    return &lease->refused;
}

const struct ftc_set *ftc_lease_unheard(const struct ftc_lease *lease)
{
    return &lease->apart.unheard;
}

bool ftc_lease_silent(const struct ftc_lease *lease, int node)
{
    return ftc_set_has(&lease->silent, node) && !ftc_apart_heard(&lease->apart, node);
}

/* --- quorums: more than half of the base, or half of it with its lowest node --- */

static int descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* The sending time of the latest beat that a quorum has echoed. `own` stands for this node. */
static uint64_t quorum_time(struct ftc_lease *l, uint64_t own)
{
    int count = 0, base = ftc_set_count(&l->base), lowest = ftc_set_next(&l->base, 0);
    uint64_t with_lowest = lowest == l->set.self ? own : l->peer[lowest].echoed_ns;

    for (int i = ftc_set_next(&l->base, 0); i >= 0; i = ftc_set_next(&l->base, i + 1))
        if (i != lowest)
            l->sorted[count++] = i == l->set.self ? own : l->peer[i].echoed_ns;
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

/* --- ends --- */

static void fence(struct ftc_lease *l)
{
    l->fenced = true;
    ftc_set_clear(&l->pending);
    ftc_set_clear(&l->apart.greet);
    l->reply_to = -1;
}

static void check_lease(struct ftc_lease *l, uint64_t now_ns)
{
    bool over =
        l->until_ns != 0 ? now_ns >= l->until_ns : now_ns - l->start_ns >= l->set.timeout_ns;

    if (over || ftc_set_has(&l->refused, l->set.self))
        fence(l);
}

static void extend(struct ftc_lease *l, uint64_t until_ns)
{
    l->until_ns = until_ns > l->until_ns ? until_ns : l->until_ns;
}

/* --- the leader: rules 2, 6, 7, 8 --- */

static bool is_backed(const struct ftc_lease *l, uint64_t now_ns)
{
    return now_ns < l->backed_ns;
}

static void send_beats(struct ftc_lease *l, uint64_t now_ns)
{
    ftc_set_copy(&l->pending, &l->base);
    ftc_set_subtract(&l->pending, &l->refused);
    ftc_set_remove(&l->pending, l->set.self);
    l->sent_ns = now_ns;
}

/* Begin to lead. At the start `proven` is false, for nobody has voted: beats then grant nothing. */
static void lead(struct ftc_lease *l, bool proven, uint64_t backed_ns, uint64_t now_ns)
{
    l->role = LEADER;
    l->leader = l->set.self;
    l->proven = proven;
    l->grants = proven && now_ns < backed_ns; /* votes may have come late */
    l->backed_ns = backed_ns;
    for (int i = 0; i < l->set.nodes; i++) {
        /* The silence of a node counts from the last beat of the former leader at the earliest. */
        l->peer[i].heard_ns = l->peer[i].heard_ns > l->beat_ns ? l->peer[i].heard_ns : l->beat_ns;
        l->peer[i].echoed_ns = 0;
        /* A vote counts as an echo, so that the first beat can grant a lease. */
        l->peer[i].node_ns = l->peer[i].votes ? l->peer[i].node_ns : 0;
        ftc_set_clear(&l->peer[i].refused);
    }
    ftc_apart_lead(&l->apart, now_ns);
    send_beats(l, now_ns);
}

static void refuse_silent(struct ftc_lease *l, uint64_t now_ns)
{
    uint64_t limit = l->set.timeout_ns - 2 * l->set.period_ns;

    for (int i = ftc_set_next(&l->base, 0); i >= 0; i = ftc_set_next(&l->base, i + 1))
        if (i != l->set.self && now_ns - l->peer[i].heard_ns >= limit &&
            !ftc_set_has(&l->refused, i)) {
            ftc_set_add(&l->refused, i);
            ftc_set_add(&l->silent, i);
        }
}

/* More than clocks whose rates differ by 1 % can differ by during E + L. */
static uint64_t margin_ns(const struct ftc_lease *l)
{
    return l->lease_ns / 50;
}

static bool is_over(const struct ftc_lease *l, int node, uint64_t now_ns)
{
    return FTC_LEASE_MUTATED(NO_WAIT_APART) ||
           now_ns - l->peer[node].heard_ns >= l->lease_ns + margin_ns(l);
}

/* Has every other node stopped to listen to `node`? A refused node cannot report whom it refuses,
 * but it listens to nobody once its lease is over. */
static bool all_refuse(const struct ftc_lease *l, int node, uint64_t now_ns)
{
    for (int i = ftc_set_next(&l->base, 0); i >= 0; i = ftc_set_next(&l->base, i + 1)) {
        if (i == l->set.self || i == node || FTC_LEASE_MUTATED(DECLARE_UNREFUSED))
            continue;
        if (ftc_set_has(&l->refused, i) ? !is_over(l, i, now_ns)
                                        : !ftc_set_has(&l->peer[i].refused, node))
            return false;
    }
    return true;
}

/* Rule 7. The grants of this leader to a node end L after the last echo of that node. Those of
 * earlier leaders end E + L after the election of this one. */
static void declare_refused(struct ftc_lease *l, uint64_t now_ns)
{
    bool old = FTC_LEASE_MUTATED(NO_WAIT) || l->led_ns == 0 ||
               now_ns - l->led_ns >= l->patience_ns + l->lease_ns + margin_ns(l);

    for (int i = ftc_set_next(&l->refused, 0); i >= 0 && old; i = ftc_set_next(&l->refused, i + 1))
        if (is_over(l, i, now_ns) && all_refuse(l, i, now_ns))
            ftc_set_add(&l->declared, i);
}

/* Rule 8. */
static void refuse_apart(struct ftc_lease *l, uint64_t now_ns)
{
    const struct ftc_set *chosen = ftc_apart_choose(&l->apart, &l->base, &l->refused, now_ns);

    if (chosen == NULL)
        return;
    if (ftc_set_has(chosen, l->set.self))
        fence(l);
    else
        ftc_set_unite(&l->refused, chosen);
}

static void tick_leader(struct ftc_lease *l, uint64_t now_ns)
{
    uint64_t backed = quorum_time(l, now_ns);

    if (backed > 0) {
        uint64_t until = backed + l->patience_ns;
        l->proven = true;
        l->backed_ns = until > l->backed_ns ? until : l->backed_ns;
        extend(l, backed + l->lease_ns);
    }
    l->grants = l->proven && is_backed(l, now_ns);
    if (l->grants) {
        refuse_silent(l, now_ns);
        refuse_apart(l, now_ns);
        declare_refused(l, now_ns);
    }
    if (!l->fenced && now_ns - l->sent_ns >= l->set.period_ns)
        send_beats(l, now_ns);
}

/* --- elections: rules 3, 5 --- */

/* How long a vote binds. That is shorter than for an echo, because the node that got the vote may
 * have lost, and then another one must be able to try soon. */
static uint64_t vote_ns(const struct ftc_lease *l)
{
    return 2 * l->set.period_ns;
}

static bool may_vote(const struct ftc_lease *l, int whom, uint64_t now_ns)
{
    bool leads = l->role == LEADER && is_backed(l, now_ns);
    return !leads && (now_ns >= l->promised_ns || whom == l->leader);
}

/* k of rule 5: the position among the nodes that may take over from a silent leader. */
static int position(const struct ftc_lease *l)
{
    int before = 0;

    for (int i = 0; i < l->set.self; i++)
        before += ftc_set_has(&l->base, i) && !ftc_set_has(&l->refused, i) && i != l->leader;
    return before;
}

/* Ask all nodes, by a probe or for votes. A node that would vote sticks to it for a while, so
 * answers to the last probe count, too. If they did not, a repetition each P/2 would never get a
 * quorum where messages take that long. */
static void ask(struct ftc_lease *l, bool probing, uint64_t now_ns)
{
    bool again = probing && l->role == ASKING && l->probing;

    l->role = ASKING;
    l->probing = probing;
    l->asked_ns = now_ns;
    if (!probing)
        l->asked_term = (l->asked_term > l->term ? l->asked_term : l->term) + 1;
    for (int i = 0; i < l->set.nodes; i++)
        l->peer[i].votes &= again && now_ns - l->peer[i].voted_ns < vote_ns(l);
    send_beats(l, now_ns); /* while the role is ASKING these messages are the questions */
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
            l->term = l->asked_term;
            l->led_ns = now_ns;
            lead(l, true, l->asked_ns + vote_ns(l), now_ns);
        }
    }
}

/* When this node asks next. A probe is repeated after P/2, because a node that could not vote then
 * may be able to now. A question for votes is given the time that a vote binds. */
static uint64_t next_question(const struct ftc_lease *l)
{
    uint64_t due = l->promised_ns + (uint64_t)position(l) * l->set.period_ns;

    if (l->role == ASKING)
        return l->asked_ns + (l->probing ? l->set.period_ns / 2 : vote_ns(l));
    return due > l->hold_ns ? due : l->hold_ns;
}

static void tick_other(struct ftc_lease *l, uint64_t now_ns)
{
    if (now_ns >= next_question(l))
        ask(l, true, now_ns);
    count_votes(l, now_ns);
}

/* --- messages --- */

static void answer(struct ftc_lease *l, int to, enum ftc_lease_kind kind, uint64_t leader_ns,
                   uint64_t now_ns)
{
    l->reply_to = to;
    l->reply = (struct ftc_lease_message){
        .kind = kind, .term = l->term, .leader_ns = leader_ns, .node_ns = now_ns};
}

/* Rule 5. In a term this node follows only the leader that it voted for; where the base shrank, the
 * same term can have a second leader. A leader that cannot be followed is told a term above all
 * that this node knows. If that leader is backed it has itself elected anew. */
static void take_beat(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                      uint64_t now_ns)
{
    bool second =
        message->term == l->term && ((l->leader >= 0 && l->leader != from) || l->role == LEADER);

    if (message->term < l->term || second) {
        answer(l, from, FTC_LEASE_PROBE, 0, now_ns);
        l->reply.term = l->term + (second ? 2 : 1);
        return;
    }
    l->term = message->term;
    l->leader = from;
    l->role = FOLLOWER;
    l->beat_ns = now_ns;
    l->promised_ns = now_ns + l->patience_ns;
    ftc_set_unite(&l->refused, message->refused);
    ftc_set_unite(&l->declared, message->declared);
    ftc_set_unite(&l->silent, message->unheard);
    if (message->node_ns != 0 && message->node_ns <= now_ns)
        extend(l, (FTC_LEASE_MUTATED(FROM_RECEIPT) ? now_ns : message->node_ns) + l->lease_ns);
    answer(l, from, FTC_LEASE_ECHO, message->leader_ns, now_ns);
}

static void take_echo(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                      uint64_t now_ns)
{
    struct peer *peer = &l->peer[from];

    if (l->role != LEADER || message->term != l->term || message->leader_ns > now_ns)
        return;
    peer->echoed_ns = message->leader_ns > peer->echoed_ns ? message->leader_ns : peer->echoed_ns;
    if (peer->node_ns == 0)
        ftc_set_add(&l->pending, from); /* send its first lease of this term at once */
    peer->node_ns = message->node_ns;
    peer->heard_ns = now_ns;
    ftc_set_unite(&peer->refused, message->refused);
    ftc_apart_echo(&l->apart, from, message->unheard, now_ns);
    tick_leader(l, now_ns);
}

static void take_question(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
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
        l->role = FOLLOWER;
    l->hold_ns = now_ns + vote_ns(l);
    if (message->kind == FTC_LEASE_ASK) {
        l->term = message->term;
        l->leader = from;
        l->role = FOLLOWER;
        l->promised_ns = now_ns + vote_ns(l);
    }
    answer(l, from, message->kind == FTC_LEASE_ASK ? FTC_LEASE_VOTE : FTC_LEASE_WOULD, 0, now_ns);
    l->reply.term = message->term;
}

static void take_vote(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                      uint64_t now_ns)
{
    bool wanted = message->kind == (l->probing ? FTC_LEASE_WOULD : FTC_LEASE_VOTE);

    if (l->role != ASKING || !wanted || message->term != ftc_lease_question_term(l))
        return;
    l->peer[from].votes = true;
    l->peer[from].voted_ns = now_ns;
    l->peer[from].node_ns = message->node_ns;
    if (!l->probing) {
        ftc_set_unite(&l->refused, message->refused);
        ftc_set_unite(&l->declared, message->declared);
    }
    count_votes(l, now_ns);
}

/* Rule 8. Greetings go out before any other message, so that a node that the leader hears has
 * greeted those that it must. */
static void keep_round(struct ftc_lease *l, uint64_t now_ns)
{
    (void)ftc_apart_round(&l->apart, &l->base, &l->refused, now_ns);
}

void ftc_lease_receive(struct ftc_lease *lease, int from, const struct ftc_lease_message *message,
                       uint64_t now_ns)
{
    if (from < 0 || from >= lease->set.nodes || from == lease->set.self || lease->fenced)
        return;
    check_lease(lease, now_ns);
    if (lease->fenced || ftc_set_has(&lease->refused, from))
        return;
    keep_round(lease, now_ns);
    ftc_apart_hear(&lease->apart, from);
    if (message->kind == FTC_LEASE_HELLO)
        ftc_apart_greeted(&lease->apart, from, message->rounds);
    else if (message->kind == FTC_LEASE_BEAT)
        take_beat(lease, from, message, now_ns);
    else if (message->kind == FTC_LEASE_ECHO)
        take_echo(lease, from, message, now_ns);
    else if (message->kind == FTC_LEASE_PROBE || message->kind == FTC_LEASE_ASK)
        take_question(lease, from, message, now_ns);
    else
        take_vote(lease, from, message, now_ns);
    check_lease(lease, now_ns);
}

void ftc_lease_start(struct ftc_lease *lease, uint64_t now_ns)
{
    lease->term = 1;
    lease->beat_ns = lease->start_ns = now_ns;
    lease->promised_ns = now_ns + lease->patience_ns;
    lease->leader = 0;
    if (lease->set.self == 0)
        lead(lease, false, now_ns, now_ns);
    ftc_lease_tick(lease, now_ns);
}

void ftc_lease_tick(struct ftc_lease *lease, uint64_t now_ns)
{
    if (lease->fenced)
        return;
    /* The own lease of a leader is up to date here, because each echo was counted when it came. */
    check_lease(lease, now_ns);
    if (lease->fenced)
        return;
    keep_round(lease, now_ns);
    if (lease->role == LEADER)
        tick_leader(lease, now_ns);
    if (lease->role != LEADER && !lease->fenced)
        tick_other(lease, now_ns);
}

/*
 * A smaller base can give a leader the quorum that it lacked. Meanwhile another leader may have
 * been elected, with the echoes of the node that leaves. What that leader granted ends E + L from
 * now at the latest, so this one waits that long (rule 7). While a leader is backed nobody else is
 * elected, so a backed leader need not wait.
 */
void ftc_lease_left(struct ftc_lease *lease, int node, uint64_t now_ns)
{
    if (node < 0 || node >= lease->set.nodes)
        return;
    if (node == lease->set.self) {
        fence(lease);
        lease->fence_told = true;
        return;
    }
    if (lease->role == LEADER && !FTC_LEASE_MUTATED(NO_WAIT_AGAIN) &&
        !is_backed(lease, now_ns + margin_ns(lease)))
        lease->led_ns = now_ns;
    ftc_set_remove(&lease->base, node);
    ftc_apart_left(&lease->apart, node);
    ftc_lease_tick(lease, now_ns);
}

void ftc_lease_reach(struct ftc_lease *lease, int node, bool reached)
{
    if (node >= 0 && node < lease->set.nodes && node != lease->set.self &&
        ftc_set_has(&lease->base, node))
        ftc_apart_reach(&lease->apart, node, reached);
}

uint64_t ftc_lease_due(const struct ftc_lease *lease)
{
    uint64_t due =
        lease->role == LEADER ? lease->sent_ns + lease->set.period_ns : next_question(lease);
    uint64_t end = lease->until_ns != 0 ? lease->until_ns : lease->start_ns + lease->set.timeout_ns;
    uint64_t round = ftc_apart_due(&lease->apart);

    if (lease->fenced)
        return UINT64_MAX;
    due = round < due ? round : due;
    return end < due ? end : due;
}
