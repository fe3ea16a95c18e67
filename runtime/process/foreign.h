/* Bootstrap under a PMIx server that is not ftrun's, such as Slurm's. */
#ifndef FTC_RUNTIME_PROCESS_FOREIGN_H
#define FTC_RUNTIME_PROCESS_FOREIGN_H

#include <pmix.h>

#include "runtime/process/bootstrap.h"

/*
 * The ranks of the job meet by two PMIx fences that collect data. Between the fences the lowest
 * rank of each node starts the agent of the node. The caller calls PMIx_Init() before and
 * PMIx_Finalize() after. `identity` has rank and size, and gets the name of this node's job.
 * FTC_ERR_SYSTEM: PMIx failed, or a node cannot take part; the message says which node and why.
 * FTC_ERR_UNSUPPORTED: the ranks of a node are not in a row, or there are too many nodes.
 * FTC_ERR_PROTO: a rank told something malformed, perhaps because it uses another release.
 * FTC_ERR_NOMEM.
 */
int ftc_foreign_meet(const pmix_proc_t *self, struct ftc_identity *identity);

#endif
