/*
 * Intercommunicators. The communicator of ftcoll below one has both groups, one after the other:
 * the one whose first process has the lower rank of the world comes first. So a rank of a group is
 * a rank there, plus `first` or `remote_first`.
 */
#include "mpi/comm/comm.h"

#include "functions.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void ftc_mpi_comm_divide(struct ftc_mpi_comm *comm, int low)
{
    int all = ftc_size(comm->native), own = ftc_rank(comm->native);
    comm->object.kind = FTC_MPI_INTERCOMM;
    comm->first = own < low ? 0 : low;
    comm->size = own < low ? low : all - low;
    comm->rank = own - comm->first;
    comm->remote_first = own < low ? low : 0;
    comm->remote_size = all - comm->size;
}

/* Fetches the list of the remote group from its leader. The two leaders meet in a communicator of
 * their own, so that no message of the program can be mistaken for the list. */
static int swap_lists(struct ftc_mpi_comm *peer, int leader, int tag,
                      const struct ftc_mpi_group *own, struct ftc_mpi_group **other)
{
    int here = ftc_rank(peer->native), there = peer->remote_first + leader, size = 0;
    int both[2] = {here < there ? here : there, here < there ? there : here};
    int at = here < there ? 1 : 0; /* the rank of the other leader */
    ftc_comm *pair = NULL;
    int error = leader < 0 || leader >= ftc_mpi_comm_peers(peer)
                    ? FTC_ERR_ARG
                    : ftc_comm_create(peer->native, 2, both, tag, &pair);
    if (error != FTC_SUCCESS)
        return error;
    error = ftc_size(pair) < 2 ? FTC_ERR_RANK_FAILED
                               : ftc_sendrecv(&own->size, 1, FTC_INT32, at, 0, &size, 1, FTC_INT32,
                                              at, 0, pair, NULL);
    if (error == FTC_SUCCESS && (*other = ftc_mpi_group_new(size, own->self)) == NULL)
        error = FTC_ERR_NOMEM;
    if (error == FTC_SUCCESS)
        error = ftc_sendrecv(own->ranks, (size_t)own->size, FTC_INT32, at, 1, (*other)->ranks,
                             (size_t)size, FTC_INT32, at, 1, pair, NULL);
    ftc_comm_free(&pair);
    return error;
}

/* Gives the list of the leader to its group; *other is NULL where it has none, and after an error
 * of the leader everywhere. */
static int spread_list(struct ftc_mpi_comm *local, int leader, int error,
                       struct ftc_mpi_group **other)
{
    int head[2] = {error, *other == NULL ? 0 : (*other)->size};
    int outcome = ftc_bcast(head, 2, FTC_INT32, leader, local->native);
    if (outcome == FTC_SUCCESS)
        outcome = head[0];
    if (outcome == FTC_SUCCESS && *other == NULL &&
        (*other = ftc_mpi_group_new(head[1], ftc_mpi_process.world->rank)) == NULL)
        outcome = FTC_ERR_NOMEM;
    if (outcome == FTC_SUCCESS)
        outcome = ftc_bcast((*other)->ranks, (size_t)head[1], FTC_INT32, leader, local->native);
    return outcome;
}

int ftc_mpi_comm_unite(const struct ftc_mpi_group *own, const struct ftc_mpi_group *other, int tag,
                       struct ftc_mpi_comm *like, MPI_Comm *out)
{
    ftc_comm *world = ftc_mpi_process.world->native, *native = NULL;
    const struct ftc_mpi_group *one = own, *two = other;
    if (own->size == 0 || other->size == 0)
        return ftc_mpi_error(MPI_ERR_GROUP, "a group is empty");
    if (one->ranks[0] > two->ranks[0]) {
        one = other;
        two = own;
    }
    int low = 0, *ranks = malloc((size_t)(one->size + two->size) * sizeof *ranks);
    if (ranks == NULL)
        return ftc_mpi_no_memory();
    memcpy(ranks, one->ranks, (size_t)one->size * sizeof *ranks);
    memcpy(ranks + one->size, two->ranks, (size_t)two->size * sizeof *ranks);
    ftc_mpi_comm_enter(ftc_mpi_process.world);
    int error = ftc_comm_create(world, one->size + two->size, ranks, tag, &native);
    ftc_mpi_comm_leave(ftc_mpi_process.world);
    for (int i = 0; error == FTC_SUCCESS && i < one->size; i++) /* the failed are left out */
        low += ftc_comm_translate(world, ranks[i], native) != FTC_UNDEFINED;
    free(ranks);
    if (error == FTC_SUCCESS && (low == 0 || low == ftc_size(native))) {
        ftc_comm_free(&native);
        return ftc_mpi_error(MPIX_ERR_PROC_FAILED, "all ranks of a group have failed");
    }
    int rc = ftc_mpi_comm_wrap(like, error, native, out);
    if (rc == MPI_SUCCESS)
        ftc_mpi_comm_divide(ftc_mpi_comm_of(*out), low);
    return rc;
}

