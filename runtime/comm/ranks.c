/* Ranks of a communicator and ranks of the job. */
#include "runtime/comm/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "runtime/process/progress.h"

int ftc_comm_take_members(struct ftc_comm *comm, const int *job_ranks, int count)
{
    int ranks = comm->process->size;

    comm->job_ranks = malloc(((size_t)count + (size_t)ranks) * sizeof(int));
    if (comm->job_ranks == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", count);
    comm->rank_of = comm->job_ranks + count;
    memcpy(comm->job_ranks, job_ranks, (size_t)count * sizeof(int));
    for (int rank = 0; rank < ranks; rank++)
        comm->rank_of[rank] = -1;
    for (int rank = 0; rank < count; rank++)
        comm->rank_of[job_ranks[rank]] = rank;
    return FTC_SUCCESS;
}

void ftc_comm_drop_members(struct ftc_comm *comm)
{
    free(comm->job_ranks);
    comm->job_ranks = comm->rank_of = NULL;
}

void ftc_comm_send(struct ftc_comm *comm, int rank, struct ftc_buffer *head,
                   const struct ftc_value *value, bool urgent)
{
    struct ftc_transport *transport = comm->process->transport;

    ftc_progress_must(comm->process, transport->ops->send(transport, ftc_comm_job_rank(comm, rank),
                                                          head, value, urgent));
}

FTC_HOT bool ftc_comm_send_pieces(struct ftc_comm *comm, int rank, const struct ftc_pieces *pieces,
                                  bool urgent)
{
    struct ftc_transport *transport = comm->process->transport;

    return transport->ops->send_pieces != NULL &&
           transport->ops->send_pieces(transport, ftc_comm_job_rank(comm, rank), pieces, urgent);
}

void ftc_comm_accuse(struct ftc_comm *comm, int rank, const char *what)
{
    ftc_progress_accuse(comm->process, ftc_comm_job_rank(comm, rank), what);
}

int ftc_comm_node_of(const struct ftc_comm *comm, int rank)
{
    return ftc_segment_node_of(comm->process->segment, ftc_comm_job_rank(comm, rank));
}

bool ftc_comm_is_local(const struct ftc_comm *comm, int rank)
{
    return ftc_segment_is_local(comm->process->segment, ftc_comm_job_rank(comm, rank));
}

bool ftc_comm_is_declared(const struct ftc_comm *comm, int rank)
{
    return ftc_segment_failed(comm->process->segment, ftc_comm_job_rank(comm, rank));
}
