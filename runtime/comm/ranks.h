/*
 * The ranks of a communicator, and the ranks of the job that they are. The protocol counts ranks of
 * the communicator. Transport, segment and launcher count ranks of the job. What goes from one to
 * the other goes through these functions.
 */
#ifndef FTC_RUNTIME_COMM_RANKS_H
#define FTC_RUNTIME_COMM_RANKS_H

#include "runtime/comm/comm.h"

static inline int ftc_comm_job_rank(const struct ftc_comm *comm, int rank)
{
    return comm->job_ranks != NULL ? comm->job_ranks[rank] : rank;
}

/* The rank in the communicator of a rank of the job, or -1. */
static inline int ftc_comm_rank_of(const struct ftc_comm *comm, int job_rank)
{
    return comm->rank_of != NULL ? comm->rank_of[job_rank] : job_rank;
}

/* Takes the members of a communicator: their ranks in the job, by their rank in the communicator.
 * The world has none to take. FTC_ERR_NOMEM. */
int ftc_comm_take_members(struct ftc_comm *comm, const int *job_ranks, int count);
void ftc_comm_drop_members(struct ftc_comm *comm);

/* --- what the process does for the communicator, by ranks of the communicator --- */

/* Sends a message, and counts nothing. An error ends the process. */
void ftc_comm_send(struct ftc_comm *comm, int rank, struct ftc_buffer *head,
                   const struct ftc_value *value, bool urgent);
/* The same for a message of few bytes. False: it cannot go so (transport/transport.h). */
bool ftc_comm_send_pieces(struct ftc_comm *comm, int rank, const struct ftc_pieces *pieces,
                          bool urgent);
void ftc_comm_accuse(struct ftc_comm *comm, int rank, const char *what);
int ftc_comm_node_of(const struct ftc_comm *comm, int rank);
bool ftc_comm_is_local(const struct ftc_comm *comm, int rank);    /* is it on this node? */
bool ftc_comm_is_declared(const struct ftc_comm *comm, int rank); /* as the segment has it */

#endif
