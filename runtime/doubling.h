/*
 * The deterministic allreduces of runtime/baseline.h at run time: their messages travel beside the
 * member's, and whoever drives the member takes them in. All under comm->lock.
 */
#ifndef FTC_RUNTIME_DOUBLING_H
#define FTC_RUNTIME_DOUBLING_H

#include "runtime/comm.h"

int ftc_doubling_run_open(struct ftc_comm *comm); /* FTC_ERR_NOMEM */
void ftc_doubling_run_close(struct ftc_comm *comm);

/* Is it one of these, and none of the agreement core? */
bool ftc_doubling_is_message(const struct ftc_buffer *buffer);

/* FTC_ERR_PROTO: its sender broke the protocol. FTC_ERR_NOMEM. */
int ftc_doubling_run_receive(struct ftc_comm *comm, int from, struct ftc_buffer *message);
void ftc_doubling_run_notice(struct ftc_comm *comm, int rank); /* rank has failed */

#endif
