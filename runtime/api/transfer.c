/* How a send or a receive starts, and what it returns. */
#include "runtime/api/transfer.h"

#include "base/error.h"
#include "runtime/api/call.h"
#include "runtime/comm/point_to_point.h"
#include "runtime/process/turn.h"

static void show(const struct ftc_transfer *t, int rc, ftc_status *status)
{
    if (status == NULL)
        return;
    *status = (ftc_status){.rank = t->sends ? t->rank : t->from,
                           .tag = t->sends ? t->tag : t->got,
                           .bytes = t->sends ? t->size : t->bytes,
                           .error = rc};
}

int ftc_transfer_explain(struct ftc_comm *comm, const struct ftc_transfer *t, int rc)
{
    int other = t->sends || t->rank >= 0 ? t->rank : t->from;

    switch (rc) {
    case FTC_ERR_REVOKED:
        return ftc_call_revoked(comm);
    case FTC_ERR_TRUNCATED:
        return ftc_error_set(rc, "the message of rank %d has %zu bytes, and there is room for %zu",
                             t->from, t->bytes, t->size);
    case FTC_ERR_CANCELLED:
        return ftc_error_set(rc, t->sends ? "the send was cancelled before its message was taken"
                                          : "the receive was cancelled before it took a message");
    case FTC_ERR_RANK_FAILED:
        break;
    default:
        return rc;
    }
    if (other < 0)
        return ftc_error_set(rc, "a rank has failed that may have been the one to send: call "
                                 "ftc_validate_local() and ftc_recognize(), and wait on");
    return ftc_error_set(rc, "rank %d failed before the message was %s", other,
                         t->sends ? "taken" : "complete");
}

static int waits_for_self(void)
{
    return ftc_error_set(FTC_ERR_STATE,
                         "this rank waits for its own message, and has not called the other end");
}

int ftc_transfer_interrupted(struct ftc_comm *comm, const struct ftc_transfer *t,
                             ftc_status *status)
{
    if (ftc_transfer_is_of_self(comm, t->rank))
        return waits_for_self();
    show(t, FTC_ERR_RANK_FAILED, status);
    return ftc_transfer_explain(comm, t, FTC_ERR_RANK_FAILED);
}

int ftc_transfer_result(struct ftc_comm *comm, const struct ftc_transfer *t, ftc_status *status)
{
    if (!ftc_transfer_has_ended(t))
        return ftc_transfer_interrupted(comm, t, status);
    show(t, t->status, status);
    return t->status == FTC_SUCCESS ? t->status : ftc_transfer_explain(comm, t, t->status);
}

void ftc_transfer_start(struct ftc_comm *comm, struct ftc_transfer *transfer)
{
    bool started;

    ftc_turn_lock(comm->process);
    bool over = ftc_comm_start_lightly(comm, transfer, &started);
    ftc_turn_unlock(comm->process);
    if (over)
        return;
    ftc_call_enter(comm);
    if (!started)
        ftc_comm_start_transfer(comm, transfer);
    ftc_call_leave_unseen(comm);
}
