/* What a rank shows in its slot: for ftcoll-status, ftrun --report and --timeout, and flow control. */
#ifndef FTC_RUNTIME_PUBLISH_H
#define FTC_RUNTIME_PUBLISH_H

#include "runtime/comm.h"

/* What it is doing; `wait` overrides what the member says unless it is FTC_WAIT_NOTHING. */
void ftc_publish_activity(struct ftc_comm *comm, enum ftc_wait wait);
void ftc_publish_sent(struct ftc_comm *comm, enum ftc_message_kind kind, size_t bytes);
void ftc_publish_called(struct ftc_comm *comm);   /* a collective was called */
void ftc_publish_returned(struct ftc_comm *comm); /* ... and returned: counters, rules, sets */
void ftc_publish_noticed(struct ftc_comm *comm);  /* failures were taken in */

#endif
