/* What mpi-ext.h has for programs that go on after a failure, but for shrinking (create.c). */
#include "mpi/comm/request.h"

#include "functions.h"

#include <stdlib.h>

int ftc_mpi_comm_revoke(struct ftc_mpi_comm *c)
{
    c->revoked = true;
    return ftc_mpi_error_from(ftc_comm_revoke(c->native)); /* any thread may, at any time */
}

/* The ranks of L whose state is one of `types`; their number is *count. NULL: no memory. */
static ftc_rank_info *failed_ranks(struct ftc_mpi_comm *c, int types, int *count)
{
    *count = 0;
    if (ftc_get_state_local(c->native, types, 0, count, NULL) != FTC_SUCCESS)
        *count = 0;
    ftc_rank_info *ranks = calloc((size_t)*count + 1, sizeof *ranks);
    if (ranks != NULL && *count > 0)
        ftc_get_state_local(c->native, types, *count, count, ranks);
    return ranks;
}

/* An agreement under way: a shrink, and then an allreduce of the survivors in a communicator of
 * their own, which nobody can revoke. */
struct agreement {
    struct ftc_mpi_request request; /* it comes first */
    enum { SHRINKS, SHRINKS_AGAIN, AGREES } step;
    ftc_comm *survivors;
    int *flag;
    int32_t both[2]; /* the flag; and 1: the failures of all who are missing are acknowledged */
};

static int shrink(struct agreement *a)
{
    return ftc_comm_ishrink(a->request.comm->native, &a->survivors, &a->request.native[0]);
}

static int start_agreement(struct ftc_mpi_request *request)
{
    struct agreement *a = (struct agreement *)request;
    a->both[0] = *a->flag;
    ftc_mpi_comm_enter(request->comm);
    int error = shrink(a);
    ftc_mpi_comm_leave(request->comm);
    return ftc_mpi_error_from(error);
}

/* Has this rank acknowledged the failure of each rank that is not among the survivors? */
static bool has_acknowledged(struct ftc_mpi_comm *c, const ftc_comm *survivors)
{
    int count, missing = ftc_size(c->native) - ftc_size(survivors);
    ftc_rank_info *ranks = failed_ranks(c, FTC_RANK_NULL, &count);
    for (int i = 0; ranks != NULL && i < count; i++)
        missing -= ftc_comm_translate(c->native, ranks[i].rank, survivors) == FTC_UNDEFINED;
    free(ranks);
    return missing == 0;
}

/* The allreduce has ended. A failure that not every survivor has acknowledged is raised. */
static int conclude(const struct agreement *a, int error)
{
    ftc_report report = {.struct_size = sizeof report};
    if (error == FTC_SUCCESS)
        error = ftc_last_report(a->survivors, &report);
    if (error != FTC_SUCCESS)
        return ftc_mpi_error_from(error);
    *a->flag = a->both[0];
    if (!a->request.comm->raises || (a->both[1] && report.failed_count == 0))
        return MPI_SUCCESS;
    return ftc_mpi_error(MPIX_ERR_PROC_FAILED,
                         "a rank has failed, and not every survivor has acknowledged that");
}

/* What was under way has ended: the next step. A shrink that was the first to learn that the
 * communicator is revoked begins again. */
static int finish_agreement(struct ftc_mpi_request *request, int error)
{
    struct agreement *a = (struct agreement *)request;
    struct ftc_mpi_comm *c = request->comm;
    if (a->step == AGREES)
        return conclude(a, error);
    if (error == FTC_ERR_REVOKED && a->step == SHRINKS) {
        c->revoked = true;
        a->step = SHRINKS_AGAIN;
        return ftc_mpi_error_from(shrink(a));
    }
    if (error == FTC_SUCCESS) {
        a->step = AGREES;
        a->both[1] = has_acknowledged(c, a->survivors);
        error = ftc_iallreduce(FTC_IN_PLACE, a->both, 2, FTC_INT32, FTC_BAND, a->survivors,
                               &request->native[0]);
    }
    return ftc_mpi_error_from(error);
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
    struct agreement *a = ftc_mpi_request_new(&operation, comm, sizeof *a);
    if (a == NULL)
        return ftc_mpi_no_memory();
    a->flag = flag;
    return ftc_mpi_request_run(&a->request, request);
}

static int give_failed(struct ftc_mpi_comm *c, int types, MPI_Group *failed)
{
    int count;
    struct ftc_mpi_group *members = ftc_mpi_comm_members(c);
    ftc_rank_info *ranks = failed_ranks(c, types, &count);
    struct ftc_mpi_group *group = NULL;
    if (members != NULL && ranks != NULL)
        group = ftc_mpi_group_new(count, members->self);
    for (int i = 0; group != NULL && i < count; i++)
        group->ranks[i] =
            ftc_comm_translate(c->native, ranks[i].rank, ftc_mpi_process.world->native);
    free(ranks);
    return ftc_mpi_group_give(group, failed);
}

int ftc_mpi_comm_get_failed(struct ftc_mpi_comm *c, MPI_Group *failed)
{
    int count;
    ftc_mpi_comm_enter(c);
    int rc = ftc_mpi_error_from(ftc_validate_local(c->native, &count));
    if (rc == MPI_SUCCESS)
        rc = give_failed(c, FTC_RANK_FAILED | FTC_RANK_NULL, failed);
    ftc_mpi_comm_leave(c);
    return rc;
}

int ftc_mpi_comm_failure_get_acked(struct ftc_mpi_comm *c, MPI_Group *failed)
{
    ftc_mpi_comm_enter(c);
    int rc = give_failed(c, FTC_RANK_NULL, failed);
    ftc_mpi_comm_leave(c);
    return rc;
}

int ftc_mpi_comm_ack_failed(struct ftc_mpi_comm *c, int num_to_ack, int *num_acked)
{
    int count;
    ftc_mpi_comm_enter(c);
    ftc_rank_info *ranks = failed_ranks(c, FTC_RANK_FAILED | FTC_RANK_NULL, &count);
    for (int i = 0; ranks != NULL && i < count && i < num_to_ack; i++)
        ftc_recognize(c->native, 1, &ranks[i].rank);
    free(ranks);
    ranks = failed_ranks(c, FTC_RANK_NULL, num_acked);
    ftc_mpi_comm_leave(c);
    if (ranks == NULL)
        return ftc_mpi_no_memory();
    free(ranks);
    return MPI_SUCCESS;
}

int ftc_mpi_comm_failure_ack(struct ftc_mpi_comm *c)
{
    MPI_Group failed;
    int acked, rc = ftc_mpi_comm_get_failed(c, &failed); /* L is what is known now */
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_group_free(&failed);
    return ftc_mpi_comm_ack_failed(c, c->size, &acked);
}

void ftc_mpi_failures_note_masked(void)
{
    int count;
    struct ftc_mpi_comm *world = ftc_mpi_process.world;
    if (ftc_validate_local(world->native, &count) != FTC_SUCCESS)
        return;
    ftc_rank_info *ranks = failed_ranks(world, FTC_RANK_FAILED | FTC_RANK_NULL, &count);
    for (int i = 0; ranks != NULL && i < count; i++)
        if (!ftc_mpi_process.told[ranks[i].rank])
            ftc_note_masked(world->native, ranks[i].rank);
    free(ranks);
}
