/* Drives the member of a communicator: carries out its outputs, and waits. All functions run under
 * process->lock. */
#ifndef FTC_RUNTIME_COMM_DRIVE_H
#define FTC_RUNTIME_COMM_DRIVE_H

#include "runtime/comm/comm.h"

/* What the process does with a communicator. */
extern const struct ftc_driven_ops ftc_comm_ops;

/* Carries out the outputs of the member. Ends the process if it was declared failed or cannot go
 * on. */
void ftc_comm_outputs(struct ftc_comm *comm);

/* A call of it waits for a delivery: steps take in many messages. */
void ftc_comm_expect_delivery(struct ftc_comm *comm);

/* Sets the timer of the algorithm that needs one. 0 ends it. */
void ftc_comm_algorithm_due(struct ftc_comm *comm, uint64_t due_ns);

/* Tells the member of the failures that decisions on the board have named: L contains G
 * (agreement.md, Model). Does nothing without a board. FTC_ERR_NOMEM. */
int ftc_comm_learn_from_board(struct ftc_comm *comm);

/* If operations go over the board, some go beside it, by messages. Before them the member is told
 * what the board has decided; after them the board is told what they have decided. Both do nothing
 * without a board. */
void ftc_comm_leave_board(struct ftc_comm *comm);
void ftc_comm_return_to_board(struct ftc_comm *comm);

/* Begins the next operation in the member, if no settlement holds it back (agreement.md, rule 9).
 * Call it before you look at anything that depends on the view. */
bool ftc_comm_begin(struct ftc_comm *comm);

struct ftc_passing_call;

/* What a call waits for. */
struct ftc_until {
    bool (*done)(struct ftc_comm *comm, void *arg);
    void *arg;
    enum ftc_wait wait;  /* shown in the slot; FTC_WAIT_NOTHING: the member knows what it is */
    uint64_t longest_ns; /* bound of one sleep; 0: ftc_progress_sleep_ns() alone bounds it */
    const struct ftc_passing_call *passing; /* shown instead of `wait` (publish.h); or NULL */
};

/* Steps until it is done. While nothing happens it spins, then yields, then sleeps (struct
 * ftc_patience). `done` may change `wait` and `longest_ns`. True: it has slept, and the slot shows
 * what it waited for. */
bool ftc_comm_wait(struct ftc_comm *comm, const struct ftc_until *until);

#endif
