/* What is known of failures by other means than the member's own. Private to this room. */
#ifndef FTC_RUNTIME_FAILURES_H
#define FTC_RUNTIME_FAILURES_H

#include "runtime/comm.h"

/* What a decision on the board has named counts as known, too: L ⊇ G. Nothing without a board.
 * Under the lock; FTC_ERR_NOMEM. */
int ftc_failures_learn_from_board(struct ftc_comm *comm);

#endif
