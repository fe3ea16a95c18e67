/* What a rank shows in its slot. Its readers are ftcoll-status, ftrun --report and --timeout, and
 * flow control. */
#ifndef FTC_RUNTIME_COMM_PUBLISH_H
#define FTC_RUNTIME_COMM_PUBLISH_H

#include "collectives/point_to_point/matching.h"
#include "runtime/comm/comm.h"

/* Fills *now with what the caller is doing, by messages or on the board. */
void ftc_publish_what(const struct ftc_comm *comm, struct ftc_member_activity *now);

/* Shows what the caller is doing. `wait` replaces what ftc_publish_what() says the caller waits
 * for, unless it is FTC_WAIT_NOTHING. */
void ftc_publish_activity(struct ftc_comm *comm, enum ftc_wait wait);

/* A call that waits for transfers: a send, a receive, a probe, or a wait for such requests. */
struct ftc_passing_call {
    int kind; /* enum ftc_history_kind */
    /* One, or a send and the receive behind it. NULL: any of `count` requests. */
    const struct ftc_transfer *transfer;
    int count;
};
/* The rank of the communicator that is awaited in it; -1: any, or several. */
int ftc_passing_awaits(const struct ftc_passing_call *call);
/* Shows what the caller waits for in such a call. The first time the call gets its entry in the
 * history. */
void ftc_publish_passing(struct ftc_comm *comm, const struct ftc_passing_call *call);
/* A call that was shown so returns. Without the lock. */
void ftc_publish_passed(struct ftc_comm *comm, int status);
/* The caller has returned from a wait on the board that was shown (comm->shown). Without the lock,
 * since another thread may show what it does in another communicator. */
void ftc_publish_shown(struct ftc_comm *comm);
/* A message was sent that is of no kind of the agreement core: counts its bytes only. */
void ftc_publish_bytes(struct ftc_comm *comm, size_t bytes);
/* A message of this kind was sent. */
void ftc_publish_sent(struct ftc_comm *comm, enum ftc_message_kind kind, size_t bytes);
/* The last call runs by this algorithm (enum ftc_choice_id). */
static inline void ftc_publish_ran(struct ftc_comm *comm, int id)
{
    if (atomic_load_explicit(&comm->ran, memory_order_relaxed) == id)
        return;
    atomic_store_explicit(&comm->ran, id, memory_order_relaxed);
    if (!comm->process->alone)
        atomic_store_explicit(&comm->process->slot->activity.algorithm, (uint32_t)id + 1,
                              memory_order_relaxed);
}

/* The call waits for requests that were started before it: it gets an entry, and its number is not
 * known yet. */
void ftc_publish_queued(struct ftc_comm *comm);
/* Gives a call of which the board knows nothing yet an entry of its own in the history, if there is
 * one, or the number if it has an entry. All calls by messages get their entry so. */
void ftc_publish_record(struct ftc_comm *comm);
/* The same for a call on the board, unless it has an entry. Such calls are so fast that a time for
 * each costs much, so a run of them may follow. */
void ftc_publish_board_record(struct ftc_comm *comm);
/* Does the call on the board that is under way belong to a run? */
static inline bool ftc_publish_continues(const struct ftc_comm *comm)
{
    return ftc_history_continues(&comm->history,
                                 atomic_load_explicit(&comm->called, memory_order_relaxed) - 1);
}
/* The same, unless the call belongs to a run. */
static inline void ftc_publish_recorded(struct ftc_comm *comm)
{
    struct ftc_history *history = &comm->history;

    if (history->call == NULL)
        return;
    if (ftc_publish_continues(comm))
        ftc_history_continued(history, atomic_load_explicit(&comm->called, memory_order_relaxed));
    else
        ftc_publish_board_record(comm);
}
/* Enters the return of a call. */
void ftc_publish_result(struct ftc_comm *comm, int status);
/* The same, unless the call belongs to a run, and nothing is new. */
static inline void ftc_publish_resulted(struct ftc_comm *comm, int status)
{
    struct ftc_history *history = &comm->history;
    uint32_t failed = atomic_load_explicit(&comm->agreed_count, memory_order_relaxed);

    if (history->call != NULL && status == 0 && history->outcome >> 16 == failed &&
        ftc_publish_continues(comm)) {
        history->call = NULL;
        ftc_history_continued_to(history,
                                 atomic_load_explicit(&comm->called, memory_order_relaxed));
    } else {
        ftc_publish_result(comm, status);
    }
}
/* A call that has done its work and takes no time, such as a free, is recorded. */
void ftc_publish_done(struct ftc_comm *comm, const struct ftc_signature *signature);

/* A request is started, and is not on the board. `signature` says what it calls. */
void ftc_publish_request(struct ftc_comm *comm, struct ftc_queued_operation *operation,
                         const struct ftc_signature *signature);
/* With the lock: it begins, it has ended. And it is given to its caller. */
void ftc_publish_request_begins(struct ftc_comm *comm, struct ftc_history *history);
void ftc_publish_request_ends(struct ftc_comm *comm, struct ftc_history *history);
/* On the board, without the lock: it is posted, and it has ended. Like requests that follow each
 * other without a pause are recorded together. */
void ftc_publish_request_posted(struct ftc_comm *comm, struct ftc_queued_operation *operation);
void ftc_publish_request_decided(struct ftc_comm *comm, struct ftc_queued_operation *operation);
void ftc_publish_request_given(struct ftc_comm *comm, struct ftc_queued_operation *operation,
                               int status);
void ftc_publish_ballot(struct ftc_comm *comm, const struct ftc_epoch *entered);

/* A collective was called; `calls` is the number of collectives that were called by now. */
void ftc_publish_called(struct ftc_comm *comm, uint64_t calls);
/* A collective returned: shows the counters, the rules that were used, and the sets L and G. */
void ftc_publish_returned(struct ftc_comm *comm);
/* A collective returned from the board. The clock is read for the first result only: instead the
 * thread calls ftc_publish_beat(), which shows since when the caller is where it is. */
void ftc_publish_counted(struct ftc_comm *comm);
void ftc_publish_beat(struct ftc_comm *comm);
void ftc_publish_noticed(struct ftc_comm *comm); /* failures were taken in */

/* Shows how decisions came by multicast, and the counters of datagrams. With the lock. To be called
 * when the holder of the lock has nothing more to do, and not for each datagram. */
void ftc_publish_multicast(struct ftc_comm *comm);

#endif
