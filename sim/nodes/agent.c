/* The agent of a node: drives its lease, sees its ranks exit, and tells other nodes what it
 * knows. */
#include "sim/nodes/world.h"

#define SOON_NS (FTC_NODES_PERIOD / 20) /* longest time until a process is seen, killed or told */

/* --- what the ranks of the node are told --- */

static void tell_ranks(struct ftc_world *w, int node, int dead)
{
    if (w->node[node].failed[dead])
        return;
    w->node[node].failed[dead] = true;
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++)
        if (r != dead && w->actor[ftc_rank_actor(w, r)].alive)
            ftc_world_plan(w, w->now_ns + ftc_world_below(w, SOON_NS), FTC_WORLD_TOLD,
                           ftc_rank_actor(w, r), dead);
}

static void leave_base(struct ftc_world *w, int node, int gone)
{
    if (w->node[node].away[gone])
        return;
    w->node[node].away[gone] = true;
    ftc_world_say(w, "agent %d leaves node %d out of its base", node, gone);
    ftc_lease_left(w->node[node].lease, gone, ftc_world_clock(w, node));
}

static bool all_of(const struct ftc_world *w, const bool ranks[], int node)
{
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++)
        if (!ranks[r])
            return false;
    return true;
}

/* FTC_NODES_BY_L: it is harmless, because a rank in L has stopped just like a rank in G. */
static void shrink_by_l(struct ftc_world *w, int node)
{
    for (int i = 0; i < w->nodes && w->story->fault == FTC_NODES_BY_L; i++)
        if (i != node && all_of(w, w->node[node].failed, i))
            leave_base(w, node, i);
}

/* --- facts: exits, and nodes that have stopped for certain --- */

static void learn(struct ftc_world *w, int node, int fact)
{
    struct ftc_world_node *n = &w->node[node];

    if (n->known[fact])
        return;
    n->known[fact] = true;
    n->fact[n->facts++] = fact;
    if (fact >= w->nodes) {
        tell_ranks(w, node, fact - w->nodes);
        shrink_by_l(w, node);
    } else if (fact != node) {
        leave_base(w, node, fact);
    }
}

/* False: there is nothing to tell. */
static bool tell_fact(struct ftc_world *w, int node)
{
    struct ftc_world_node *n = &w->node[node];

    for (int to = 0; to < w->nodes; to++) {
        if (to == node || n->told[to] == n->facts)
            continue;
        ftc_world_send(w, node, to, FTC_PACKET_FACT)->fact = n->fact[n->told[to]++];
        return true;
    }
    return false;
}

/* --- outputs of the lease --- */

static void publish(struct ftc_world *w, int node)
{
    struct ftc_world_node *n = &w->node[node];
    bool first = n->until_ns == 0, leads = ftc_lease_leader(n->lease) == node && !n->resigned;

    n->until_ns = ftc_lease_until(n->lease);
    for (int i = 0; i < w->nodes; i++)
        if (ftc_set_has(ftc_lease_unheard(n->lease), i) && !n->refused[i] && w->actor[i].alive)
            n->unheard_ns = w->now_ns;
    w->sums->leaders += leads && !n->leads;
    if (leads != n->leads)
        ftc_world_say(w, leads ? "agent %d leads" : "agent %d leads no more", node);
    n->leads = leads;
    ftc_judge_leads(w, node);
    for (int r = w->story->first[node]; first && n->until_ns != 0 && r < w->story->first[node + 1];
         r++)
        ftc_world_plan(w, w->now_ns + ftc_world_below(w, w->story->think_ns), FTC_WORLD_CALL,
                       ftc_rank_actor(w, r), 0);
}

