/*
 * A communicator at run time: its member in the agreement core, its algorithms, its board, and what
 * the caller can ask of it. And a request: one operation of a communicator, from its call to its
 * result. Only the files of runtime/ include this header.
 */
#ifndef FTC_RUNTIME_COMM_COMM_H
#define FTC_RUNTIME_COMM_COMM_H

#include "collectives/agreement/member.h"
#include "collectives/values/flip.h"
#include "node/board/board.h"
#include "node/segment/history.h"
#include "runtime/choice/choice.h"
#include "runtime/comm/snapshot.h"
#include "runtime/process/peer_memory.h"
#include "runtime/process/process.h"

struct ftc_algorithm;
struct ftc_gossip_run;
struct ftc_doubling_run;
struct ftc_flow;
struct ftc_large_run;
struct ftc_levels;

/* Flow control (flow_control.h): a sender may be so many operations ahead of a receiver. */
#define FTC_OPERATIONS_AHEAD 64

/*
 * One operation of a communicator. The caller owns it. ftc_request_start() begins it, and
 * ftc_request_advance() moves it on and says when it is done; neither waits. An algorithm may run
 * requests of its own in it, such as an agreement that commits what it has done.
 */
struct ftc_request {
    const struct ftc_call *call;
    void *receive;                         /* where its value goes; NULL: nowhere */
    const struct ftc_algorithm *algorithm; /* what runs it */
    int status;                            /* its result, once it is done */
    int stage;                             /* the algorithm's own; 0: it has not begun */
    bool wants_room;                       /* it waits until flow control lets it begin */
    bool decided;                          /* the member has delivered its call */
};

struct ftc_comm {
    struct ftc_driven driven; /* the first member: the process drives the communicator by it */
    struct ftc_process *process;
    const struct ftc_algorithm *const *algorithms; /* the table (runtime/algorithms/table.h) */
    int rank, size;
    /* The ranks of the job that its ranks are, and the reverse (ranks.h). NULL: it is the world,
     * where the numbers are the same. */
    int *job_ranks, *rank_of;
    atomic_int busy; /* 1: a thread is in a call */

    /* --- under process->lock --- */
    struct ftc_member *member; /* this rank's part in the agreement core */
    struct ftc_flips flips;    /* parsed from config.drill_flip */
    struct ftc_choice_job choice;
    /* The request whose call the member has, until its delivery; NULL: the member has no call. */
    struct ftc_request *deciding;
    bool moved;             /* a request came to another stage since the waiting loop last looked */
    uint64_t noted_ballots; /* ftc_member_ballots() when a new ballot was last told */
    uint64_t member_due_ns; /* timer of the member; 0: not set */
    uint64_t algorithm_due_ns; /* timer of the algorithm that needs one (gossip); 0: not set */
    bool agreeing;    /* an algorithm runs an agreement by messages, although there is a board */
    uint64_t dropped; /* damaged messages that algorithms have dropped */
    struct {
        uint64_t ballots, dropped, rules[FTC_RULES_COUNT], pieces[FTC_PIECES_KINDS];
    } counted; /* what of this communicator is in the counters of the slot */
    /* Entry k % FTC_OPERATIONS_AHEAD is the size of operation k, or 0 if no rank can be ahead in
     * operations of its kind. */
    uint64_t bytes_of[FTC_OPERATIONS_AHEAD];
    uint64_t bytes_ahead; /* sum of bytes_of */
    /* What the algorithms have here. All are NULL if the process is alone. */
    struct ftc_gossip_run *gossip;
    struct ftc_doubling_run *doubling; /* only in a library for measurements */
    struct ftc_flow *flow;             /* NULL: the job has one node */
    struct ftc_large_run *large;
    struct ftc_levels *levels; /* NULL: no operation runs over two levels */

    /* --- the caller's alone: used without the lock --- */
    atomic_ullong called; /* operations that the caller has called; the slot shows it, too */
    struct ftc_snapshot snapshot; /* the sets L and G that the caller sees */
    /* Every collective goes over the board. NULL: all go by messages. */
    struct ftc_board *board;
    struct ftc_board_file *file; /* its memory; NULL: in the segment */
    struct ftc_history history;  /* its last operations; nothing is recorded of a part of the job */
    struct ftc_peer peer;        /* of the board */
    struct ftc_drill
        board_drill; /* as process->drill; the board takes in failures at its own time */
    int ran;         /* enum ftc_choice_id of the last call; -1: no call yet */
    struct ftc_signature signature; /* of the last call by messages */
    /* Failures that the attempts before the last agreement of a ring have met, or a gossip. */
    int lost;
    bool shown; /* the slot shows a wait on the board, or nothing: it is updated at the return */
    uint64_t
        moves; /* the thread's: calls plus returns of the caller, as the last beat found them */

    /* What ftc_last_report() hands out. The arrays have `size` entries. */
    int *report_failed, *report_corrupt;
    int report_count, report_corrupt_count;
};

struct ftc_comm_setup {
    uint64_t number;
    int rank, size;       /* of this process in it, and how many it has */
    const int *job_ranks; /* by rank, copied; NULL: the world */
    /* Of a part of the job: the memory of its board, which the communicator closes. NULL: it has
     * no board. */
    struct ftc_board_file *file;
};

/* Makes a communicator, and has the process drive it. FTC_ERR_NOMEM, FTC_ERR_CONFIG,
 * FTC_ERR_SYSTEM. This function and ftc_comm_close() are called under process->lock, or while the
 * progress thread does not run. */
int ftc_comm_open(struct ftc_comm **out, struct ftc_process *process,
                  const struct ftc_comm_setup *setup,
                  const struct ftc_algorithm *const *algorithms);
/* Local. No thread may be in a call on it. */
void ftc_comm_close(struct ftc_comm *comm);

#endif
