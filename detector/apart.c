/* Pairs of nodes that cannot reach each other: rule 8 of docs/design/nodes.md. */
#include "detector/apart.h"

#include <stdlib.h>

#include "base/error.h"
#include "detector/mutation.h"

#define ROUNDS_IN_TIMEOUT 10
#define SILENT_TIMES      6 /* so many times the rounds that a greeting has said */
#define COLLECTING_ROUNDS 3
#define NEIGHBOURS        2

/* Between two greetings of a node, where so many nodes are greeted in turn. */
static int rounds_for(const struct ftc_apart *apart, int rest)
{
    return rest > apart->others ? (rest + apart->others - 1) / apart->others : 1;
}

/* --- life --- */

int ftc_apart_init(struct ftc_apart *apart, int self, int nodes, int greetings, uint64_t timeout_ns)
{
    *apart = (struct ftc_apart){.self = self,
                                .nodes = nodes,
                                .others = greetings - NEIGHBOURS,
                                .walk = self,
                                .round_ns = timeout_ns / ROUNDS_IN_TIMEOUT,
                                .patience_ns = timeout_ns / 5,
                                .gap_ns = timeout_ns / 2};
    apart->heard = calloc((size_t)nodes, sizeof(*apart->heard));
    if (apart->heard == NULL)
        return FTC_ERR_NOMEM;
    for (int i = 0; i < nodes; i++)
        apart->heard[i].rounds = (uint32_t)rounds_for(apart, nodes - 1 - NEIGHBOURS);
    apart->heard[(self + 1) % nodes].rounds = apart->heard[(self + nodes - 1) % nodes].rounds = 1;
    int rc = ftc_set_init(&apart->unheard, nodes);
    rc = rc == 0 ? ftc_set_init(&apart->unreachable, nodes) : rc;
    rc = rc == 0 ? ftc_set_init(&apart->chosen, nodes) : rc;
    rc = rc == 0 ? ftc_set_init(&apart->greet, nodes) : rc;
    return rc;
}

void ftc_apart_fini(struct ftc_apart *apart)
{
    for (int i = 0; apart->peer != NULL && i < apart->nodes; i++) {
        ftc_set_fini(&apart->peer[i].unheard);
        ftc_set_fini(&apart->peer[i].pairs);
    }
    ftc_set_fini(&apart->greet);
    ftc_set_fini(&apart->chosen);
    ftc_set_fini(&apart->unreachable);
    ftc_set_fini(&apart->unheard);
    free(apart->peer);
    free(apart->heard);
    *apart = (struct ftc_apart){0};
}

/* --- greetings --- */

/* The nearest node to the right (step 1) or left (step -1) of `node` that is to be greeted. -1:
 * there is none. */
static int next_present(const struct ftc_apart *apart, const struct ftc_set *base,
                        const struct ftc_set *refused, int node, int step)
{
    for (int i = 1; i < apart->nodes; i++) {
        int other = (node + apart->nodes + i % apart->nodes * step) % apart->nodes;
        if (other != apart->self && ftc_set_has(base, other) && !ftc_set_has(refused, other))
            return other;
    }
    return -1;
}

/* Of the nodes that are to be greeted, those that are no neighbours. */
static int count_rest(const struct ftc_apart *apart, const struct ftc_set *base,
                      const struct ftc_set *refused)
{
    int rest =
        ftc_set_count(base) - ftc_set_has(base, apart->self) - 1 - (apart->left != apart->right);

    for (int i = ftc_set_next(refused, 0); i >= 0; i = ftc_set_next(refused, i + 1))
        rest -= i != apart->self && ftc_set_has(base, i);
    return rest;
}

/* The walk goes round the ring from where it stopped the last time. So it comes back to a node
 * after the rounds that a greeting says, or earlier if nodes have gone. */
static void choose_greeted(struct ftc_apart *apart, const struct ftc_set *base,
                           const struct ftc_set *refused)
{
    ftc_set_clear(&apart->greet);
    apart->right = next_present(apart, base, refused, apart->self, 1);
    apart->left = next_present(apart, base, refused, apart->self, -1);
    if (apart->right < 0)
        return;
    ftc_set_add(&apart->greet, apart->right);
    ftc_set_add(&apart->greet, apart->left);
    int rest = count_rest(apart, base, refused);
    apart->rounds = rounds_for(apart, rest);
    for (int n = 0; n < rest && n < apart->others && !FTC_LEASE_MUTATED(GREET_NEIGHBOURS);) {
        apart->walk = next_present(apart, base, refused, apart->walk, 1);
        if (apart->walk == apart->left || apart->walk == apart->right)
            continue;
        ftc_set_add(&apart->greet, apart->walk);
        n++;
    }
}

