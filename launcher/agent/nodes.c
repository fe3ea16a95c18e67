/* Other nodes that go: they are refused, lost, or leave. */
#include "base/clock.h"
#include "base/error.h"
#include "launcher/agent/internal.h"
#include "transport/tcp/tcp.h"

void ftc_agent_close_link(struct ftc_agent *agent, int node)
{
    agent->closed[node] = true;
    agent->links->ops->close_peer(agent->links, node);
}

void ftc_agent_drop_node(struct ftc_agent *agent, int node)
{
    agent->gone[node] = true;
    agent->closed[node] |= !agent->left[node];
    if (!agent->left[node])
        agent->lost_ns = ftc_clock_now();
    ftc_notices_gone(&agent->notices, node);
}

/* The leader may refuse a node that has left, too. That helps the nodes to which it could not send
 * its LEFT. */
void ftc_agent_refuse_node(struct ftc_agent *agent, int node)
{
    agent->heard[node] = !ftc_lease_silent(agent->lease, node);
    if (!agent->gone[node])
        FTC_LOG(&agent->log, FTC_LOG_WARN, "node %d (%s) %s: nothing it sends is taken in any more",
                node, agent->meeting.members[node].host,
                agent->heard[node] ? "and others cannot reach each other" : "is silent");
    ftc_mirror_refuse(&agent->mirror, node);
    ftc_agent_drop_node(agent, node);
    ftc_agent_close_link(agent, node);
}

void ftc_agent_lose_node(struct ftc_agent *agent, int node)
{
    if (agent->left[node])
        return; /* its LEFT has told its end */
    int ranks = ftc_mirror_lost(&agent->mirror, node);

    ftc_agent_drop_node(agent, node);
    ftc_notices_close(&agent->notices, node);
    if (agent->lost != NULL)
        agent->lost(agent->arg, node, ranks, agent->heard[node]);
}

/* --- others that leave --- */

/* Its LEFT is taken with all its news. The link stays open, since this node may need its SEEN. */
static void take_leave(struct ftc_agent *agent, int node)
{
    agent->left[node] = true;
    agent->left_ns[node] = ftc_clock_now();
    ftc_agent_drop_node(agent, node);
    ftc_mirror_left(&agent->mirror, node);
    ftc_lease_left(agent->lease, node, ftc_clock_now());
    agent->owed[node] = agent->owes_seen = true;
}

/* SEEN is the last message to a node that leaves: it may end as soon as it gets it. */
void ftc_agent_give_seen(struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.nodes && agent->owes_seen; node++) {
        if (agent->owed[node] && !agent->closed[node])
            ftc_agent_send(agent, node, &(struct ftc_agent_message){.kind = FTC_AGENT_SEEN});
        agent->owed[node] = false;
    }
    agent->owes_seen = false;
}

void ftc_agent_look_at_left(struct ftc_agent *agent, int node)
{
    if (agent->last[node] != 0 && !agent->gone[node] &&
        ftc_notices_count(&agent->notices, node) + 1 >= agent->last[node])
        take_leave(agent, node);
}

void ftc_agent_take_left(struct ftc_agent *agent, int node, uint32_t number)
{
    agent->last[node] = number < UINT32_MAX ? number + 1 : number;
    ftc_agent_look_at_left(agent, node);
}

/* A node that has left may have ended before it acknowledged SEEN. */
static void care_for(struct ftc_agent *agent, int node, uint64_t now)
{
    if (agent->last[node] != 0 && !agent->gone[node])
        ftc_agent_send(
            agent, node,
            &(struct ftc_agent_message){.kind = FTC_AGENT_WANT,
                                        .number = ftc_notices_count(&agent->notices, node)});
    if (agent->left[node] && !agent->closed[node] && !agent->awaited[node] && !agent->owed[node] &&
        (ftc_tcp_settled_with(agent->links, node) ||
         now - agent->left_ns[node] > agent->timeout_ns))
        ftc_agent_close_link(agent, node);
}

void ftc_agent_care_for_left(struct ftc_agent *agent)
{
    uint64_t now = ftc_clock_now();

    if (now - agent->cared_ns < agent->period_ns)
        return;
    agent->cared_ns = now;
    for (int node = 0; node < agent->meeting.nodes; node++)
        care_for(agent, node, now);
}
