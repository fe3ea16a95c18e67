/* What mpi-ext.h has for programs that go on after a failure, but for shrinking (create.c). */
#include "mpi/comm/comm.h"

#include "functions.h"

#include <stdlib.h>

int ftc_mpi_comm_revoke(struct ftc_mpi_comm *c)
{
    c->revoked = true;
    return ftc_mpi_error_from(ftc_comm_revoke(c->native)); /* any thread may, at any time */
}

/* The survivors agree in a communicator of their own: nobody can revoke that. */
int ftc_mpi_comm_agree(struct ftc_mpi_comm *comm, int *flag)
{
    MPI_Comm survivors;
    int rc = ftc_mpi_comm_shrink(comm, &survivors);
    if (rc != MPI_SUCCESS)
        return rc;
    struct ftc_mpi_comm *s = ftc_mpi_comm_of(survivors);
    int32_t all = *flag;
    rc = ftc_mpi_error_from(ftc_allreduce(FTC_IN_PLACE, &all, 1, FTC_INT32, FTC_BAND, s->native));
    if (rc == MPI_SUCCESS)
        *flag = all;
    ftc_mpi_comm_release(s);
    return rc;
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

void ftc_mpi_failures_tell(const ftc_comm *native, int count, const int ranks[])
{
    struct ftc_mpi_process *process = &ftc_mpi_process;
    for (int i = 0; i < count; i++)
        process->told[ftc_comm_translate(native, ranks[i], process->world->native)] = true;
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

bool ftc_mpi_comm_passes(struct ftc_mpi_comm *c)
{
    int count, acked;
    return !c->raises && ftc_validate_local(c->native, &count) == FTC_SUCCESS &&
           count < c->size - 1 && ftc_mpi_comm_ack_failed(c, count, &acked) == MPI_SUCCESS;
}