uint32_t ftc_apart_rounds(const struct ftc_apart *apart, int node)
{
    return node == apart->left || node == apart->right ? 1 : (uint32_t)apart->rounds;
}

/* --- what a node hears of the others --- */

static bool is_silent(const struct ftc_apart *apart, int node)
{
    uint32_t rounds = FTC_LEASE_MUTATED(COUNT_NOT_DUE) ? 1 : apart->heard[node].rounds;
    return apart->heard[node].silent >= SILENT_TIMES * rounds;
}

bool ftc_apart_round(struct ftc_apart *apart, const struct ftc_set *base,
                     const struct ftc_set *refused, uint64_t now_ns)
{
    if (apart->rounded_ns != 0 && now_ns - apart->rounded_ns < apart->round_ns)
        return false;
    for (int i = 0; i < apart->nodes && apart->rounded_ns != 0; i++) {
        apart->heard[i].silent += apart->heard[i].silent < UINT32_MAX;
        if (i != apart->self && is_silent(apart, i) && ftc_set_has(base, i))
            ftc_set_add(&apart->unheard, i);
    }
    apart->rounded_ns = now_ns;
    choose_greeted(apart, base, refused);
    return true;
}

uint64_t ftc_apart_due(const struct ftc_apart *apart)
{
    return apart->rounded_ns + apart->round_ns;
}

void ftc_apart_hear(struct ftc_apart *apart, int from)
{
    apart->heard[from].silent = 0;
    if (!ftc_set_has(&apart->unreachable, from))
        ftc_set_remove(&apart->unheard, from);
}

void ftc_apart_greeted(struct ftc_apart *apart, int from, uint32_t rounds)
{
    uint32_t most = (uint32_t)apart->nodes; /* what a node says is checked like all input */

    apart->heard[from].rounds = rounds < 1 ? 1 : rounds > most ? most : rounds;
}

bool ftc_apart_heard(const struct ftc_apart *apart, int node)
{
    return apart->heard[node].silent < SILENT_TIMES;
}

void ftc_apart_left(struct ftc_apart *apart, int node)
{
    ftc_set_remove(&apart->unheard, node);
    ftc_set_remove(&apart->unreachable, node);
}

void ftc_apart_reach(struct ftc_apart *apart, int node, bool reached)
{
    if (reached) {
        ftc_set_remove(&apart->unreachable, node);
        if (!is_silent(apart, node))
            ftc_set_remove(&apart->unheard, node);
    } else {
        ftc_set_add(&apart->unreachable, node);
        ftc_set_add(&apart->unheard, node);
    }
}

/* --- what the leader decides --- */

static void make_peers(struct ftc_apart *apart)
{
    apart->peer = calloc((size_t)apart->nodes, sizeof(*apart->peer));
    for (int i = 0; i < apart->nodes; i++)
        if (apart->peer == NULL || ftc_set_init(&apart->peer[i].unheard, apart->nodes) != 0 ||
            ftc_set_init(&apart->peer[i].pairs, apart->nodes) != 0)
            abort();
}

void ftc_apart_lead(struct ftc_apart *apart, uint64_t now_ns)
{
    if (apart->peer == NULL)
        make_peers(apart);
    for (int i = 0; i < apart->nodes; i++) {
        ftc_set_clear(&apart->peer[i].unheard);
        apart->peer[i].heard_ns = 0;
    }
    apart->since_ns = 0;
    apart->looked_ns = now_ns;
}

void ftc_apart_echo(struct ftc_apart *apart, int from, uint64_t now_ns)
{
    struct ftc_apart_peer *peer = &apart->peer[from];

    if (peer->heard_ns == 0 || now_ns - peer->heard_ns > apart->gap_ns)
        peer->steady_ns = now_ns;
    peer->heard_ns = now_ns;
    ftc_set_clear(&peer->unheard);
}

void ftc_apart_pair(struct ftc_apart *apart, int node, int unheard)
{
    ftc_set_add(&apart->peer[node].unheard, unheard);
}

/* Have the echoes of this node come for E without a gap of L? A node that is silent, or was until
 * recently, is a case for rule 6, because then the other nodes do not hear it either. */
