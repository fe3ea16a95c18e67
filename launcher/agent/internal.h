/* Between the parts of an agent. */
#ifndef FTC_LAUNCHER_AGENT_INTERNAL_H
#define FTC_LAUNCHER_AGENT_INTERNAL_H

#include "launcher/agent/agent.h"
#include "launcher/agent/wire.h"

/* What a meeting's end is to find: lease, links and memory. Times, log and meeting are set but for
 * endpoints. FTC_ERR_*. */
int ftc_agent_prepare(struct ftc_agent *agent, int ranks, const struct ftc_config *config);

/* It left, or is refused or lost: nothing goes there, nothing is taken any more. */
void ftc_agent_drop_node(struct ftc_agent *agent, int node);

/* Nothing goes to a node that is gone; out of memory is logged. */
void ftc_agent_send(struct ftc_agent *agent, int node, const struct ftc_agent_message *message);
void ftc_agent_send_all(struct ftc_agent *agent, const struct ftc_agent_message *message);
/* Pass on what other nodes have said of failures. */
void ftc_agent_pass_notices(struct ftc_agent *agent);
/* What the ranks of this node do, when it is time again. */
void ftc_agent_show(struct ftc_agent *agent);

#endif
