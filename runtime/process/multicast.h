/* Datagrams to all ranks at once, for decisions that are spread by multicast. All functions run
 * under comm->lock. A rank without working multicast goes on: what no datagram brings comes along
 * the ring of positions, or the rank asks for it. */
#ifndef FTC_RUNTIME_PROCESS_MULTICAST_H
#define FTC_RUNTIME_PROCESS_MULTICAST_H

#include "runtime/comm/comm.h"

/* Joins the job's group, if the settings say multicast. *fragment is the number of bytes of a
 * decision that go into one datagram. If multicast does not work here, the rank logs one warning
 * and goes on. FTC_ERR_NOMEM; FTC_ERR_ARG, FTC_ERR_CONFIG: a setting with which multicast works at
 * no rank. */
int ftc_runtime_multicast_open(struct ftc_comm *comm, uint32_t *fragment);
void ftc_runtime_multicast_close(struct ftc_comm *comm);

/* Writes the counters of datagrams into the slot. */
void ftc_runtime_multicast_publish(struct ftc_comm *comm);

void ftc_runtime_multicast_send(struct ftc_comm *comm, const struct ftc_output *output);

/* Gives the next datagram to the member. False: there is none. */
bool ftc_runtime_multicast_receive(struct ftc_comm *comm);
bool ftc_runtime_multicast_ready(struct ftc_comm *comm);

/* The descriptor to sleep on, armed; -1: no datagrams can come. After this call look for datagrams
 * once more before the sleep. Call it before ftc_bell_prepare(): it may change how this rank
 * sleeps, because it ends multicast here if the descriptor cannot be armed. */
int ftc_runtime_multicast_fd(struct ftc_comm *comm);

#endif
