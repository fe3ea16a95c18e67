/* Agreements of the survivors. */
#include "mpi/comm/request.h"

#include "functions.h"

#include <stdlib.h>
#include <string.h>

/*
 * An agreement under way: an allreduce of what the ranks say, and a barrier. A rank that has ended
 * the barrier knows that all survivors have ended the allreduce. So a revoke of that rank takes the
 * result from nobody. A rank that revokes before it calls keeps the allreduce from ending at any
 * rank: then all agree in a communicator of the survivors, which nobody can revoke.
 */
struct agreement {
    struct ftc_mpi_request request; /* it comes first */
    enum { IN_COMM, SHRINKS, AMONG_SURVIVORS } step;
    bool blocks;
    ftc_comm *survivors;
    int *flag;
    size_t words; /* with a bit for each rank of the communicator */
    /* Of all ranks: the flag, the failures that they have acknowledged, and the silent ranks. */
    uint32_t said[];
};

static size_t length(const struct agreement *a)
{
    return 1 + 2 * a->words;
}

static void say(struct agreement *a)
{
    ftc_comm *native = a->request.comm->native;
    int count, own = ftc_rank(native);
    uint32_t *acknowledged = a->said + 1, *silent = acknowledged + a->words;
    ftc_rank_info *ranks = ftc_mpi_failed_ranks(a->request.comm, FTC_RANK_NULL, &count);
    memset(a->said, 0, length(a) * sizeof *a->said);
    a->said[0] = (uint32_t)*a->flag;
    for (int i = 0; ranks != NULL && i < count; i++)
        acknowledged[ranks[i].rank / 32] |= UINT32_C(1) << ranks[i].rank % 32;
    for (int i = 0; i < ftc_size(native); i++)
        silent[i / 32] |= (uint32_t)(i != own) << i % 32;
    free(ranks);
}

/* If only the barrier does not start, the request ends with its error. */
static int start_agreement(struct ftc_mpi_request *request)
{
    struct agreement *a = (struct agreement *)request;
    ftc_comm *native = request->comm->native;
    int error = FTC_SUCCESS;
    ftc_mpi_comm_enter(request->comm);
    say(a);
    if (a->blocks) {
        request->got.error =
            ftc_allreduce(FTC_IN_PLACE, a->said, length(a), FTC_UINT32, FTC_BAND, native);
        request->error =
            request->got.error == FTC_SUCCESS ? ftc_barrier(native) : request->got.error;
    } else {
        error = ftc_iallreduce(FTC_IN_PLACE, a->said, length(a), FTC_UINT32, FTC_BAND, native,
                               &request->native[0]);
        if (error == FTC_SUCCESS)
            request->error = ftc_ibarrier(native, &request->native[1]);
    }
    ftc_mpi_comm_leave(request->comm);
    return ftc_mpi_error_from(error);
}

/* A failure that not every survivor has acknowledged is raised. */
static int conclude(const struct agreement *a)
{
    const uint32_t *acknowledged = a->said + 1, *silent = acknowledged + a->words;
    uint32_t news = 0;
    for (size_t i = 0; i < a->words; i++)
        news |= silent[i] & ~acknowledged[i];
    *a->flag = (int)a->said[0];
    return news == 0 || !a->request.comm->raises
               ? MPI_SUCCESS
               : ftc_mpi_error(MPIX_ERR_PROC_FAILED, "a rank has failed, and not every survivor "
                                                     "has acknowledged that");
}

/* An operation of the agreement has ended: takes the next step. */
static int finish_agreement(struct ftc_mpi_request *request, int error)
{
    struct agreement *a = (struct agreement *)request;
    bool decided = a->step == IN_COMM && request->got.error == FTC_SUCCESS;
    if (error == FTC_ERR_REVOKED) {
        request->comm->revoked = true;
        error = a->step == IN_COMM ? FTC_SUCCESS : error;
    }
    if (error != FTC_SUCCESS)
        return ftc_mpi_error_from(error);
    if (decided || a->step == AMONG_SURVIVORS)
        return conclude(a);
    if (a->step == IN_COMM) {
        a->step = SHRINKS;
        return ftc_mpi_error_from(
            ftc_comm_ishrink(request->comm->native, &a->survivors, &request->native[0]));
    }
    a->step = AMONG_SURVIVORS;
    say(a);
    return ftc_mpi_error_from(ftc_iallreduce(FTC_IN_PLACE, a->said, length(a), FTC_UINT32, FTC_BAND,
                                             a->survivors, &request->native[0]));
}

static void release_agreement(struct ftc_mpi_request *request)
{
    struct agreement *a = (struct agreement *)request;
    if (a->survivors != NULL)
        ftc_comm_free(&a->survivors);
}

/* Without a place for the request it blocks. */
int ftc_mpi_comm_iagree(struct ftc_mpi_comm *comm, int *flag, MPI_Request *request)
{
    static const struct ftc_mpi_operation operation = {
        .start = start_agreement, .finish = finish_agreement, .release = release_agreement};
    size_t words = (size_t)ftc_size(comm->native) / 32 + 1;
    struct agreement *a =
        ftc_mpi_request_new(&operation, comm, sizeof *a + (1 + 2 * words) * sizeof *a->said);
    if (a == NULL)
        return ftc_mpi_no_memory();
    a->flag = flag;
    a->words = words;
    a->blocks = request == NULL && !ftc_mpi_process.multiple;
    return ftc_mpi_request_run(&a->request, request);
}
