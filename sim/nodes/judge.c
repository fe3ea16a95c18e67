/* Checks the promises of docs/design/nodes.md; the ledger checks those of agreement.md. */
#include "sim/nodes/world.h"

#define PROMPT_NS (FTC_NODES_PERIOD / 2) /* messages with a longer delay may cost leases */

/* A lease that lasts this much longer survives the election of a new leader: E for the promise, 2 P
 * for the nodes that come first (rule 5), and 2 P for messages. */
#define ELECTION_NS (FTC_NODES_TIMEOUT / 5 + 4 * FTC_NODES_PERIOD)

static bool has_ranks(const struct ftc_world *w, int node)
{
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++)
        if (w->actor[ftc_rank_actor(w, r)].alive)
            return true;
    return false;
}

bool ftc_judge_up(const struct ftc_world *w, int node)
{
    const struct ftc_world_node *n = &w->node[node];

    return has_ranks(w, node) && n->until_ns != 0 && ftc_world_clock(w, node) < n->until_ns;
}

/* --- while it runs --- */

/* A rank that is declared failed returns from no call any more, and no rank that may return from a
 * call hears it. */
void ftc_judge_declares(struct ftc_world *w, int by, int node)
{
    struct ftc_world_node *n = &w->node[node];

    if (ftc_judge_up(w, node))
        ftc_ledger_violate(w->ledger, "agent %d declares node %d failed, whose lease holds", by,
                           node);
    for (int i = 0; i < w->nodes; i++)
        if (i != node && ftc_judge_up(w, i) && !w->node[i].refused[node])
            ftc_ledger_violate(w->ledger,
                               "agent %d declares node %d failed, to which node %d listens", by,
                               node, i);
    w->sums->declared += !n->declared;
    n->declared = true;
    for (int r = w->story->first[node]; r < w->story->first[node + 1] && !ftc_world_broken(w);
         r++) {
        if (!w->rank[r].lost)
            ftc_ledger_dies(w->ledger, r, w->rank[r].member);
        w->rank[r].lost = true;
    }
}

void ftc_judge_refuses(struct ftc_world *w, int by, int node)
{
    w->sums->refused++;
    if (w->story->gentle)
        ftc_ledger_violate(
            w->ledger, "agent %d refuses node %d, which was away for a moment at most", by, node);
    if (!w->node[node].disturbed && w->actor[node].alive && has_ranks(w, node) &&
        w->story->delay_ns <= PROMPT_NS)
        ftc_ledger_violate(w->ledger, "agent %d refuses node %d, to which nothing has happened", by,
                           node);
}

/* Rule 2, by the lease of the leader: it ends L after the beat that backs the leader was sent. */
void ftc_judge_leads(struct ftc_world *w, int node)
{
    struct ftc_world_node *n = &w->node[node];
    uint64_t least = ftc_world_clock(w, node) + FTC_NODES_TIMEOUT / 2 - FTC_NODES_TIMEOUT / 5;

    if (n->resigned || ftc_lease_leader(n->lease) != node || n->until_ns < least)
        n->backed_ns = 0;
    else if (n->backed_ns == 0)
        n->backed_ns = w->now_ns;
}

/* Has the leader had the time to renew the lease of the node? */
static bool keeps(const struct ftc_world *w, int leader, int node)
{
    const struct ftc_world_node *l = &w->node[leader];

    return leader != node && ftc_world_runs(w, leader) && l->backed_ns != 0 &&
           w->now_ns - l->backed_ns >= FTC_NODES_TIMEOUT / 2 && !l->away[node] &&
           !w->node[node].refused[leader];
}

void ftc_judge_ends(struct ftc_world *w, int node)
{
    for (int i = 0; i < w->nodes && !w->node[node].disturbed && w->story->delay_ns <= PROMPT_NS;
         i++)
        if (keeps(w, i, node))
            ftc_ledger_violate(
                w->ledger,
                "node %d, to which nothing has happened, ends, though leader %d is backed", node,
                i);
}

/* --- the end --- */

