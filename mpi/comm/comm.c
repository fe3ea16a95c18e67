/* The life of a communicator, and what one may ask of it. */
#include "mpi/comm/comm.h"

#include "functions.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tag of the communicator of MPI_COMM_SELF. A group of one rank meets nobody. */
#define SELF_TAG 0x73656c66

struct ftc_mpi_comm *ftc_mpi_comm_self(void)
{
    ftc_comm *native;
    if (ftc_mpi_process.self != NULL || ftc_mpi_process.world == NULL)
        return ftc_mpi_process.self;
    struct ftc_mpi_comm *world = ftc_mpi_process.world;
    ftc_mpi_comm_enter(world);
    if (ftc_mpi_process.self == NULL &&
        ftc_comm_create(world->native, 1, &world->rank, SELF_TAG, &native) == FTC_SUCCESS) {
        struct ftc_mpi_comm *self = ftc_mpi_comm_new(native, NULL);
        if (self != NULL)
            ftc_mpi_name_set(self->name, "MPI_COMM_SELF");
        ftc_mpi_process.self = self;
    }
    ftc_mpi_comm_leave(world);
    return ftc_mpi_process.self;
}

MPI_Comm ftc_mpi_comm_handle(const struct ftc_mpi_comm *comm)
{
    if (comm == ftc_mpi_process.world)
        return MPI_COMM_WORLD;
    return comm == ftc_mpi_process.self ? MPI_COMM_SELF : (MPI_Comm)comm;
}

int ftc_mpi_comm_open(MPI_Comm comm, struct ftc_mpi_comm **out)
{
    if (ftc_mpi_process.state != FTC_MPI_RUNNING)
        return ftc_mpi_error(MPI_ERR_OTHER, ftc_mpi_process.state == FTC_MPI_BEFORE
                                                ? "MPI_Init() was not called"
                                                : "MPI_Finalize() was called");
    *out = ftc_mpi_comm_of(comm);
    if (*out != NULL)
        return MPI_SUCCESS;
    return ftc_mpi_error(MPI_ERR_COMM, comm == MPI_COMM_NULL ? "the communicator is MPI_COMM_NULL"
                                                             : "this is no communicator");
}

struct ftc_mpi_comm *ftc_mpi_comm_new(ftc_comm *native, const struct ftc_mpi_comm *parent)
{
    struct ftc_mpi_comm *comm = ftc_mpi_object_new(FTC_MPI_COMM, sizeof *comm);
    if (comm == NULL) {
        ftc_comm_free(&native);
        return NULL;
    }
    comm->native = native;
    comm->rank = ftc_rank(native);
    comm->size = ftc_size(native);
    pthread_mutexattr_t recursive; /* functions of the program are called while it is held */
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&comm->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    comm->errhandler = parent == NULL ? &ftc_mpi_errors_are_fatal : parent->errhandler;
    if (comm->errhandler->handle == 0)
        ftc_mpi_object_hold(&comm->errhandler->object);
    ftc_mpi_comm_set_raises(comm);
    return comm;
}

int ftc_mpi_comm_wrap(struct ftc_mpi_comm *parent, int error, ftc_comm *native, MPI_Comm *out)
{
    if (error != FTC_SUCCESS)
        return ftc_mpi_error_from(error);
    struct ftc_mpi_comm *made = ftc_mpi_comm_new(native, parent);
    *out = made == NULL ? MPI_COMM_NULL : (MPI_Comm)made;
    return made == NULL ? ftc_mpi_no_memory() : MPI_SUCCESS;
}

void ftc_mpi_comm_release(struct ftc_mpi_comm *comm)
{
    if (comm == NULL || !ftc_mpi_object_drop(&comm->object))
        return;
    if (comm->native != NULL) /* the world's is freed by ftc_finalize() */
        ftc_comm_free(&comm->native);
    pthread_mutex_destroy(&comm->lock);
    ftc_mpi_errhandler_release(comm->errhandler);
    ftc_mpi_group_release(comm->group);
    ftc_mpi_group_release(comm->remote_group);
    free(comm->topology);
    ftc_mpi_object_free(&comm->object);
}

struct ftc_mpi_group *ftc_mpi_comm_side(struct ftc_mpi_comm *comm, bool remote)
{
    struct ftc_mpi_group **group = remote ? &comm->remote_group : &comm->group;
    int size = remote ? comm->remote_size : comm->size;
    int first = remote ? comm->remote_first : comm->first;
    ftc_mpi_lock();
    if (*group == NULL) {
        *group = ftc_mpi_group_new(size, ftc_mpi_process.world->rank);
        for (int i = 0; *group != NULL && i < size; i++)
            (*group)->ranks[i] =
                ftc_comm_translate(comm->native, first + i, ftc_mpi_process.world->native);
    }
    ftc_mpi_unlock();
    return *group;
}