static void send_lease(struct ftc_world *w, int node, const struct ftc_lease_output *output)
{
    static const char *const names[FTC_LEASE_KINDS] = {NULL,    NULL,  "WANT", "PROBE",
                                                       "WOULD", "ASK", "VOTE", NULL};
    struct ftc_buffer *bytes = ftc_buffer_new(ftc_lease_size(&output->message));

    if (bytes == NULL)
        ftc_cluster_no_memory(w->ranks);
    bytes->size = ftc_lease_encode(&output->message, bytes->data, bytes->size);
    ftc_world_send(w, node, output->node, FTC_PACKET_LEASE)->bytes = bytes;
    if (names[output->message.kind] != NULL)
        ftc_world_say(w, "agent %d   sends %s of term %llu to agent %d", node,
                      names[output->message.kind], (unsigned long long)output->message.term,
                      output->node);
}

static void refuse(struct ftc_world *w, int node, int other)
{
    ftc_world_say(w, "agent %d refuses node %d", node, other);
    w->node[node].refused[other] = true;
    ftc_judge_refuses(w, node, other);
}

static void declare(struct ftc_world *w, int node, int other)
{
    ftc_world_say(w, "agent %d declares node %d failed", node, other);
    ftc_judge_declares(w, node, other);
    for (int r = w->story->first[other]; r < w->story->first[other + 1]; r++)
        tell_ranks(w, node, r);
    shrink_by_l(w, node);
}

/* The agent kills its ranks, one after the other; then it ends. */
static void end_node(struct ftc_world *w, int node)
{
    ftc_world_say(w, "agent %d has lost: it ends its ranks and itself", node);
    ftc_judge_ends(w, node);
    w->sums->fenced += !w->node[node].fenced;
    w->node[node].fenced = true;
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++) {
        if (!w->actor[ftc_rank_actor(w, r)].alive)
            continue;
        w->sums->ranks_ended++;
        ftc_rank_die(w, r, "is ended by its agent");
    }
    w->actor[node].alive = false;
    ftc_world_cut_short(w, node);
}

/* False: there is nothing to do. */
static bool put_out(struct ftc_world *w, int node)
{
    struct ftc_lease_output output;

    if (!ftc_lease_next_output(w->node[node].lease, &output))
        return tell_fact(w, node);
    if (output.kind == FTC_LEASE_SEND)
        send_lease(w, node, &output);
    else if (output.kind == FTC_LEASE_FENCE)
        end_node(w, node);
    else if (output.kind == FTC_LEASE_REFUSE)
        refuse(w, node, output.node);
    else
        declare(w, node, output.node);
    return true;
}

/* --- steps --- */

/* The tick comes a little after the time that the node's clock names. */
static void plan_tick(struct ftc_world *w, int node)
{
    struct ftc_world_node *n = &w->node[node];
    uint64_t due = ftc_lease_due(n->lease), clock = ftc_world_clock(w, node);
    uint64_t wait = due > clock ? due - clock : 0;
    uint64_t at = w->now_ns + wait + ftc_world_below(w, FTC_NODES_PERIOD / 50) + 1;

    if (n->resigned || (n->tick_ns > w->now_ns && n->tick_ns <= at))
        return;
    n->tick_ns = at;
    ftc_world_plan(w, at, FTC_WORLD_TICK, node, 0);
}

void ftc_agent_go_on(struct ftc_world *w, int node)
{
    struct ftc_world_actor *a = &w->actor[node];
    bool more = true;

    a->busy = true;
    while (more && !ftc_world_broken(w)) {
        a->outputs++;
        w->before_output(w, node);
        if (!ftc_world_runs(w, node))
            return;
        more = put_out(w, node);
        if (!a->alive)
            return;
    }
    a->busy = false;
    plan_tick(w, node);
}

static void step_done(struct ftc_world *w, int node)
{
    publish(w, node);
    ftc_agent_go_on(w, node);
}

void ftc_node_agent_start(struct ftc_world *w, int node)
{
    ftc_lease_start(w->node[node].lease, ftc_world_clock(w, node));
    step_done(w, node);
}