static bool connected(const struct ftc_world *w, int a, int b)
{
    return ((w->story->side >> a ^ w->story->side >> b) & 1) == 0;
}

/* Does the node have an agent that votes? */
static bool takes_part(const struct ftc_world *w, int node)
{
    const struct ftc_world_node *n = &w->node[node];

    return w->actor[node].alive && !n->resigned &&
           (n->until_ns == 0 || ftc_world_clock(w, node) < n->until_ns);
}

static bool is_quorum(unsigned part, unsigned base)
{
    int count = __builtin_popcount(part & base), all = __builtin_popcount(base);
    return 2 * count > all || (2 * count == all && (part & base & -base) != 0);
}

static unsigned base_of(const struct ftc_world *w, int node)
{
    unsigned base = 0;

    for (int i = 0; i < w->nodes; i++)
        base |= w->node[node].away[i] ? 0 : 1u << i;
    return base;
}

static unsigned group_of(const struct ftc_world *w, int node)
{
    unsigned group = 0;

    for (int i = 0; i < w->nodes; i++)
        group |= connected(w, i, node) && takes_part(w, i) ? 1u << i : 0;
    return group;
}

/* A complaint may still be on its way. */
static bool has_complained(const struct ftc_world *w)
{
    for (int i = 0; i < w->nodes; i++)
        if (w->node[i].unheard_ns != 0 && w->node[i].unheard_ns + FTC_NODES_TIMEOUT / 2 > w->now_ns)
            return true;
    return false;
}

static unsigned refused_by_some(const struct ftc_world *w)
{
    unsigned refused = 0;

    for (int i = 0; i < w->nodes; i++)
        for (int j = 0; j < w->nodes; j++)
            refused |= w->node[i].refused[j] ? 1u << j : 0;
    return refused;
}

/* Must the group go on? Its nodes must have a quorum even if only `rest` remains of the group. No
 * node has refused a node of it, and leases last until there is a leader. */
static bool must_go_on(const struct ftc_world *w, unsigned group, unsigned rest)
{
    for (int i = 0; i < w->nodes; i++) {
        if (group >> i & 1 && (!has_ranks(w, i) || !is_quorum(rest, base_of(w, i)) ||
                               w->node[i].until_ns < ftc_world_clock(w, i) + ELECTION_NS))
            return false;
        for (int j = 0; j < w->nodes; j++)
            if (group >> j & 1 && ftc_set_has(ftc_lease_refused(w->node[i].lease), j))
                return false;
    }
    return !has_complained(w);
}

static bool finished(const struct ftc_world *w, int node)
{
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++)
        if (w->actor[ftc_rank_actor(w, r)].alive && !ftc_rank_finished(w, r))
            return false;
    return true;
}

static bool all_follow_another(const struct ftc_world *w, unsigned group, int node)
{
    int leader = -1;

    for (int i = 0; i < w->nodes; i++)
        if (group >> i & 1) {
            int followed = ftc_lease_leader(w->node[i].lease);
            if (followed < 0 || followed == node || (leader >= 0 && leader != followed))
                return false;
            leader = followed;
        }
    return (group >> leader & 1) != 0;
}

/* Pairs are cut for good. Of one pair, one node must go. If several pairs have a node in common,
 * that node must go, unless it is the leader, or some nodes do not greet each other in each round:
 * then not all pairs are known when one of them is chosen. */
static void judge_apart(struct ftc_world *w, unsigned group)
{
    int a = w->story->centre;
    unsigned others = a >= 0 ? w->story->apart[a] & group : 0;

    if (others == 0 || (group >> a & 1) == 0 || w->story->delay_ns > PROMPT_NS)
        return;
    if ((others & (others - 1)) != 0) {
        unsigned rest = group & ~(1u << a);
        if (!w->was_cut && w->story->greetings >= w->nodes - 1 && all_follow_another(w, group, a) &&
            must_go_on(w, group, rest))
            w->must_go_on = rest;
    } else if (must_go_on(w, group, group & ~(1u << a)) && must_go_on(w, group, group & ~others)) {
        w->one_of = others | 1u << a;
        w->must_go_on = group & ~w->one_of;
    }
}

