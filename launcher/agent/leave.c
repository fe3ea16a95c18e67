/* How an agent leaves, and what the agents that remain may say of the end of the job. */
#include "base/clock.h"
#include "launcher/agent/internal.h"
#include "transport/tcp/tcp.h"

#define OTHERS_END_NS (2 * FTC_NS_PER_S) /* plus T, in which LEFT must be acknowledged */
#define ENDING_NS     FTC_NS_PER_S       /* how long a job that is being killed waits for that */

/* An agent that leaves is in no base any more. What it has told must have arrived. What others tell
 * it need not arrive. */
static bool everybody_knows(const struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.nodes; node++)
        if (node != agent->meeting.node && !agent->gone[node] &&
            !ftc_tcp_settled_with(agent->links, node))
            return false;
    return true;
}

/* Has the node left, or has it acknowledged all that this node has sent? */
static bool answers(const struct ftc_agent *agent, int node)
{
    return node == agent->meeting.node || agent->left[node] ||
           (!agent->gone[node] && ftc_tcp_settled_with(agent->links, node));
}

/* Does a quorum of the nodes with a rank that has not failed answer? Without a quorum, this node
 * may be the one that was cut off or stopped. */
static bool has_quorum_at_end(const struct ftc_agent *agent)
{
    int base = 0, there = 0;
    bool lowest = true;

    for (int node = 0; node < agent->meeting.nodes; node++) {
        if (ftc_mirror_all_failed(&agent->mirror, node))
            continue;
        lowest = base == 0 ? answers(agent, node) : lowest;
        there += answers(agent, node);
        base++;
    }
    return 2 * there > base || (2 * there == base && lowest);
}

/* No agent can tell how the ranks of a silent node ended. */
static void give_up_on_silent(struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.nodes; node++) {
        if (answers(agent, node) || agent->gone[node])
            continue;
        FTC_LOG(&agent->log, FTC_LOG_WARN,
                "node %d (%s) did not answer at the end: ranks of it that have not ended count as "
                "failed",
                node, agent->meeting.members[node].host);
        ftc_agent_drop_node(agent, node);
        (void)ftc_mirror_lost(&agent->mirror, node);
    }
}

/* When a job is killed, all nodes know how it ends, and no quorum is needed. */
static void give_up(struct ftc_agent *agent)
{
    if (agent->watcher->ending || has_quorum_at_end(agent)) {
        give_up_on_silent(agent);
        return;
    }
    FTC_LOG(&agent->log, FTC_LOG_WARN,
            "most nodes did not answer at the end: how the job ended is not known here");
    agent->apart = true;
}

bool ftc_agent_leave(struct ftc_agent *agent)
{
    uint64_t now = ftc_clock_now(),
             longest = agent->watcher->ending || agent->fenced ? ENDING_NS : agent->timeout_ns;

    if (agent->apart)
        return true;
    if (agent->leaving_ns == 0) {
        ftc_agent_look(agent);
        ftc_agent_pass_notices(agent);
        agent->leaving_ns = now;
        ftc_agent_send_all(agent, &(struct ftc_agent_message){.kind = FTC_AGENT_LEFT});
    }
    if (everybody_knows(agent))
        return true;
    if (now - agent->leaving_ns <= longest)
        return false;
    if (!agent->fenced)
        give_up(agent);
    return true;
}

static bool any_lost(const struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.nodes; node++)
        if (agent->gone[node] && !agent->left[node])
            return true;
    return false;
}

/* An agent that was there when a node was refused or lost does not wait for that node. An agent
 * that had left before may wait for it. */
uint64_t ftc_agent_longest_end(const struct ftc_agent *agent, uint64_t now_ns)
{
    uint64_t longest = 0;

    if (!any_lost(agent))
        return OTHERS_END_NS + agent->timeout_ns;
    for (int node = 0; node < agent->meeting.nodes; node++) {
        uint64_t ends_ns = agent->left_ns[node] + agent->timeout_ns;
        if (agent->left[node] && agent->left_ns[node] < agent->lost_ns &&
            ends_ns > now_ns + longest)
            longest = ends_ns - now_ns;
    }
    return OTHERS_END_NS + longest;
}

bool ftc_agent_speaks(const struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.node; node++)
        if (!agent->gone[node])
            return false;
    return true;
}

bool ftc_agent_sums_up(const struct ftc_agent *agent, bool killed)
{
    for (int node = 0; node < agent->meeting.node; node++)
        if (!agent->gone[node] || (killed && agent->left[node]))
            return false;
    return true;
}