void ftc_agent_tick(struct ftc_world *w, int node)
{
    struct ftc_world_node *n = &w->node[node];

    if (n->tick_ns > w->now_ns || n->resigned)
        return; /* a later tick is planned */
    n->tick_ns = 0;
    if (ftc_world_clock(w, node) >= ftc_lease_due(n->lease))
        ftc_lease_tick(n->lease, ftc_world_clock(w, node));
    step_done(w, node);
}

static void take_lease(struct ftc_world *w, int node, int from, const struct ftc_packet *packet)
{
    struct ftc_lease_message message;

    if (w->node[node].resigned)
        return;
    if (ftc_lease_decode(&message, &w->box, packet->bytes->data, packet->bytes->size) !=
        FTC_SUCCESS)
        ftc_ledger_violate(w->ledger, "agent %d cannot read what agent %d sent", node, from);
    else
        ftc_lease_receive(w->node[node].lease, from, &message, ftc_world_clock(w, node));
}

void ftc_agent_take(struct ftc_world *w, int node, int from, struct ftc_packet *packet)
{
    if (w->node[node].refused[from]) {
        w->sums->late++;
        return;
    }
    if (packet->kind == FTC_PACKET_LEASE)
        take_lease(w, node, from, packet);
    else
        learn(w, node, packet->fact);
    step_done(w, node);
}

/* The agent has no rank any more. It first takes part in nothing, and then says so. */
void ftc_agent_resign(struct ftc_world *w, int node)
{
    w->node[node].resigned = true;
    ftc_lease_left(w->node[node].lease, node, ftc_world_clock(w, node));
    ftc_world_say(w, "agent %d has no rank left, and leaves", node);
    learn(w, node, node);
    step_done(w, node);
}

/* Is this exit the last one, while other nodes wait for a lease that this one must give? */
static bool leads_on(struct ftc_world *w, int node, int rank)
{
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++)
        if (r != rank && !w->node[node].failed[r])
            return false;
    return ftc_lease_awaited(w->node[node].lease, ftc_world_clock(w, node));
}

/* An agent that still votes must not tell other nodes of its last exit, because with that exit its
 * node may leave their base. So nothing is told before the end of the step. */
void ftc_agent_exit(struct ftc_world *w, int node, int rank)
{
    struct ftc_world_node *n = &w->node[node];

    if (leads_on(w, node, rank)) {
        ftc_world_plan(w, w->now_ns + SOON_NS, FTC_WORLD_EXIT, node, rank);
        return;
    }
    ftc_world_say(w, "agent %d sees rank %d's exit", node, rank);
    learn(w, node, ftc_rank_actor(w, rank));
    bool last = all_of(w, n->failed, node) && !n->resigned;
    if (last && w->story->fault == FTC_NODES_STAYS)
        ftc_world_plan(w, w->now_ns + ftc_world_below(w, 2 * FTC_NODES_TIMEOUT), FTC_WORLD_RESIGN,
                       node, 0);
    if (last && w->story->fault != FTC_NODES_STAYS)
        ftc_agent_resign(w, node);
    else
        step_done(w, node);
}

void ftc_node_agent_look(struct ftc_world *w, int node)
{
    for (int i = 0; i < w->nodes; i++)
        if (i != node && all_of(w, w->node[node].agreed, i))
            leave_base(w, node, i);
    step_done(w, node);
}

/* The kernel kills its ranks. */
void ftc_agent_die(struct ftc_world *w, int node)
{
    if (!w->actor[node].alive)
        return;
    ftc_world_say(w, "agent %d DIES", node);
    w->actor[node].alive = false;
    ftc_world_cut_short(w, node);
    for (int r = w->story->first[node]; r < w->story->first[node + 1]; r++)
        ftc_world_plan(w, w->now_ns + ftc_world_below(w, SOON_NS), FTC_WORLD_ORPHAN,
                       ftc_rank_actor(w, r), 0);
}
