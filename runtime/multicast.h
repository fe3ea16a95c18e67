/* Datagrams to all ranks at once, for decisions that are spread by multicast. All under comm->lock.
 * Without a transport that can, a rank goes on: what does not come by datagram comes along the
 * ring, or is asked for. */
#ifndef FTC_RUNTIME_MULTICAST_H
#define FTC_RUNTIME_MULTICAST_H

#include "runtime/comm.h"

/* Join the job's group, if the settings say multicast; *fragment: bytes of a decision that go into
 * one datagram. What this rank cannot do is logged as a warning, once. FTC_ERR_NOMEM, FTC_ERR_ARG,
 * FTC_ERR_CONFIG: a setting that no rank can do with. */
int ftc_runtime_multicast_open(struct ftc_comm *comm, uint32_t *fragment);
void ftc_runtime_multicast_close(struct ftc_comm *comm);

/* What became of datagrams so far, into the slot. */
void ftc_runtime_multicast_publish(struct ftc_comm *comm);

void ftc_runtime_multicast_send(struct ftc_comm *comm, const struct ftc_output *output);

/* The next datagram into the member: false: there is none. */
bool ftc_runtime_multicast_receive(struct ftc_comm *comm);
bool ftc_runtime_multicast_ready(struct ftc_comm *comm);

/* To sleep on, armed: look for datagrams after that. -1: there are none to come. Before
 * ftc_bell_prepare(): it may change how this rank sleeps. */
int ftc_runtime_multicast_fd(struct ftc_comm *comm);

#endif
