/* Failures that the member must learn from elsewhere. Only the files of runtime/ include this
 * header. */
#ifndef FTC_RUNTIME_COMM_FAILURES_H
#define FTC_RUNTIME_COMM_FAILURES_H

#include "runtime/comm/comm.h"

/* Tells the member of the failures that decisions on the board have named: L contains G
 * (agreement.md, Model). Does nothing without a board. Under the lock. FTC_ERR_NOMEM. */
int ftc_failures_learn_from_board(struct ftc_comm *comm);

#endif
