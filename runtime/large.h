/*
 * Large allreduces across nodes (collectives/ring/large.h) at run time: their messages travel
 * beside the member's, and whoever drives the member takes them in. All under comm->lock.
 */
#ifndef FTC_RUNTIME_LARGE_H
#define FTC_RUNTIME_LARGE_H

#include "runtime/comm.h"

int ftc_large_run_open(struct ftc_comm *comm); /* FTC_ERR_NOMEM */
void ftc_large_run_close(struct ftc_comm *comm);

/* Is it to be done so? The same at every rank. */
bool ftc_large_run_takes(const struct ftc_comm *comm, const struct ftc_call *call);
/* In place of ftc_call_wait(). */
int ftc_large_run_call(struct ftc_comm *comm, const struct ftc_call *call, void *receive);
/* Did the last call end so? */
bool ftc_large_run_committed(const struct ftc_comm *comm);

/* FTC_ERR_PROTO: its sender broke the protocol. FTC_ERR_NOMEM. What tells of another collective
 * ends the job. */
int ftc_large_run_receive(struct ftc_comm *comm, int from, struct ftc_buffer *message);
/* A message of the agreement core that is taken in next. */
void ftc_large_run_look(struct ftc_comm *comm, int from, const struct ftc_buffer *message);
void ftc_large_run_called(struct ftc_comm *comm); /* the member was */
void ftc_large_run_notice(struct ftc_comm *comm, int rank);

/* What this rank does and waits for, if that is a block. */
int ftc_large_run_awaits(const struct ftc_comm *comm); /* rank of the ring; -1: none */
void ftc_large_run_activity(const struct ftc_comm *comm, struct ftc_member_activity *now);

#endif
