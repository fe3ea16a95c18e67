/* Leases: rules 1 to 8 of docs/design/nodes.md. This file has the life of a lease, its inputs and
 * its ends. */
#include <stdlib.h>

#include "base/error.h"
#include "detector/lease/internal.h"
#include "detector/mutation.h"

#define LEAST_PERIODS 20

/* --- life --- */

static int all_sets(struct ftc_lease *l, struct ftc_set *sets[])
{
    struct ftc_set *all[] = {&l->base,          &l->refused, &l->declared, &l->told_refused,
                             &l->told_declared, &l->silent,  &l->pending};
    int count = sizeof(all) / sizeof(all[0]);

    for (int i = 0; i < count; i++)
        sets[i] = all[i];
    return count;
}

static int allocate(struct ftc_lease *l)
{
    struct ftc_set *sets[8];
    int rc = FTC_SUCCESS;

    for (int i = 0, count = all_sets(l, sets); i < count && rc == FTC_SUCCESS; i++)
        rc = ftc_set_init(sets[i], l->set.nodes);
    rc = rc == FTC_SUCCESS ? ftc_lease_init_relay(l) : rc;
    return rc == FTC_SUCCESS ? ftc_apart_init(&l->apart, l->set.self, l->set.nodes,
                                              l->set.greetings, l->set.timeout_ns)
                             : rc;
}

static int check(const struct ftc_lease_settings *settings)
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
    return FTC_SUCCESS;
}

int ftc_lease_create(struct ftc_lease **out, const struct ftc_lease_settings *settings)
{
    int rc = check(settings);

    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_lease *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for leases");
    l->set = *settings;
    l->set.greetings = settings->greetings != 0 ? settings->greetings : FTC_LEASE_GREETINGS;
    l->set.arity = settings->arity != 0 ? settings->arity : FTC_LEASE_ARITY;
    l->patience_ns = settings->timeout_ns / 5;
    l->lease_ns = settings->timeout_ns / 2;
    l->leader = l->reply_to = -1;
    if (allocate(l) != FTC_SUCCESS) {
        ftc_lease_destroy(l);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for leases of %d nodes", settings->nodes);
    }
    ftc_set_fill(&l->base);
    *out = l;
    return FTC_SUCCESS;
}

void ftc_lease_destroy(struct ftc_lease *lease)
{
    struct ftc_set *sets[8];

    if (lease == NULL)
        return;
    for (int i = 0, count = all_sets(lease, sets); i < count; i++)
        ftc_set_fini(sets[i]);
    free(lease->peer);
    free(lease->sorted);
    ftc_lease_fini_relay(lease);
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

/* --- ends --- */

static void check_lease(struct ftc_lease *l, uint64_t now_ns)
{
    bool over =
        l->until_ns != 0 ? now_ns >= l->until_ns : now_ns - l->start_ns >= l->set.timeout_ns;

    if (over || ftc_set_has(&l->refused, l->set.self))
        ftc_lease_fence(l);
}

/* --- inputs --- */

static void take_echo(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                      uint64_t now_ns)
{
    if (message->term != l->term || l->role == ASKING)
        return;
    if (l->role == LEADER)
        ftc_lease_count_echo(l, message, now_ns);
    else
        ftc_lease_take_echo(l, from, message);
}

static void take(struct ftc_lease *l, int from, const struct ftc_lease_message *message,
                 uint64_t now_ns)
{
    switch (message->kind) {
    case FTC_LEASE_BEAT:
        ftc_lease_take_beat(l, from, message, now_ns);
        break;
    case FTC_LEASE_ECHO:
        take_echo(l, from, message, now_ns);
        break;
    case FTC_LEASE_WANT:
        ftc_lease_take_want(l, from, message, now_ns);
        break;
    case FTC_LEASE_PROBE:
    case FTC_LEASE_ASK:
        ftc_lease_take_question(l, from, message, now_ns);
        break;
    case FTC_LEASE_HELLO:
        ftc_apart_greeted(&l->apart, from, message->rounds);
        break;
    default:
        ftc_lease_take_vote(l, from, message, now_ns);
        break;
    }
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
    take(lease, from, message, now_ns);
    ftc_lease_set_turn(lease);
    check_lease(lease, now_ns);
}

void ftc_lease_start(struct ftc_lease *lease, uint64_t now_ns)
{
    ftc_lease_begin_term(lease, 1, 0);
    lease->beat_ns = lease->start_ns = lease->relay.since_ns = now_ns;
    lease->promised_ns = now_ns + lease->patience_ns;
    if (lease->set.self == 0)
        ftc_lease_lead(lease, false, now_ns, now_ns);
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
        ftc_lease_tick_leader(lease, now_ns);
    if (lease->role != LEADER && !lease->fenced)
        ftc_lease_tick_other(lease, now_ns);
    if (!lease->fenced)
        ftc_lease_tick_relay(lease, now_ns);
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
    if (node != lease->set.self && !ftc_set_has(&lease->base, node)) /* told before */
        return;
    if (node == lease->set.self) {
        ftc_lease_fence(lease);
        lease->fence_told = true;
        return;
    }
    if (lease->role == LEADER && !FTC_LEASE_MUTATED(NO_WAIT_AGAIN) &&
        !ftc_lease_is_backed(lease, now_ns + ftc_lease_margin_ns(lease)))
        lease->led_ns = now_ns;
    ftc_set_remove(&lease->base, node);
    lease->recount = true;
    ftc_apart_left(&lease->apart, node);
    ftc_lease_tick(lease, now_ns);
}

void ftc_lease_reach(struct ftc_lease *lease, int node, bool reached)
{
    if (node >= 0 && node < lease->set.nodes && node != lease->set.self &&
        ftc_set_has(&lease->base, node))
        ftc_apart_reach(&lease->apart, node, reached);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t ftc_lease_due(const struct ftc_lease *lease)
{
    uint64_t due =
        lease->role == LEADER ? ftc_lease_next_beat(lease) : ftc_lease_next_question(lease);
    uint64_t end = lease->until_ns != 0 ? lease->until_ns : lease->start_ns + lease->set.timeout_ns;

    if (lease->fenced)
        return UINT64_MAX;
    due = earlier(due, ftc_apart_due(&lease->apart));
    due = earlier(due, ftc_lease_relay_due(lease));
    return earlier(due, end);
}
