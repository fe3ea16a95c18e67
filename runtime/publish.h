/* What a rank shows in its slot: for ftcoll-status, ftrun --report and --timeout, and flow
 * control. */
#ifndef FTC_RUNTIME_PUBLISH_H
#define FTC_RUNTIME_PUBLISH_H

#include "runtime/comm.h"

/* What the caller is doing, by messages or on the board. */
void ftc_publish_what(const struct ftc_comm *comm, struct ftc_member_activity *now);

/* Show it; `wait` overrides what the member says unless it is FTC_WAIT_NOTHING. */
void ftc_publish_activity(struct ftc_comm *comm, enum ftc_wait wait);
void ftc_publish_bytes(struct ftc_comm *comm, size_t bytes);
void ftc_publish_sent(struct ftc_comm *comm, enum ftc_message_kind kind, size_t bytes);
void ftc_publish_called(struct ftc_comm *comm,
                        uint64_t calls);          /* a collective was called: how many by now */
void ftc_publish_returned(struct ftc_comm *comm); /* ... and returned: counters, rules, sets */
/* ... on the board, where no clock is read but for the first result; ftc_publish_beat() makes up
 * for it. */
void ftc_publish_counted(struct ftc_comm *comm);
void ftc_publish_beat(struct ftc_comm *comm); /* the thread: since when the caller is where it is */
void ftc_publish_noticed(struct ftc_comm *comm); /* failures were taken in */

/* How decisions came by multicast, and what became of datagrams. With the lock, when whoever drives
 * the member has no more to do: not once for each datagram. */
void ftc_publish_multicast(struct ftc_comm *comm);

#endif
