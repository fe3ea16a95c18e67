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
#include "runtime/choice/choice.h"
#include "runtime/comm/snapshot.h"
#include "runtime/process/peer_memory.h"
#include "runtime/process/process.h"

struct ftc_algorithm;
struct ftc_comm_list;
struct ftc_communicator;
struct ftc_gossip_run;
struct ftc_doubling_run;
struct ftc_flow;
struct ftc_large_run;
struct ftc_levels;
struct ftc_passing;
struct ftc_queued_operation;

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

/*
 * A call that belongs to the life of the communicator, and that no caller has made: the steps of a
 * creation, a closing, an agreement of the survivors. engine.h says who runs it.
 */
enum ftc_own_stage {
    FTC_OWN_NONE,
    FTC_OWN_BY_CALLER, /* the caller of the creation runs it on the board */
    FTC_OWN_BEGINS,    /* goes by messages, and has not begun */
    FTC_OWN_UNDER_WAY,
    FTC_OWN_LEAVES, /* the closing waits until all have left the board (communicators.md, C7) */
};
struct ftc_own_call {
    enum ftc_own_stage stage;
    struct ftc_call call;
    struct ftc_request request;
    unsigned char *value; /* its result, and behind it its input */
};

enum ftc_detour {
    FTC_DETOUR_REVOKED = 1, /* this process has learnt that the communicator is revoked */
    FTC_DETOUR_QUEUE = 2,   /* operations are in the queue (queue.h) */
    /* The last report is kept: comm->finished. Set while operations that were started are under
     * way. */
    FTC_DETOUR_FINISHED = 4,
};

#define FTC_RUNS_POSTED 4 /* of requests, that are recorded together (publish.h) */

/* What ftc_last_report() needs to know of an operation. */
struct ftc_finished {
    struct ftc_member_report report; /* its sets are those below, or those of the member or board */
    struct ftc_set failed, wrong;
    struct ftc_signature signature;
    int ran; /* enum ftc_choice_id; -1: no call yet */
    int lost;
    bool paired;
};

/* A call under way that an output of the communicators ends: a creation, an agree, or a validate
 * after a revoke. */
struct ftc_started_call {
    uint64_t ticket;
    uint64_t wish; /* of a creation: the kind, and the color of a split */
    bool after;    /* it goes by agreements of the survivors */
    bool ended;
    int status;
    struct ftc_comm *child; /* NULL: this rank gets none */
    /* Of an agree: its result, and whether a rank has not recognized a failure that it names. */
    uint32_t flag;
    bool unrecognized;
};

/* A list of ranks, which has grown to as many as it has held at most. */
struct ftc_rank_list {
    int *rank, count, room;
};

struct ftc_comm {
    struct ftc_driven driven; /* the first member: the process drives the communicator by it */
    struct ftc_process *process;
    /* The table (runtime/algorithms/table.h). After a revoke: one that goes by messages alone. */
    const struct ftc_algorithm *const *algorithms;
    const struct ftc_algorithm *const *opened_algorithms; /* those that were opened */
    int rank, size;
    uint64_t parent; /* number of the communicator in which it was made; 0: the world, or a group */
    uint64_t wish;   /* by which it was made */
    uint64_t number; /* that of `driven` without the bit of a revoke: callers read it at any time */
    /* The ranks of the job that its ranks are, and the reverse (ranks.h). NULL: it is the world,
     * where the numbers are the same. */
    int *job_ranks, *rank_of;
    atomic_int busy; /* 1: a thread is in a call */
    /* Bits of enum ftc_detour: what a call has to look at before it goes its usual way. Changed
     * under the lock. */
    atomic_uint detour;
    char name[FTC_COMMUNICATOR_NAME]; /* for users; never empty */

    /* --- under process->lock --- */
    struct ftc_communicator *communicator; /* its engine; NULL: it has none (ftc_comm_setup) */
    struct ftc_comm_list *list;            /* of the engine, in which it is; NULL: in none */
    struct ftc_comm *before, *behind;      /* there */
    bool opened;                           /* its creation has ended: it may have callers */
    struct ftc_own_call own;
    struct ftc_started_call *started; /* NULL: none */
    /* The engine of its agreements of the survivors, whether it is revoked or not
     * (communicators.md, C9). NULL: there was none yet. */
    struct ftc_comm *agreements;
    /* The creation of a group, which may go on beside it (communicators.md, C11). NULL: none. */
    struct ftc_started_call *started_group;
    bool told;         /* its callers know of a revoke (communicators.md, C8) */
    bool revoked_here; /* `revoker` called ftc_comm_revoke(), and knows by that */
    pthread_t revoker;
    struct {
        struct ftc_queued_operation *first, *last;
    } queue;
    struct ftc_member *member; /* this rank's part in the agreement core */
    struct ftc_flips flips;    /* parsed from config.drill_flip */
    struct ftc_choice_job choice;
    /* The request whose call the member has, until its delivery; NULL: the member has no call. */
    struct ftc_request *deciding;
    /* What is under way in the member: `history`, or that of a request. */
    struct ftc_history *recording;
    bool moved; /* a request came to another stage since the waiting loop last looked */
    const struct ftc_passing_call *awaited; /* that the caller waits in; or NULL */
    uint64_t passing_since_ns; /* since when the slot shows a wait for a transfer; 0: it does not */
    uint32_t published_agreed; /* how many ranks of G its row in the segment names */
    uint64_t noted_ballots;    /* ftc_member_ballots() when a new ballot was last told */
    uint64_t member_due_ns;    /* timer of the member; 0: not set */
    uint64_t algorithm_due_ns; /* timer of the algorithm that needs one (gossip); 0: not set */
    bool agreeing;    /* an algorithm runs an agreement by messages, although there is a board */
    uint64_t dropped; /* damaged messages that algorithms have dropped */
    struct {
        uint64_t ballots, dropped, pieces[FTC_PIECES_KINDS];
        uint32_t rules[FTC_RULES_COUNT];
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
    struct ftc_passing
        *passing; /* sends and receives (point_to_point.h); NULL: there was none yet */

