/* Sends messages to other agents. */
#include "base/error.h"
#include "launcher/agent/internal.h"

void ftc_agent_send_buffer(struct ftc_agent *agent, int node, struct ftc_buffer *buffer)
{
    if (buffer == NULL ||
        agent->links->ops->send(agent->links, node, buffer, NULL, false) != FTC_SUCCESS)
        FTC_LOG(&agent->log, FTC_LOG_ERROR, "cannot tell node %d what happened: out of memory",
                node);
}

void ftc_agent_send(struct ftc_agent *agent, int node, const struct ftc_agent_message *message)
{
    struct ftc_buffer *buffer = ftc_agent_encode(message);

    ftc_agent_send_buffer(agent, node, buffer);
    ftc_buffer_unref(buffer);
}

void ftc_agent_send_all(struct ftc_agent *agent, const struct ftc_agent_message *message)
{
    struct ftc_buffer *buffer = ftc_agent_encode(message);

    for (int node = 0; node < agent->meeting.nodes; node++)
        if (node != agent->meeting.node && !agent->gone[node])
            ftc_agent_send_buffer(agent, node, buffer);
    ftc_buffer_unref(buffer);
}
