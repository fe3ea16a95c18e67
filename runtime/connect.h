/* Connecting a rank with the others: its bell, its transport, and where others find it. */
#ifndef FTC_RUNTIME_CONNECT_H
#define FTC_RUNTIME_CONNECT_H

#include "runtime/comm.h"

/* Open comm->bell and comm->transport. FTC_ERR_CONFIG: the settings leave a rank that cannot be
 * reached. FTC_ERR_SYSTEM, FTC_ERR_NOMEM. */
int ftc_connect(struct ftc_comm *comm);

/* This rank has joined: where it listens, then that it has, then those are rung who may wait for
 * it. */
void ftc_connect_announce(struct ftc_comm *comm);

#endif
