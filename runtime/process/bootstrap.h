/* The identity of this process: its rank, the size of its job, and the name of the job. */
#ifndef FTC_RUNTIME_PROCESS_BOOTSTRAP_H
#define FTC_RUNTIME_PROCESS_BOOTSTRAP_H

#include <stdbool.h>

#include "node/segment/segment.h"

/* Job-level key of ftrun's PMIx server. Its value is the job's name, from which the name of the
 * segment follows. */
#define FTC_PMIX_KEY_JOB "ftcoll.segment"

struct ftc_identity {
    bool alone; /* there is no PMIx server: a job of one rank, with rank 0 and size 1 */
    int rank, size;
    char job[FTC_JOB_NAME_SIZE]; /* empty if alone */
    char without_pmix[192];      /* why ftrun's PMIx could not be used; else empty */
};

/*
 * Calls PMIx_Init(), asks for the identity, and calls PMIx_Finalize(). PMIx is for bootstrap only:
 * neither its events nor its fences survive a death. Under ftrun there is no fence: the segment has
 * all that the ranks of a node need to know of each other. The ranks of ftrun also inherit their
 * identity in the environment, and use it when PMIx does not answer. Under another PMIx server the
 * ranks meet (runtime/process/foreign.h).
 * FTC_ERR_SYSTEM: PMIx failed, a node cannot take part, or a rank of ftrun cannot find its job.
 * FTC_ERR_UNSUPPORTED: the job has too many ranks, or its ranks are not in a row on each node.
 * Also FTC_ERR_PROTO (PMIx gave something malformed), FTC_ERR_NOMEM.
 */
int ftc_bootstrap(struct ftc_identity *identity);

#endif
