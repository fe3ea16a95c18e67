/*
 * The node board: ranks that share a node decide their collective operations in shared memory
 * (agreement.md, "Node board"). A process has one object for each communicator. The object is not
 * thread-safe, and its calls block.
 *
 * The board calls its host for everything that it cannot do by itself. In a job the host is the
 * runtime, in tests a harness.
 */
#ifndef FTC_NODE_BOARD_BOARD_H
#define FTC_NODE_BOARD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/set.h"
#include "base/settings.h"
#include "collectives/call.h"
#include "node/segment/board_file.h"
#include "node/segment/segment.h"

struct ftc_board;

/* The points at which a drill may end the process. The host has numbers of its own for them
 * (runtime/process/drill.h). */
enum ftc_board_point {
    FTC_BOARD_POSTED, /* this rank has set its mark */
    /* A started operation is decided, and its result is copied out. A call returns then. */
    FTC_BOARD_DELIVERED,
};

enum ftc_board_copied {
    FTC_COPIED,
    FTC_NOBODY_THERE, /* the process is gone; a part may have been copied */
    FTC_COPY_DENIED   /* it is not allowed, or an address is bad; a part may have been copied */
};

struct ftc_board_host {
    void *arg;
    /* Failures were declared since the last look. The host calls ftc_board_take_failures(), now or
     * later. In a process that was itself declared failed this does not return. */
    void (*look)(void *arg);
    /* True: this rank has spun and yielded, and is about to sleep. False: it is awake again. The
     * host shows this in the activity of the rank. */
    void (*asleep)(void *arg, bool asleep);
    /* `rank` posted another call for this round, or has left (FTC_CALL_CLOSE), so the job cannot go
     * on. Does not return. */
    void (*mismatch)(void *arg, int rank, const struct ftc_signature *theirs);
    /* `rank` has damaged its post or its offer, and must be fenced. */
    void (*accuse)(void *arg, int rank, const char *what);
    /* This process cannot go on, because a word that it wrote, or that it must read, was damaged.
     * Does not return. */
    void (*damaged)(void *arg, const char *what);
    /* Memory is exhausted, or /dev/shm is full; ftc_last_error() has the text. Does not return. */
    void (*exhausted)(void *arg, int error);
    /* This rank has come to `point`. */
    void (*pass)(void *arg, enum ftc_board_point point);

    /* Copies between the memories of this process and of `rank`. allow_copies: are copies allowed
     * in both directions, as far as this process knows? copy_from, copy_to: make one. `address` is
     * in the other process, and is unchecked. */
    bool (*allow_copies)(void *arg, int rank);
    enum ftc_board_copied (*copy_from)(void *arg, int rank, void *to, uint64_t address,
                                       size_t size);
    enum ftc_board_copied (*copy_to)(void *arg, int rank, uint64_t address, const void *from,
                                     size_t size);

