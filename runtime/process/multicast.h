/* Datagrams to all ranks at once, for decisions that are spread by multicast. All functions run
 * under process->lock. A rank without working multicast goes on: what no datagram brings comes
 * along the ring of positions, or the rank asks for it. */
#ifndef FTC_RUNTIME_PROCESS_MULTICAST_H
#define FTC_RUNTIME_PROCESS_MULTICAST_H

#include "collectives/agreement/member.h"
#include "runtime/process/process.h"

/* Joins the job's group, if the settings say multicast. It sets process->fragment. If multicast
 * does not work here, the rank logs one warning and goes on. FTC_ERR_NOMEM;
 * FTC_ERR_ARG, FTC_ERR_CONFIG: a setting with which multicast works at no rank. */
int ftc_runtime_multicast_open(struct ftc_process *process);
void ftc_runtime_multicast_close(struct ftc_process *process);

/* Writes the counters of datagrams into the slot. */
void ftc_runtime_multicast_publish(struct ftc_process *process);

void ftc_runtime_multicast_send(struct ftc_process *process, const struct ftc_output *output);

/* The next datagram. False: there is none. *payload NULL: it was one that must be ignored. */
bool ftc_runtime_multicast_receive(struct ftc_process *process, int *from,
                                   struct ftc_buffer **payload);
bool ftc_runtime_multicast_ready(struct ftc_process *process);

/* The descriptor to sleep on, armed; -1: no datagrams can come. After this call look for datagrams
 * once more before the sleep. Call it before ftc_bell_prepare(): it may change how this rank
 * sleeps, because it ends multicast here if the descriptor cannot be armed. */
int ftc_runtime_multicast_fd(struct ftc_process *process);

#endif
