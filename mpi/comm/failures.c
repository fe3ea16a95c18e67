/* The failures that the program may know of. Agreements are in agree.c, shrinks in create.c. */
#include "mpi/comm/comm.h"

#include "functions.h"

#include <stdlib.h>

int ftc_mpi_comm_revoke(struct ftc_mpi_comm *c)
{
    c->revoked = true;
    return ftc_mpi_error_from(ftc_comm_revoke(c->native)); /* any thread may, at any time */
}

ftc_rank_info *ftc_mpi_failed_ranks(struct ftc_mpi_comm *c, int types, int *count)
{
    *count = 0;
    if (ftc_get_state_local(c->native, types, 0, count, NULL) != FTC_SUCCESS)
        *count = 0;
    ftc_rank_info *ranks = calloc((size_t)*count + 1, sizeof *ranks);
    if (ranks != NULL && *count > 0)
        ftc_get_state_local(c->native, types, *count, count, ranks);
    return ranks;
}

/* Acknowledges the first `most` failed ranks of L. */
static void acknowledge(struct ftc_mpi_comm *c, int most)
{
    int count;
    ftc_rank_info *ranks = ftc_mpi_failed_ranks(c, FTC_RANK_FAILED | FTC_RANK_NULL, &count);
    for (int i = 0; ranks != NULL && i < count && i < most; i++)
        ftc_recognize(c->native, 1, &ranks[i].rank);
    free(ranks);
}

bool ftc_mpi_comm_passes(struct ftc_mpi_comm *comm)
{
    int count = 0;
    if (comm->raises || ftc_validate_local(comm->native, &count) != FTC_SUCCESS ||
        count >= ftc_size(comm->native) - 1)
        return false;
    acknowledge(comm, count);
    return true;
}

int ftc_mpi_comm_give_failed(struct ftc_mpi_comm *c, bool acknowledged, MPI_Group *failed)
{
    int count, error = FTC_SUCCESS;
    struct ftc_mpi_group *members = ftc_mpi_comm_members(c), *group = NULL;
    ftc_mpi_comm_enter(c);
    if (!acknowledged)
        error = ftc_validate_local(c->native, &count);
    ftc_rank_info *ranks = ftc_mpi_failed_ranks(
        c, acknowledged ? FTC_RANK_NULL : FTC_RANK_FAILED | FTC_RANK_NULL, &count);
    ftc_mpi_comm_leave(c);
    if (error == FTC_SUCCESS && members != NULL && ranks != NULL)
        group = ftc_mpi_group_new(count, members->self);
    for (int i = 0; group != NULL && i < count; i++)
        group->ranks[i] =
            ftc_comm_translate(c->native, ranks[i].rank, ftc_mpi_process.world->native);
    free(ranks);
    return error != FTC_SUCCESS ? ftc_mpi_error_from(error) : ftc_mpi_group_give(group, failed);
}

int ftc_mpi_comm_ack_failed(struct ftc_mpi_comm *c, int num_to_ack, int *num_acked)
{
    ftc_mpi_comm_enter(c);
    acknowledge(c, num_to_ack);
    ftc_rank_info *ranks = ftc_mpi_failed_ranks(c, FTC_RANK_NULL, num_acked);
    ftc_mpi_comm_leave(c);
    if (ranks == NULL)
        return ftc_mpi_no_memory();
    free(ranks);
    return MPI_SUCCESS;
}

int ftc_mpi_comm_failure_ack(struct ftc_mpi_comm *c)
{
    int count;
    ftc_mpi_comm_enter(c);
    int error = ftc_validate_local(c->native, &count); /* L is what is known now */
    if (error == FTC_SUCCESS)
        acknowledge(c, count);
    ftc_mpi_comm_leave(c);
    return ftc_mpi_error_from(error);
}

void ftc_mpi_failures_note_masked(void)
{
    int count;
    struct ftc_mpi_comm *world = ftc_mpi_process.world;
    if (ftc_validate_local(world->native, &count) != FTC_SUCCESS)
        return;
    ftc_rank_info *ranks = ftc_mpi_failed_ranks(world, FTC_RANK_FAILED | FTC_RANK_NULL, &count);
    for (int i = 0; ranks != NULL && i < count; i++)
        if (!ftc_mpi_process.told[ranks[i].rank])
            ftc_note_masked(world->native, ranks[i].rank);
    free(ranks);
}
