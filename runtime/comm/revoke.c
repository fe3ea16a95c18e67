/* A caller revokes a communicator, or learns that it was revoked (communicators.md, C8). */
#include "runtime/comm/drive.h"
#include "runtime/comm/engine.h"
#include "runtime/process/progress.h"

void ftc_comm_engine_revoke(struct ftc_comm *comm)
{
    /* ftc_finalize() has given it up, in another thread */
    if (comm->communicator == NULL || !ftc_communicator_has_callers(comm->communicator))
        return;
    comm->revoked_here = true;
    comm->revoker = pthread_self();
    ftc_progress_must(comm->process, ftc_communicator_revoke(comm->communicator));
    ftc_comm_engine_settle(comm->process);
}

bool ftc_comm_is_told(struct ftc_comm *comm)
{
    comm->told |= comm->revoked_here && pthread_equal(comm->revoker, pthread_self());
    return comm->told;
}

void ftc_comm_engine_told(struct ftc_comm *comm)
{
    comm->told = true;
    if (ftc_comm_is_revoked(comm))
        ftc_communicator_told(comm->communicator);
    else /* the board has told it before any message */
        ftc_progress_must(comm->process, ftc_communicator_revoke(comm->communicator));
    ftc_comm_engine_settle(comm->process);
    ftc_comm_close_board(comm);
}

void ftc_comm_engine_free_revoked(struct ftc_comm *comm)
{
    if (comm->communicator != NULL && ftc_comm_is_revoked(comm) &&
        ftc_communicator_has_callers(comm->communicator))
        ftc_comm_engine_free(comm->process, comm);
}
