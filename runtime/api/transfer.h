/* How a send or a receive of the API starts, and what it returns
 * (docs/design/point-to-point.md). */
#ifndef FTC_RUNTIME_API_TRANSFER_H
#define FTC_RUNTIME_API_TRANSFER_H

#include "collectives/point_to_point/matching.h"
#include "runtime/comm/comm.h"

void ftc_transfer_start(struct ftc_comm *comm, struct ftc_transfer *transfer);

/* What the transfer returns, in words, too. It has ended, or the wait for it is interrupted (P8).
 * *status is what it was; NULL: nobody asks. */
int ftc_transfer_result(struct ftc_comm *comm, const struct ftc_transfer *transfer,
                        ftc_status *status);
/* The same where the wait is interrupted. */
int ftc_transfer_interrupted(struct ftc_comm *comm, const struct ftc_transfer *transfer,
                             ftc_status *status);
/* Puts an error of a transfer into words. Returns it. */
int ftc_transfer_explain(struct ftc_comm *comm, const struct ftc_transfer *transfer, int rc);

/* P8: only this rank can be the other end of a message with this rank. */
static inline bool ftc_transfer_is_of_self(const struct ftc_comm *comm, int rank)
{
    return rank == comm->rank || comm->size == 1;
}

#endif
