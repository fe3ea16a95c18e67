/*
 * The sends and receives of a communicator (docs/design/point-to-point.md). These functions drive
 * its matching engine: they carry its messages out, and copy from the memory of other ranks. The
 * engine is made when it is first needed. All run under process->lock.
 */
#ifndef FTC_RUNTIME_COMM_POINT_TO_POINT_H
#define FTC_RUNTIME_COMM_POINT_TO_POINT_H

#include "collectives/point_to_point/matching.h"
#include "runtime/comm/comm.h"

/* Starts a transfer. It may have ended when this returns. The owner keeps it until it has. */
void ftc_comm_start_transfer(struct ftc_comm *comm, struct ftc_transfer *transfer);
/* The same for a caller that has the lock, but has not come into the library (ftc_call_enter()),
 * which takes longer: by shared memory a message is sent at once, or when the receiver rings.
 * False: the caller has to come in, since there is more to do. *started: but the transfer is
 * started. */
bool ftc_comm_start_lightly(struct ftc_comm *comm, struct ftc_transfer *transfer, bool *started);
/* The receiver of a send is not rung where the caller waits for it (`awaited`): mostly the receiver
 * looks by itself. The caller does so before it waits for long. */
void ftc_comm_ring_receiver(struct ftc_comm *comm, const struct ftc_transfer *transfer);
/* For such a caller, too: takes in messages for a short while, until the transfer, which is under
 * way, has ended. False: it has not, or there is more to do; the caller has to come in. */
bool ftc_comm_await_lightly(struct ftc_comm *comm, const struct ftc_transfer *transfer);
/* True: it was withdrawn, and has ended. */
bool ftc_comm_cancel_transfer(struct ftc_comm *comm, struct ftc_transfer *transfer);

/* P8, for the thread of the caller: does a failure interrupt a wait for this transfer, which is
 * under way? */
bool ftc_comm_interrupts(struct ftc_comm *comm, struct ftc_transfer *transfer);

/* Can only this rank itself bring the transfer to an end, by another call? */
bool ftc_comm_waits_for_self(struct ftc_comm *comm, const struct ftc_transfer *transfer);

/* Looks for a message that a receive would take now, for the thread of the caller. 1: there is one;
 * 0: there is none; FTC_ERR_RANK_FAILED: none comes, or a failure interrupts (P8). */
int ftc_comm_probe(struct ftc_comm *comm, int from, int tag, struct ftc_envelope *found);
/* Takes the message that ftc_comm_probe() found (P13). */
struct ftc_arrival *ftc_comm_match(struct ftc_comm *comm, int from, int tag);

#endif
