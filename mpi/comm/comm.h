/*
 * Communicators, and the process that has them. The interface of MPI passes no process, so there is
 * one for all calls: ftc_mpi_process.
 */
#ifndef FTC_MPI_COMM_H
#define FTC_MPI_COMM_H

#include "mpi/object/attribute.h"
#include "mpi/object/error.h"
#include "mpi/object/group.h"
#include "mpi/object/info.h"
#include "mpi/topology/topology.h"

#include "include/ftcoll.h"

#include <pthread.h>

struct ftc_mpi_errhandler {
    struct ftc_mpi_object object;
    int handle; /* of a predefined one; 0: it is the program's */
    MPI_Comm_errhandler_function *function;
};

struct ftc_mpi_comm {
    struct ftc_mpi_object object;
    ftc_comm *native; /* of an intercommunicator: of both groups, one after the other */
    int rank, size;   /* in the local group */
    int first;        /* the rank in `native` of the first rank of the group */
    int remote_size, remote_first; /* the same of the other group; without one they are 0 */
    bool raises;  /* a failure is an error here; otherwise it is masked (docs/design/mpi.md) */
    bool revoked; /* this rank has revoked it, or has been told */
    struct ftc_mpi_errhandler *errhandler;
    struct ftc_mpi_group *group, *remote_group; /* NULL until somebody asks */
    struct ftc_mpi_topology *topology;          /* NULL: none */
    struct ftc_mpi_attributes attributes;
    char name[MPI_MAX_OBJECT_NAME];
    pthread_mutex_t lock; /* with MPI_THREAD_MULTIPLE: for calls of ftcoll on `native` */
};

/* The setting mpi.failures. */
enum ftc_mpi_failures { FTC_MPI_FAILURES_AUTO, FTC_MPI_FAILURES_MASK, FTC_MPI_FAILURES_RAISE };

struct ftc_mpi_request;

extern struct ftc_mpi_process {
    enum { FTC_MPI_BEFORE, FTC_MPI_RUNNING, FTC_MPI_AFTER } state;
    int thread_level;
    bool multiple; /* in a process of the job several threads may call at once */
    enum ftc_mpi_failures failures;
    pthread_t main_thread;
    bool *told; /* of each rank of the world: has the program been told that it failed? */
    struct ftc_mpi_comm *world, *self;
    /* Requests without anything of their own, to be used again; one thread calls at a time. */
    struct ftc_mpi_request *spare;
    int spares;
    struct ftc_mpi_request *given_up; /* under ftc_mpi_lock() */
    struct {
        void *at; /* NULL: none is attached */
        MPI_Count size;
    } buffer; /* of buffered sends */
} ftc_mpi_process;

/* The communicator of the handle, or NULL. MPI_COMM_SELF is made when it is first used. */
struct ftc_mpi_comm *ftc_mpi_comm_self(void);
static inline struct ftc_mpi_comm *ftc_mpi_comm_of(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD)
        return ftc_mpi_process.world;
    if (comm == MPI_COMM_SELF)
        return ftc_mpi_comm_self();
    struct ftc_mpi_comm *c = ftc_mpi_object(comm, FTC_MPI_COMM);
    return c != NULL ? c : ftc_mpi_object(comm, FTC_MPI_INTERCOMM);
}
MPI_Comm ftc_mpi_comm_handle(const struct ftc_mpi_comm *comm);

/* The communicator in *out; MPI_ERR_COMM if the handle is none. */
int ftc_mpi_comm_open(MPI_Comm comm, struct ftc_mpi_comm **out);

/* A communicator around `native`, with the error handler of `parent` (or MPI_ERRORS_ARE_FATAL);
 * NULL: no memory, and `native` is freed. */
struct ftc_mpi_comm *ftc_mpi_comm_new(ftc_comm *native, const struct ftc_mpi_comm *parent);
void ftc_mpi_comm_release(struct ftc_mpi_comm *comm);

/* Its local group, or the remote one; it keeps them. NULL: no memory. */
struct ftc_mpi_group *ftc_mpi_comm_side(struct ftc_mpi_comm *comm, bool remote);
static inline struct ftc_mpi_group *ftc_mpi_comm_members(struct ftc_mpi_comm *comm)
{
    return ftc_mpi_comm_side(comm, false);
}

