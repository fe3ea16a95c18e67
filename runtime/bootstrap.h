/* Who am I: identity from the PMIx server that started this process. */
#ifndef FTC_RUNTIME_BOOTSTRAP_H
#define FTC_RUNTIME_BOOTSTRAP_H

#include <stdbool.h>

#include "node/segment/segment.h"

/* Job-level key that ftrun's PMIx server gives to its clients: the job's name, from which the
 * segment's follows. */
#define FTC_PMIX_KEY_JOB "ftcoll.segment"

struct ftc_identity {
    bool alone; /* no PMIx server: a job of one rank; the rest is not set but rank 0 of 1 */
    int rank, size;
    char job[FTC_JOB_NAME_SIZE];
    char without_pmix[192]; /* why ftrun's PMIx was of no use; empty: it was, or there is none */
};

/*
 * PMIx_Init, ask, PMIx_Finalize: PMIx is for bootstrap only, since neither its events nor its
 * fences survive a death. Under ftrun there is no fence: the segment has all that ranks of one node
 * need to know of each other. Its ranks inherit their identity, too, and go on with that when PMIx
 * does not answer. Under another server the ranks meet (runtime/foreign.h). FTC_ERR_SYSTEM (PMIx
 * failed, a node cannot take part, or a rank of ftrun cannot find its job), FTC_ERR_UNSUPPORTED.
 */
int ftc_bootstrap(struct ftc_identity *identity);

#endif