static bool is_steady(const struct ftc_apart *apart, int node, uint64_t now_ns)
{
    const struct ftc_apart_peer *peer = &apart->peer[node];

    if (node == apart->self || FTC_LEASE_MUTATED(APART_SILENT))
        return true;
    return peer->heard_ns != 0 && now_ns - peer->heard_ns < apart->patience_ns &&
           now_ns - peer->steady_ns >= apart->patience_ns;
}

static bool is_stale(const struct ftc_apart *apart, int node, uint64_t now_ns)
{
    return node != apart->self && !FTC_LEASE_MUTATED(APART_SILENT) &&
           now_ns - apart->peer[node].heard_ns >= apart->patience_ns / 2;
}

/* Collect the pairs that `node` reports. A node that it calls unheard and that has left the base is
 * chosen at once: its refusal costs nobody anything, and `node` learns of its end by it. */
static bool collect_of(struct ftc_apart *apart, int node, const struct ftc_set *base,
                       const struct ftc_set *refused, uint64_t now_ns)
{
    const struct ftc_set *unheard =
        node == apart->self ? &apart->unheard : &apart->peer[node].unheard;
    bool any = false;

    for (int i = ftc_set_next(unheard, 0); i >= 0; i = ftc_set_next(unheard, i + 1)) {
        if (i == node || ftc_set_has(refused, i))
            continue;
        if (!ftc_set_has(base, i)) {
            if (i != apart->self)
                ftc_set_add(&apart->chosen, i);
        } else if (is_steady(apart, i, now_ns)) {
            ftc_set_add(&apart->peer[node].pairs, i);
            ftc_set_add(&apart->peer[i].pairs, node);
            apart->stale |= is_stale(apart, i, now_ns) || is_stale(apart, node, now_ns);
            any = true;
        }
    }
    return any;
}

/* Collect the pairs of all nodes. True: there is a pair, or a node is chosen already. */
static bool collect(struct ftc_apart *apart, const struct ftc_set *base,
                    const struct ftc_set *refused, uint64_t now_ns)
{
    bool any = false;

    apart->stale = false;
    ftc_set_clear(&apart->chosen);
    for (int i = 0; i < apart->nodes; i++)
        ftc_set_clear(&apart->peer[i].pairs);
    for (int i = ftc_set_next(base, 0); i >= 0; i = ftc_set_next(base, i + 1))
        if (!ftc_set_has(refused, i) && is_steady(apart, i, now_ns))
            any = collect_of(apart, i, base, refused, now_ns) || any;
    return any || !ftc_set_empty(&apart->chosen);
}

/* The node that is apart from most others. In a tie it is the highest one, but the leader (self)
 * only if no other node is apart from as many. -1: there are no pairs. */
static int worst(const struct ftc_apart *apart)
{
    int node = -1, most = 0;

    for (int i = 0; i < apart->nodes; i++) {
        int count = ftc_set_count(&apart->peer[i].pairs);
        if (count > most || (count == most && most > 0 && i != apart->self)) {
            node = i;
            most = count;
        }
    }
    return node;
}

static void choose(struct ftc_apart *apart, int node)
{
    ftc_set_add(&apart->chosen, node);
    for (int i = 0; i < apart->nodes; i++) {
        if (FTC_LEASE_MUTATED(APART_BOTH) && i != apart->self &&
            ftc_set_has(&apart->peer[i].pairs, node))
            ftc_set_add(&apart->chosen, i);
        ftc_set_remove(&apart->peer[i].pairs, node);
    }
    ftc_set_clear(&apart->peer[node].pairs);
}

/* The leader waits for COLLECTING_ROUNDS before it chooses. Of the nodes that do not hear a node
 * some report it up to two rounds later than others, and a choice before that could take one of the
 * reporting nodes for the cause. */
const struct ftc_set *ftc_apart_choose(struct ftc_apart *apart, const struct ftc_set *base,
                                       const struct ftc_set *refused, uint64_t now_ns)
{
    if (now_ns - apart->looked_ns < apart->round_ns / 2 || FTC_LEASE_MUTATED(APART_NEVER))
        return NULL;
    apart->looked_ns = now_ns;
    if (!collect(apart, base, refused, now_ns)) {
        apart->since_ns = 0;
        return NULL;
    }
    apart->since_ns = apart->since_ns == 0 ? now_ns : apart->since_ns;
    if (now_ns - apart->since_ns < COLLECTING_ROUNDS * apart->round_ns || apart->stale)
        return NULL;
    apart->since_ns = 0;
    for (int node = worst(apart); node >= 0; node = worst(apart))
        choose(apart, node);
    return &apart->chosen;
}