    /* Sleep on a shared word, and wake its sleepers, by futex(2). False: the time was over. */
    bool (*sleep)(void *arg, _Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
    void (*wake)(void *arg, _Atomic uint32_t *word, int count);
    /* Make a full fence on every processor that runs a thread of the job, by membarrier(2). True if
     * it was made. */
    bool (*fence_all)(void *arg);
};

struct ftc_board_setup {
    struct ftc_segment *segment;
    /* The board of a communicator of some ranks of the node: its memory, their number, and for each
     * rank of the job its rank in the communicator, or -1. They must live as long as the board.
     * file NULL: the board of the segment, for all ranks of the job, whose numbers are the same. */
    struct ftc_board_file *file;
    int ranks;
    const int *rank_of;
    uint64_t communicator; /* its number; part of the check in each post */
    int rank;
    enum ftc_share share;
    int spins, yields;   /* looks while spinning, and while yielding, before a sleep */
    uint64_t longest_ns; /* limit of one sleep */
    /* Sleep is rare, so the sleeper makes the fences for all (wait.c). Alike at all ranks. */
    bool light;
    bool fenced_by_others; /* fence_all() of others reaches this process: it may omit fences */
    struct ftc_board_host host;
};

/* FTC_ERR_NOMEM. */
int ftc_board_open(struct ftc_board **out, const struct ftc_board_setup *setup);
/* A rank that closes a board with a file of its own gives the communicator up: others that wait for
 * it there find that they called different operations. If it knows that the communicator was
 * revoked, it calls ftc_board_revoke() before. Call this while the file is open, and not during a
 * call. NULL is legal. */
void ftc_board_close(struct ftc_board *board);

/* Revoke the communicator: at every rank a call that is under way and waits ends soon with
 * FTC_ERR_REVOKED. One that need not wait may still succeed. Any thread may call this while the
 * board is open, during a call of another thread, too, and any number of times. `failed`: the ranks
 * that this process knows to have failed. */
void ftc_board_revoke(struct ftc_board *board, const struct ftc_set *failed);

/*
 * Run one collective call. Blocks until this rank has the result, which goes to `receive`. NULL:
 * this rank wants no result. `receive` may be the input of the call. Returns FTC_SUCCESS, or
 * FTC_ERR_ROOT_FAILED; `receive` is then unchanged. Or FTC_ERR_REVOKED; `receive` is then
 * undefined, the ranks touch it no more, and this is the last call: after it the board may be
 * looked into, checked, revoked and closed.
 */
int ftc_board_call(struct ftc_board *board, const struct ftc_call *call, void *receive);

/*
 * Operations that are started. They end one after the other, in the order of their start. Each
 * takes one round, and this rank posts for it as soon as there is room. All ranks must start the
 * same operations: a call does not match one that is started. No call may be made while any is
 * left.
 */
struct ftc_board_operation {
    const struct ftc_call
        *call; /* as for ftc_board_call(); kept until the end, as the buffers are */
    void *receive;
    int status; /* once it has ended: what ftc_board_call() would have returned */
    /* The board's own. */
    struct ftc_board_operation *next;
    struct ftc_signature mine;
    uint64_t check;
};

/* Can this call be started? The answer is alike at all ranks, whatever was decided. If not, make
 * the call. */
bool ftc_board_may_start(const struct ftc_board *board, const struct ftc_call *call);
/* The caller fills in `call` and `receive`. Does not wait. */
void ftc_board_start(struct ftc_board *board, struct ftc_board_operation *operation);
/* Do what can be done without waiting. Returns an operation that has ended, of which
 * ftc_board_report() tells until the next call; NULL: there is none. After a revoke all end with
 * FTC_ERR_REVOKED, and no call may be made. A caller that waits elsewhere calls
 * ftc_board_check_own(), too. */
struct ftc_board_operation *ftc_board_advance(struct ftc_board *board);
/* The first one, which is under way. NULL: there is none. */
struct ftc_board_operation *ftc_board_under_way(const struct ftc_board *board);
/* As ftc_board_advance(), but wait until the first one has ended. NULL: there is none. */
struct ftc_board_operation *ftc_board_wait(struct ftc_board *board);

/* Check this rank's own marks and its own word finished. If they were damaged, others would wait
 * for this rank for ever. The board checks them before each sleep of its own; a rank that sleeps
 * elsewhere calls this before. */
void ftc_board_check_own(struct ftc_board *board);

/* Operations were decided by other means than the board, alike at all ranks, with `failed` as the
 * failed set (agreement.md, rule 5). The next operation has number `op`. Call this only between two
 * calls. */
void ftc_board_decided(struct ftc_board *board, uint64_t op, const struct ftc_set *failed);

/* Take in the failures that were declared since the last time: L grows. */
void ftc_board_take_failures(struct ftc_board *board);

/* --- looking in --- */

enum ftc_board_wait {
    FTC_BOARD_WAITS_NOT,
    FTC_BOARD_WAITS_POST,
    FTC_BOARD_WAITS_STARTED, /* for the post of an operation that was started */
    FTC_BOARD_WAITS_RESULT,
    FTC_BOARD_WAITS_ROOM
};

struct ftc_board_activity {
    const struct ftc_signature *signature; /* NULL: no call under way */
    uint64_t op;                           /* number of the call under way, else of the next one */
    enum ftc_board_wait wait;
    int waits_for; /* the lowest rank that it waits for; -1: none */
    int waits;     /* how many ranks it waits for */
};
void ftc_board_activity(const struct ftc_board *board, struct ftc_board_activity *activity);

uint64_t ftc_board_operations(const struct ftc_board *board);          /* how many were called */
const struct ftc_set *ftc_board_agreed(const struct ftc_board *board); /* G */
const struct ftc_set *ftc_board_known(const struct ftc_board *board);  /* L */
/* The failed set of the call that returned last. */
const struct ftc_set *ftc_board_failed(const struct ftc_board *board);

/* A report of the call that returned last. */
struct ftc_board_report {
    const struct ftc_set *failed; /* the failed set of the decision */
    unsigned starts;              /* 0: the call took no round, because its root was in G */
    unsigned restarts;            /* how often a large operation began again after a death */
    unsigned write_offs;          /* members that were missing in it */
    struct ftc_signature signature;
    bool paired; /* it went by copies between two memories ("Pairs") */
};
void ftc_board_report(const struct ftc_board *board, struct ftc_board_report *report);

/* Has this rank used small buffers alone? */
bool ftc_board_is_small(const struct ftc_board *board);

/* Increment every bell, then wake every sleeper (agreement.md, "Waking"). The launcher calls this
 * after a declaration, for the board of the segment. */
void ftc_board_ring_all(struct ftc_segment *segment);
/* The same for a board of a file of its own. The launcher does not know it. So each process that
 * has it open calls this when it learns of a declaration, with the ranks that it knows to have
 * failed. Any thread may. */
void ftc_board_ring_own(const struct ftc_board_file *file, int ranks, const struct ftc_set *failed);

#endif
