/* Declarations that the parts of an agent share. */
#ifndef FTC_LAUNCHER_AGENT_INTERNAL_H
#define FTC_LAUNCHER_AGENT_INTERNAL_H

#include "launcher/agent/agent.h"
#include "launcher/agent/wire.h"

/* Make lease, links and memory. Times, log and meeting are set before; only the endpoints of the
 * meeting are still missing. FTC_ERR_*. */
int ftc_agent_prepare(struct ftc_agent *agent, int ranks, const struct ftc_config *config);

/* The node has left, or is refused or lost. Nothing more is sent to it, nor taken of it, but for
 * what a node that leaves has to say (nodes.md, N8). */
void ftc_agent_drop_node(struct ftc_agent *agent, int node);

/* Send to a node, unless it is gone. If memory runs out, that is logged. */
void ftc_agent_send(struct ftc_agent *agent, int node, const struct ftc_agent_message *message);
void ftc_agent_send_buffer(struct ftc_agent *agent, int node, struct ftc_buffer *buffer);
void ftc_agent_send_all(struct ftc_agent *agent, const struct ftc_agent_message *message);
/* Tell the others what is new about the ranks of this node. `ends`: failures and ends, too. */
void ftc_agent_tell(struct ftc_agent *agent, bool ends);
/* Rule 6. */
void ftc_agent_refuse_node(struct ftc_agent *agent, int node);
/* All ranks of the node have failed. It says nothing more. */
void ftc_agent_lose_node(struct ftc_agent *agent, int node);
/* Nothing more is sent to the node, nor taken of it. All that it has sent is acknowledged. */
void ftc_agent_close_link(struct ftc_agent *agent, int node);

/* This node has news: ftc_agent_pass_news() sends them, and passes on those of others. */
void ftc_agent_announce(struct ftc_agent *agent, const struct ftc_agent_message *message);
void ftc_agent_pass_news(struct ftc_agent *agent);
void ftc_agent_take_news(struct ftc_agent *agent, int node, const struct ftc_agent_message *message,
                         struct ftc_buffer *buffer);
void ftc_agent_take_vector(struct ftc_agent *agent, int node,
                           const struct ftc_agent_message *message);
void ftc_agent_drop_news(struct ftc_agent *agent);

/* All ranks of this node have ended, but others wait for their first lease (nodes.md, rule 4h). */
bool ftc_agent_leads_on(const struct ftc_agent *agent);
/* Has the node sent LEFT, and are all its news here? Then it has left. */
void ftc_agent_look_at_left(struct ftc_agent *agent, int node);
void ftc_agent_take_left(struct ftc_agent *agent, int node, uint32_t number);
/* Call it when all that was taken is passed on. */
void ftc_agent_give_seen(struct ftc_agent *agent);
/* Once a period: ask for news that lack, and close links that nobody needs. */
void ftc_agent_care_for_left(struct ftc_agent *agent);
/* Show the other agents what the ranks of this node do, when it is time again. */
void ftc_agent_show(struct ftc_agent *agent);

#endif
