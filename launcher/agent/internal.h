/* Declarations that the parts of an agent share. */
#ifndef FTC_LAUNCHER_AGENT_INTERNAL_H
#define FTC_LAUNCHER_AGENT_INTERNAL_H

#include "launcher/agent/agent.h"
#include "launcher/agent/wire.h"

/* Make lease, links and memory. Times, log and meeting are set before; only the endpoints of the
 * meeting are still missing. FTC_ERR_*. */
int ftc_agent_prepare(struct ftc_agent *agent, int ranks, const struct ftc_config *config);

/* The node has left, or is refused or lost. From now on nothing is sent to it, and nothing is taken
 * of it. */
void ftc_agent_drop_node(struct ftc_agent *agent, int node);

/* Send to a node, unless it is gone. If memory runs out, that is logged. */
void ftc_agent_send(struct ftc_agent *agent, int node, const struct ftc_agent_message *message);
void ftc_agent_send_all(struct ftc_agent *agent, const struct ftc_agent_message *message);
/* Tell the other agents what is new about the ranks of this node. */
void ftc_agent_tell(struct ftc_agent *agent);
/* Pass on the notices that came from other nodes. */
void ftc_agent_pass_notices(struct ftc_agent *agent);
/* Show the other agents what the ranks of this node do, when it is time again. */
void ftc_agent_show(struct ftc_agent *agent);

#endif
