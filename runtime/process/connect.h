/* Connects a rank with the others: opens its bell and its transport, and tells others where it
 * listens. */
#ifndef FTC_RUNTIME_PROCESS_CONNECT_H
#define FTC_RUNTIME_PROCESS_CONNECT_H

#include "runtime/process/process.h"

/* Opens process->bell and process->transport. FTC_ERR_CONFIG: with these settings some rank cannot
 * be reached. Also FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_connect(struct ftc_process *process);

/* Writes where this rank listens, then that it has joined, and then rings those that may wait for
 * it: the launcher and, if messages may leave the node, the ranks of the node. */
void ftc_connect_announce(struct ftc_process *process);

#endif
