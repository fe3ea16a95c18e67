/*
 * The communicators of a process: how they begin, end and are given up
 * (docs/design/communicators.md). collectives/communicators/ has the rules; these functions carry
 * out what it asks for. All run under process->lock.
 *
 * Calls of the life of a communicator (struct ftc_own_call) go by messages, and whoever takes steps
 * moves them on. There is one exception: where the parent has a board, the caller of a creation
 * runs its two operations there.
 */
#ifndef FTC_RUNTIME_COMM_ENGINE_H
#define FTC_RUNTIME_COMM_ENGINE_H

#include "collectives/communicators/communicators.h"
#include "runtime/comm/comm.h"

/* Makes the world, and what makes its children. The errors of ftc_comm_open(). */
int ftc_comm_engine_open(struct ftc_comm **world, struct ftc_process *process,
                         const struct ftc_algorithm *const *algorithms);
/* Closes all communicators that are left. The progress thread has ended. */
void ftc_comm_engine_close(struct ftc_process *process);

struct ftc_comm *ftc_comm_engine_world(const struct ftc_process *process);
struct ftc_communicators *ftc_comm_engine_set(const struct ftc_process *process);
/* Is the world the only one that is not forgotten? */
bool ftc_comm_engine_is_world_alone(const struct ftc_process *process);
/* Does the process have no communicator any more? */
bool ftc_comm_engine_is_over(const struct ftc_process *process);

/* Takes `busy` of all communicators but the world that have callers. NULL: all are taken. Otherwise
 * none is, since a thread is in a call on the one that is returned. */
struct ftc_comm *ftc_comm_engine_take_children(struct ftc_process *process);

/* Has a communicator requests that no wait or test has ended? */
bool ftc_comm_engine_has_requests(const struct ftc_process *process);

/* Carries out all that follows from an input of the communicators. Call it after each. True: there
 * was something to do. */
bool ftc_comm_engine_settle(struct ftc_process *process);

/* Its queue has an operation. */
void ftc_comm_engine_queued(struct ftc_comm *comm);

/* The caller revokes it. Does nothing if it is given up already. */
void ftc_comm_engine_revoke(struct ftc_comm *comm);

/* Does the thread that runs this function know that comm is revoked (communicators.md, C8)? With
 * the lock. If it does, all callers of comm do from now on. */
bool ftc_comm_is_told(struct ftc_comm *comm);
/* A call on comm has returned FTC_ERR_REVOKED to the thread that runs this function. */
void ftc_comm_engine_told(struct ftc_comm *comm);

/* --- for the caller of a creation --- */

/* Of a call that the caller has run on the board: its status, and its result in comm->own.value. */
void ftc_comm_engine_ran(struct ftc_comm *comm, int status);

/* Frees comm, and every other communicator but the world if comm is NULL. They must have no
 * caller. */
void ftc_comm_engine_free(struct ftc_process *process, struct ftc_comm *comm);

/* At the end of the job: if comm is revoked, frees it, unless it is freed already. */
void ftc_comm_engine_free_revoked(struct ftc_comm *comm);

#endif
