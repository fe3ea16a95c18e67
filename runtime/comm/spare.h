/*
 * Memory of boards that communicators have given up, and that others may take over
 * (docs/design/communicators.md, C3). A spare belongs to the parent of the one that gave it up: in
 * the next creations there the process offers it. All functions run under process->lock.
 */
#ifndef FTC_RUNTIME_COMM_SPARE_H
#define FTC_RUNTIME_COMM_SPARE_H

#include "runtime/comm/comm.h"

/* The caller of comm has left its board. Keeps its memory, if that is small. */
void ftc_spare_keep(struct ftc_comm *comm);

/* A creation in `parent` starts: the number of the communicator whose memory this process offers;
 * 0: none. That one was made by the same wish (struct ftc_started_call). */
uint64_t ftc_spare_offer(const struct ftc_comm *parent, uint64_t wish);
/* That creation has this ticket. */
void ftc_spare_offered(struct ftc_process *process, uint64_t number, uint64_t ticket);

/* The memory of communicator `number`, cleared, for a child of these members, which closes it.
 * NULL: it had others, or `number` is 0. */
struct ftc_board_file *ftc_spare_take(struct ftc_process *process, uint64_t number, int size,
                                      const int *job_ranks);

/* The creation with this ticket has ended: what it offered was taken or is dropped. */
void ftc_spare_drop_offered(struct ftc_process *process, uint64_t ticket);
/* Nothing more is created in communicator `number`. 0: in none. */
void ftc_spare_drop_of(struct ftc_process *process, uint64_t number);

#endif
