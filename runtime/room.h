/* Flow control: plain reduces and broadcasts do not wait for their receivers (agreement.md, "plain
 * reduce": it may delay the start of a later op). All under comm->lock. */
#ifndef FTC_RUNTIME_ROOM_H
#define FTC_RUNTIME_ROOM_H

#include "runtime/comm.h"

int ftc_room_open(struct ftc_comm *comm); /* FTC_ERR_NOMEM */
void ftc_room_close(struct ftc_comm *comm);

/* Before a call: until its receivers are near enough. */
void ftc_room_wait(struct ftc_comm *comm, const struct ftc_call *call);

/* Tell those who have asked how far this rank is: after a call, and after messages. */
void ftc_room_answer(struct ftc_comm *comm);

#endif
