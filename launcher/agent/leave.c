/* How an agent leaves (nodes.md, N8), and what the agents that remain may say of the end of the
 * job. */
#include "base/clock.h"
#include "launcher/agent/internal.h"
#include "transport/tcp/tcp.h"

#define OTHERS_END_NS (2 * FTC_NS_PER_S) /* plus T, in which LEFT must be acknowledged */
#define ENDING_NS     FTC_NS_PER_S       /* how long a job that is being killed waits for that */

/* --- this node leaves --- */

/* An agent that leaves is in no base any more. All others have its news, and it has given SEEN to
 * each of them that wants one. */
static bool everybody_knows(const struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.nodes; node++)
        if (!agent->closed[node] &&
            (agent->awaited[node] || (agent->last[node] != 0 && !agent->gone[node])))
            return false;
    return true;
}

/* Does each node that has left have its SEEN? Some may have ended without an acknowledgement. */
static bool settled_with_left(const struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.nodes; node++)
        if (agent->left[node] && !agent->closed[node] &&
            (agent->owed[node] || !ftc_tcp_settled_with(agent->links, node)))
            return false;
    return true;
}

/* Has the node left, or does it have all news of this node? */
static bool answers(const struct ftc_agent *agent, int node)
{
    return node == agent->meeting.node || agent->left[node] ||
           (!agent->gone[node] && !agent->awaited[node]);
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

/* No agent can tell how the ranks of a silent node ended. A node that was refused for its silence
 * has no lease any more, and the leader that would declare it lost may have left. One that was
 * heard may still go on with others, if the leader that refused it has left. */
static void give_up_on_silent(struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.nodes; node++) {
        if (answers(agent, node) || agent->heard[node])
            continue;
        if (!agent->gone[node])
            FTC_LOG(&agent->log, FTC_LOG_WARN,
                    "node %d (%s) did not answer at the end: ranks of it that have not ended count "
                    "as failed",
                    node, agent->meeting.members[node].host);
        /* An agent that has not refused the node may wait for it (ftc_agent_longest_end()). */
        if (ftc_mirror_lost(&agent->mirror, node) > 0 || !agent->gone[node])
            ftc_agent_drop_node(agent, node);
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

/* Tell all that are there. A node whose LEFT was taken before does not need it. */
static void begin_to_leave(struct ftc_agent *agent, uint64_t now)
{
    struct ftc_agent_message left = {.kind = FTC_AGENT_LEFT};

    ftc_agent_look(agent);
    agent->leaving_ns = now;
    ftc_tcp_acknowledge_after(agent->links, 0); /* others wait for it to end, too */
    left.number = ftc_notices_count(&agent->notices, agent->meeting.node);
    for (int node = 0; node < agent->meeting.nodes; node++)
        agent->awaited[node] = node != agent->meeting.node && !agent->gone[node];
    ftc_agent_send_all(agent, &left);
}

/* Closing a link acknowledges all that came by it. */
static void close_links(struct ftc_agent *agent)
{
    for (int node = 0; node < agent->meeting.nodes; node++)
        if (node != agent->meeting.node && !agent->closed[node])
            ftc_agent_close_link(agent, node);
}

/* All others have this node's news. Those that left need its SEEN, too. */
static bool leave_known(struct ftc_agent *agent, uint64_t now)
{
    if (agent->seen_ns == 0)
        agent->seen_ns = now;
    if (!settled_with_left(agent) && now - agent->seen_ns < agent->period_ns)
        return false;
    if (!ftc_mirror_over(&agent->mirror) && !agent->fenced)
        give_up(agent); /* on nodes that were refused */
    close_links(agent);
    return true;
}

bool ftc_agent_leave(struct ftc_agent *agent)
{
    uint64_t now = ftc_clock_now(),
             longest = agent->watcher->ending || agent->fenced ? ENDING_NS : agent->timeout_ns;

    if (agent->apart)
        return true;
    if (ftc_agent_leads_on(agent))
        return false;
    if (agent->leaving_ns == 0)
        begin_to_leave(agent, now);
    if (everybody_knows(agent))
        return leave_known(agent, now);
    if (now - agent->leaving_ns <= longest)
        return false;
    if (!agent->fenced)
        give_up(agent);
    agent->seen_ns = agent->leaving_ns; /* nothing is waited for any more */
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