/* From here on all nodes of a group hear each other, and no strike comes any more. */
void ftc_judge_calm(struct ftc_world *w)
{
    unsigned living = 0;
    bool apart = false;

    for (int i = 0; i < w->nodes; i++) {
        living |= takes_part(w, i) ? 1u << i : 0;
        apart |= w->story->apart[i] != 0;
    }
    for (int i = 0; i < w->nodes; i++) {
        unsigned group = group_of(w, i);
        if (!apart && group >> i & 1 && w->story->delay_ns <= PROMPT_NS &&
            must_go_on(w, group, group))
            w->must_go_on |= 1u << i;
        if (!is_quorum(group, living) && !is_quorum(group, living & ~refused_by_some(w)) &&
            !has_complained(w) && !finished(w, i)) /* no base becomes smaller than this one */
            w->must_end |= 1u << i;
    }
    if (apart)
        judge_apart(w, living);
    w->sums->apart += apart;
    w->sums->cut += w->story->side != 0;
    w->sums->went_on += w->must_go_on != 0;
    w->sums->lost += w->must_end != 0;
    ftc_world_say(w, "it is calm; nodes that have to go on: %#x, to end: %#x", w->must_go_on,
                  w->must_end);
}

void ftc_judge_lost(struct ftc_world *w)
{
    for (int i = 0; i < w->nodes; i++)
        if (w->must_end >> i & 1 && has_ranks(w, i) && !finished(w, i))
            ftc_ledger_violate(w->ledger, "node %d has lost all others and goes on", i);
}

bool ftc_judge_over(const struct ftc_world *w)
{
    for (int i = 0; i < w->nodes; i++)
        if (!finished(w, i))
            return false;
    return true;
}

static void check_stuck(struct ftc_world *w)
{
    struct ftc_member_activity activity = {0};
    int rank = ftc_ledger_unfinished(w->ledger);

    if (rank < 0)
        return;
    ftc_member_activity(w->rank[rank].member, &activity);
    ftc_ledger_violate(
        w->ledger,
        "rank %d never delivers operation %d: ballot (%u,%u), waits for %s of rank %d (%d)", rank,
        ftc_ledger_called(w->ledger, rank) - 1, activity.ballot.i, activity.ballot.s,
        ftc_wait_name(activity.wait), activity.waits_for, activity.waits);
}

static void count_decisions(struct ftc_world *w)
{
    for (int op = 0; op < w->program.length; op++) {
        const struct ftc_decision *first = NULL;
        bool decided = false, other = false;
        for (int r = 0; r < w->ranks; r++) {
            const struct ftc_decision *decision = ftc_ledger_decision(w->ledger, op, r);
            decided |= ftc_ledger_delivered(w->ledger, op, r);
            other |= first != NULL && decision != NULL && decision != first;
            first = first == NULL ? decision : first;
        }
        w->sums->decided += decided;
        w->sums->forgotten += other;
    }
}

static void check_one_of(struct ftc_world *w)
{
    bool one = w->one_of == 0;

    for (int i = 0; i < w->nodes; i++)
        one |= w->one_of >> i & 1 && w->actor[i].alive && !w->node[i].declared;
    if (!one)
        ftc_ledger_violate(w->ledger, "of two nodes that cannot reach each other (%#x) both end",
                           w->one_of);
}

void ftc_judge_end(struct ftc_world *w)
{
    for (int i = 0; i < w->nodes; i++)
        if (w->must_go_on >> i & 1 && (!w->actor[i].alive || w->node[i].declared))
            ftc_ledger_violate(w->ledger, "node %d is of a quorum that can talk, and ends", i);
    check_one_of(w);
    check_stuck(w);
    if (!ftc_world_broken(w))
        ftc_ledger_ends(w->ledger);
    w->sums->none += ftc_ledger_alive(w->ledger) == 0;
    count_decisions(w);
}