    /* --- the caller's alone: used without the lock --- */
    atomic_ullong called; /* operations that the caller has called; the slot shows it, too */
    struct ftc_snapshot snapshot; /* the sets L and G that the caller sees */
    /* Every collective goes over the board. NULL: all go by messages, or over two levels. */
    struct ftc_board *board;
    /* The memory of the board or of the two levels. NULL: in the segment; or there is none. */
    struct ftc_board_file *file;
    bool lacks_memory;          /* there should be a file, and it could not be opened here */
    bool left;                  /* this rank has given up the board, and its memory is there */
    uint64_t use;               /* of its memory, as ftc_board_file_use() counts */
    int leaver;                 /* if left: all ranks before this one have left, too, or failed */
    struct ftc_history history; /* the last blocking call */
    /* Runs of requests on the board, and that of the last one; NULL: none yet. */
    struct ftc_history posted[FTC_RUNS_POSTED], *posting;
    /* |G|, as the slot shows it for the world. Also read without the lock. */
    _Atomic uint32_t agreed_count;
    /* The thread that moves on what is under way on the board, or looks at it (mover.h); 0: none.
     * If it is not the caller, it acts in its place. */
    atomic_ulong mover;
    bool moves_locked;   /* it has process->lock; the mover's own */
    atomic_int on_board; /* how many operations are under way on the board; the mover changes it */
    atomic_bool watched; /* steps look at it: it is in the engine's list of busy ones */
    struct ftc_peers peers; /* of the board */
    struct ftc_drill
        board_drill; /* as process->drill; the board takes in failures at its own time */
    /* enum ftc_choice_id of the last call; -1: no call yet. The making of a group reads it without
     * the lock, while requests may start. */
    atomic_int ran;
    struct ftc_signature signature; /* of the last call by messages */
    /* Failures that the attempts before the last agreement of a ring have met, or a gossip. */
    int lost;
    bool shown; /* the slot shows a wait on the board, or nothing: it is updated at the return */
    uint64_t
        moves; /* the thread's: calls plus returns of the caller, as the last beat found them */

    /* Requests that were started, and that no wait or test has ended yet. */
    atomic_int requests;
    struct ftc_queued_operation *spare; /* requests to be used again (queue.h) */
    int spares;
    struct ftc_finished *finished; /* if FTC_DETOUR_FINISHED is set; NULL: no memory yet */
    struct ftc_rank_list report_failed, report_corrupt; /* that ftc_last_report() hands out */
};

static inline bool ftc_comm_is_revoked(const struct ftc_comm *comm)
{
    return (atomic_load_explicit(&comm->detour, memory_order_acquire) & FTC_DETOUR_REVOKED) != 0;
}

static inline bool ftc_comm_has_queue(const struct ftc_comm *comm)
{
    return (atomic_load_explicit(&comm->detour, memory_order_acquire) & FTC_DETOUR_QUEUE) != 0;
}

static inline void ftc_comm_detour(struct ftc_comm *comm, enum ftc_detour bit, bool on)
{
    if (on)
        atomic_fetch_or_explicit(&comm->detour, bit, memory_order_release);
    else
        atomic_fetch_and_explicit(&comm->detour, ~(unsigned)bit, memory_order_release);
}

struct ftc_comm_setup {
    uint64_t number;
    int rank, size;       /* of this process in it, and how many it has */
    const int *job_ranks; /* by rank, copied; NULL: the world */
    bool by_messages;     /* its ranks share no memory */
    bool agrees;          /* it is to run agreements of survivors */
    /* Of a part of the job: memory of a board that it takes over, and closes. NULL: it opens its
     * own, if its ranks share memory. If that fails, it is no error: comm->lacks_memory. */
    struct ftc_board_file *file;
    const struct ftc_set *agreed; /* G at first; NULL: empty */
    /* What makes and ends it (collectives/communicators/communicators.h). */
    struct ftc_communicator *communicator;
};

/* Makes a communicator, and has the process drive it. FTC_ERR_NOMEM, FTC_ERR_CONFIG,
 * FTC_ERR_SYSTEM. This function and ftc_comm_close() are called under process->lock, or while the
 * progress thread does not run. */
int ftc_comm_open(struct ftc_comm **out, struct ftc_process *process,
                  const struct ftc_comm_setup *setup,
                  const struct ftc_algorithm *const *algorithms);
/* Local. No thread may be in a call on it. */
void ftc_comm_close(struct ftc_comm *comm);

/* Under process->lock, by the thread of the caller: gives up the board, if there is one. Its memory
 * stays, for a closing (communicators.md, C7). */
void ftc_comm_give_up_board(struct ftc_comm *comm);
/* After that: has each member left it, or failed (C7)? */
bool ftc_comm_all_have_left(struct ftc_comm *comm);
/* Gives up the board with its memory. */
void ftc_comm_close_board(struct ftc_comm *comm);

/* Before the first operation: all members go without shared memory, since one lacks it. */
void ftc_comm_by_messages(struct ftc_comm *comm);

/* Makes comm->agreements, by messages, if there is none. FTC_ERR_NOMEM. */
int ftc_comm_open_agreements(struct ftc_comm *comm, const struct ftc_algorithm *const *algorithms);

/* The operations under way have ended, at whatever stage they are, and there are no more. What
 * follows goes by comm->agreements (docs/design/communicators.md, C9). FTC_ERR_NOMEM. */
int ftc_comm_cut_off(struct ftc_comm *comm);

#endif
