/* Whom this rank cannot reach, for its agent (docs/design/nodes.md, rule 8). */
#ifndef FTC_RUNTIME_REACH_H
#define FTC_RUNTIME_REACH_H

#include "runtime/comm.h"

/* At most once a heartbeat period; holding the lock. */
void ftc_reach_publish(struct ftc_comm *comm);

#endif
