/* Collective calls on the node board: what node/board/board.h asks of its host. */
#ifndef FTC_RUNTIME_NODE_BOARD_H
#define FTC_RUNTIME_NODE_BOARD_H

#include "runtime/comm.h"

/* Make comm->board, unless the job's operations go by messages. FTC_ERR_NOMEM, FTC_ERR_CONFIG: the
 * job has several nodes. */
int ftc_node_board_open(struct ftc_comm *comm);

/* Run one call; FTC_SUCCESS or FTC_ERR_ROOT_FAILED. The progress thread drives the member
 * meanwhile: no lock is held. */
int ftc_node_board_call(struct ftc_comm *comm, const struct ftc_call *call, void *receive);

#endif