/* The program is told that these ranks have failed. */
static void tell(const ftc_comm *native, int count, const int ranks[])
{
    struct ftc_mpi_process *process = &ftc_mpi_process;
    for (int i = 0; i < count; i++)
        process->told[ftc_comm_translate(native, ranks[i], process->world->native)] = true;
}

int ftc_mpi_comm_outcome(struct ftc_mpi_comm *comm, const ftc_comm *native, int error)
{
    if (error == FTC_ERR_REVOKED)
        comm->revoked = true;
    if (error != FTC_SUCCESS || !comm->raises)
        return ftc_mpi_error_from(error);
    ftc_report report; /* the failed set alone: the rest is not even cleared */
    report.struct_size = offsetof(ftc_report, ballots);
    if (ftc_last_report(native, &report) != FTC_SUCCESS || report.failed_count == 0)
        return MPI_SUCCESS;
    tell(native, report.failed_count, report.failed);
    return ftc_mpi_error(MPIX_ERR_PROC_FAILED,
                         "%d of %d ranks have failed, rank %d the first; "
                         "the survivors have the same result",
                         report.failed_count, ftc_size(native), report.failed[0]);
}

int ftc_mpi_comm_give_side(struct ftc_mpi_comm *c, bool remote, MPI_Group *group)
{
    int rc = remote ? ftc_mpi_comm_check(c, true) : MPI_SUCCESS;
    struct ftc_mpi_group *members = rc == MPI_SUCCESS ? ftc_mpi_comm_side(c, remote) : NULL;
    if (members == NULL)
        return rc != MPI_SUCCESS ? rc : ftc_mpi_no_memory();
    ftc_mpi_object_hold(&members->object);
    *group = (MPI_Group)members;
    return MPI_SUCCESS;
}

int ftc_mpi_comm_compare(struct ftc_mpi_comm *comm1, struct ftc_mpi_comm *comm2, int *result)
{
    int rc = MPI_SUCCESS, sides = ftc_mpi_is_inter(comm1) ? 2 : 1;
    *result = comm1 == comm2 ? MPI_IDENT : MPI_CONGRUENT;
    if (ftc_mpi_is_inter(comm1) != ftc_mpi_is_inter(comm2))
        *result = MPI_UNEQUAL;
    for (int remote = 0; rc == MPI_SUCCESS && *result != MPI_UNEQUAL && remote < sides; remote++) {
        int order = MPI_IDENT;
        struct ftc_mpi_group *one = ftc_mpi_comm_side(comm1, remote);
        struct ftc_mpi_group *two = ftc_mpi_comm_side(comm2, remote);
        rc = one == NULL || two == NULL ? ftc_mpi_no_memory()
                                        : ftc_mpi_group_compare(one, two, &order);
        if (order != MPI_IDENT && *result != MPI_UNEQUAL)
            *result = order;
    }
    return rc;
}

int ftc_mpi_comm_check(const struct ftc_mpi_comm *comm, bool inter)
{
    return ftc_mpi_is_inter(comm) == inter
               ? MPI_SUCCESS
               : ftc_mpi_error(MPI_ERR_COMM, "%s is %s intercommunicator", comm->name,
                               inter ? "no" : "an");
}

int ftc_mpi_comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
    struct ftc_mpi_comm *c;
    if (comm == MPI_COMM_NULL) {
        *resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "MPI_COMM_NULL");
        return MPI_SUCCESS;
    }
    int rc = ftc_mpi_comm_open(comm, &c);
    if (rc == MPI_SUCCESS)
        *resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s", c->name);
    return rc;
}

/* The object goes when no request refers to it any more. */
int ftc_mpi_comm_free(MPI_Comm *comm)
{
    struct ftc_mpi_comm *c = NULL;
    int rc = ftc_mpi_comm_open(*comm, &c);
    if (rc == MPI_SUCCESS && (c == ftc_mpi_process.world || c == ftc_mpi_process.self))
        rc = ftc_mpi_error(MPI_ERR_COMM, "%s is predefined and cannot be freed", c->name);
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_attributes_clear(&c->attributes, FTC_MPI_COMM, *comm);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_comm_release(c);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