int ftc_mpi_intercomm_create(struct ftc_mpi_comm *local_comm, int local_leader, MPI_Comm peer_comm,
                             int remote_leader, int tag, MPI_Comm *newintercomm)
{
    struct ftc_mpi_comm *peer = NULL;
    struct ftc_mpi_group *own = ftc_mpi_comm_members(local_comm), *other = NULL;
    int error = FTC_SUCCESS, rc = ftc_mpi_comm_check(local_comm, false);
    if (rc == MPI_SUCCESS && own == NULL)
        rc = ftc_mpi_no_memory();
    if (rc == MPI_SUCCESS && (local_leader < 0 || local_leader >= local_comm->size))
        rc = ftc_mpi_error(MPI_ERR_RANK, "leader %d of %d ranks", local_leader, local_comm->size);
    if (rc == MPI_SUCCESS && local_comm->rank == local_leader)
        rc = ftc_mpi_comm_open(peer_comm, &peer);
    if (rc != MPI_SUCCESS)
        return rc;
    if (peer != NULL) {
        ftc_mpi_comm_enter(peer);
        error = swap_lists(peer, remote_leader, tag, own, &other);
        ftc_mpi_comm_leave(peer);
    }
    ftc_mpi_comm_enter(local_comm);
    error = spread_list(local_comm, local_leader, error, &other);
    ftc_mpi_comm_leave(local_comm);
    rc = error != FTC_SUCCESS ? ftc_mpi_error_from(error)
                              : ftc_mpi_comm_unite(own, other, tag, local_comm, newintercomm);
    ftc_mpi_group_release(other);
    return rc;
}

/* FNV-1a. */
uint64_t ftc_mpi_text_hash(const char *text)
{
    uint64_t number = UINT64_C(14695981039346656037);
    for (; text != NULL && *text != '\0'; text++)
        number = (number ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return number;
}

int ftc_mpi_comm_handled(int rc, MPI_Comm *comm, MPI_Errhandler errhandler)
{
    if (rc != MPI_SUCCESS || *comm == MPI_COMM_NULL)
        return rc;
    rc = ftc_mpi_comm_set_errhandler(ftc_mpi_comm_of(*comm), errhandler);
    if (rc != MPI_SUCCESS) {
        ftc_mpi_comm_release(ftc_mpi_comm_of(*comm));
        *comm = MPI_COMM_NULL;
    }
    return rc;
}

/* The group with `high` comes last; without a difference the order below stays. */
int ftc_mpi_intercomm_merge(struct ftc_mpi_comm *c, int high, MPI_Comm *newintracomm)
{
    ftc_comm *native = NULL;
    if (!ftc_mpi_is_inter(c))
        return ftc_mpi_comm_check(c, true);
    ftc_mpi_comm_enter(c);
    int key = c->first + c->rank + (high ? ftc_size(c->native) : 0);
    int error = ftc_comm_split(c->native, 0, key, &native);
    int rc = ftc_mpi_comm_outcome(c, c->native, error);
    ftc_mpi_comm_leave(c);
    if (rc == MPI_SUCCESS)
        return ftc_mpi_comm_wrap(c, error, native, newintracomm);
    if (native != NULL)
        ftc_comm_free(&native); /* a failure is raised, at all ranks alike */
    return rc;
}
