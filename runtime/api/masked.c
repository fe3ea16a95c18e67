/* What a library on top of ftcoll has hidden from its program. */
#include "base/error.h"
#include "runtime/api/call.h"
#include "runtime/comm/ranks.h"

static void note(struct ftc_counters *counters, int job_rank)
{
    uint64_t place = atomic_fetch_add_explicit(&counters->masked, 1, memory_order_relaxed);

    if (place < FTC_MASKED_RANKS)
        atomic_store_explicit(&counters->masked_ranks[place], (uint64_t)job_rank + 1,
                              memory_order_relaxed);
}

FTC_API int ftc_note_masked(const ftc_comm *comm, int rank)
{
    int rc = ftc_call_begin(comm);

    if (rc != FTC_SUCCESS)
        return rc;
    if (rank < 0 || rank >= comm->size)
        rc = ftc_error_set(FTC_ERR_ARG, "rank %d is outside 0..%d", rank, comm->size - 1);
    else if (comm->process->slot != NULL) /* a job without ftrun has no report */
        note(&comm->process->slot->counters, ftc_comm_job_rank(comm, rank));
    return ftc_call_end(comm, rc);
}
