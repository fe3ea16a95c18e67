/* Bootstrap under a PMIx server that is not ftrun's, such as Slurm's. */
#ifndef FTC_RUNTIME_FOREIGN_H
#define FTC_RUNTIME_FOREIGN_H

#include <pmix.h>

#include "runtime/bootstrap.h"

/*
 * The ranks of the job meet, by two collecting fences; the lowest one of each node starts its agent
 * in between. Between PMIx_Init() and PMIx_Finalize(), both the caller's. `identity` has rank and
 * size, and gets the name of this node's job. FTC_ERR_SYSTEM: a node cannot take part, which and
 * why, or PMIx failed; FTC_ERR_UNSUPPORTED: the ranks of a node are not in a row.
 */
int ftc_foreign_meet(const pmix_proc_t *self, struct ftc_identity *identity);

#endif
