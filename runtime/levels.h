/* Operations over two levels (docs/design/nodes.md): posts and decision words of this node, and the
 * member among the delegates. */
#ifndef FTC_RUNTIME_LEVELS_H
#define FTC_RUNTIME_LEVELS_H

#include "runtime/comm.h"

/* Before the member is made: make comm->levels and its settings, if the job's operations go over
 * two levels. FTC_ERR_NOMEM. */
int ftc_runtime_levels_open(struct ftc_comm *comm, struct ftc_member_settings *settings);
void ftc_runtime_levels_close(struct ftc_comm *comm);

/* Does this call go so? */
bool ftc_runtime_levels_takes_call(const struct ftc_comm *comm, const struct ftc_call *call);

/* Post, wait, and take part for the node if this rank is its delegate. Between enter and leave;
 * returns when it is delivered. */
void ftc_runtime_levels_run(struct ftc_comm *comm, const struct ftc_call *call);

/* The member delivers the call under way: what the others of this node shall find. Before anything
 * else comes of it. */
void ftc_runtime_levels_deliver(struct ftc_comm *comm, const struct ftc_output *output);

/* A rank whose own marks were damaged would be waited for: it looks at them before it sleeps. */
void ftc_runtime_levels_check_own(struct ftc_comm *comm);

/* What a rank shows of itself before its member has the call. */
void ftc_runtime_levels_activity(const struct ftc_comm *comm, struct ftc_member_activity *now);

#endif