static inline bool ftc_mpi_is_inter(const struct ftc_mpi_comm *comm)
{
    return comm->remote_size > 0;
}
/* The number of ranks that one may send to: those of the remote group, if there is one. */
static inline int ftc_mpi_comm_peers(const struct ftc_mpi_comm *comm)
{
    return ftc_mpi_is_inter(comm) ? comm->remote_size : comm->size;
}
/* Makes an intercommunicator of a new communicator: its first `low` ranks are one group. */
void ftc_mpi_comm_divide(struct ftc_mpi_comm *comm, int low);
/* MPI_ERR_COMM unless it is an intercommunicator, or unless it is none. */
int ftc_mpi_comm_check(const struct ftc_mpi_comm *comm, bool inter);
/* Its local group or the remote one as a handle. */
int ftc_mpi_comm_give_side(struct ftc_mpi_comm *comm, bool remote, MPI_Group *group);
/* An intercommunicator of two groups, whose members alone call this. */
int ftc_mpi_comm_unite(const struct ftc_mpi_group *own, const struct ftc_mpi_group *other, int tag,
                       struct ftc_mpi_comm *like, MPI_Comm *out);
/* A creation by groups has returned `rc`: its communicator gets the error handler. */
int ftc_mpi_comm_handled(int rc, MPI_Comm *comm, MPI_Errhandler errhandler);
/* A number for a text; NULL is as an empty one. */
uint64_t ftc_mpi_text_hash(const char *text);

/* Around each call of ftcoll on a communicator: with MPI_THREAD_MULTIPLE one at a time. */
static inline void ftc_mpi_comm_enter(struct ftc_mpi_comm *comm)
{
    if (ftc_mpi_process.multiple)
        pthread_mutex_lock(&comm->lock);
}

static inline void ftc_mpi_comm_leave(struct ftc_mpi_comm *comm)
{
    if (ftc_mpi_process.multiple)
        pthread_mutex_unlock(&comm->lock);
}

/* What an operation on `native` that returned `error` returns in MPI: if failures are raised in
 * `comm`, and its report names one, MPIX_ERR_PROC_FAILED. The caller has entered. */
int ftc_mpi_comm_outcome(struct ftc_mpi_comm *comm, const ftc_comm *native, int error);

/* The ranks of L whose state is one of `types`; their number is *count. NULL: no memory. */
ftc_rank_info *ftc_mpi_failed_ranks(struct ftc_mpi_comm *comm, int types, int *count);
/* The failed ranks that are known now; or those of them that are acknowledged. */
int ftc_mpi_comm_give_failed(struct ftc_mpi_comm *comm, bool acknowledged, MPI_Group *failed);
/* Notes the failures of which the program was not told, for the report of the job. */
void ftc_mpi_failures_note_masked(void);
/* A failure interrupts a receive or a probe of any source. True: it is masked, other ranks live,
 * and the failures that are known interrupt nothing any more. The caller has entered. */
bool ftc_mpi_comm_passes(struct ftc_mpi_comm *comm);

/* A child that a creation gave, as a handle: MPI_COMM_NULL where there is none. `error` is what the
 * creation returned. */
int ftc_mpi_comm_child(struct ftc_mpi_comm *parent, int error, ftc_comm *child, MPI_Comm *out);
/* As a handle, a communicator whose creation only its members have called. */
int ftc_mpi_comm_wrap(struct ftc_mpi_comm *parent, int error, ftc_comm *native, MPI_Comm *out);
/* A copy of the communicator, or what a shrink makes. With `request` it does not block. */
int ftc_mpi_comm_make(struct ftc_mpi_comm *c, bool copies, MPI_Comm *newcomm, MPI_Request *request);
/* A part of the communicator, as ftc_comm_split() makes it; color -1: none. The part of an
 * intercommunicator has ranks of both groups, or it is none. */
int ftc_mpi_comm_part(struct ftc_mpi_comm *parent, int color, int key, MPI_Comm *out);

/* MPI_ERRORS_ARE_FATAL, or MPI_ERRORS_ABORT. */
static inline bool ftc_mpi_is_fatal(const struct ftc_mpi_errhandler *handler)
{
    return handler->handle == 0x141 || handler->handle == 0x142;
}
void ftc_mpi_errhandler_release(struct ftc_mpi_errhandler *handler);
extern struct ftc_mpi_errhandler ftc_mpi_errors_are_fatal;
/* Sets what depends on the error handler. */
void ftc_mpi_comm_set_raises(struct ftc_mpi_comm *comm);

/* Calls the error handler of the communicator for `code`, which `function` returns, and returns
 * what `function` then returns. MPI_COMM_NULL and wrong handles: that of MPI_COMM_SELF. */
int ftc_mpi_raise(MPI_Comm comm, int code, const char *function);
/* The next ftc_mpi_raise() of the thread is on this communicator. Returns the code. */
int ftc_mpi_error_on(struct ftc_mpi_comm *comm, int code);

#endif
