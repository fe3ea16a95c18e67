/*
 * The node board: collective operations of ranks that share a node, decided in shared memory
 * (agreement.md, "Node board"). One object per process and communicator; not thread-safe, and its
 * calls block.
 *
 * What it cannot know by itself it asks its host: the runtime in a job, a harness in tests.
 */
#ifndef FTC_NODE_BOARD_BOARD_H
#define FTC_NODE_BOARD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/set.h"
#include "base/settings.h"
#include "collectives/call.h"
#include "node/segment/segment.h"

struct ftc_board;

/* Where a test may end the process; the numbers are the host's own (runtime/drill.h). */
enum ftc_board_point {
    FTC_BOARD_POSTED,    /* the mark is set */
    FTC_BOARD_DELIVERED, /* the operation is decided and copied out */
};

struct ftc_board_host {
    void *arg;
    /* Failures were declared since the last look: call ftc_board_take_failures(), now or later.
     * Does not return in a process that was declared failed itself. */
    void (*look)(void *arg);
    /* About to sleep, after spinning and yielding; and back. For what a rank shows of itself. */
    void (*asleep)(void *arg, bool asleep);
    /* `rank` posted another call for this round: the job cannot go on. Does not return. */
    void (*mismatch)(void *arg, int rank, const struct ftc_signature *theirs);
    /* `rank` has damaged its post or its offer, and is to be fenced. Once for each rank. */
    void (*accuse)(void *arg, int rank, const char *what);
    /* This process cannot go on: a word that it wrote itself was damaged, or one that it must read.
     * Does not return. */
    void (*damaged)(void *arg, const char *what);
    /* No memory, or /dev/shm is full (ftc_last_error() says so). Does not return. */
    void (*exhausted)(void *arg, int error);
    void (*pass)(void *arg, enum ftc_board_point point);

    /* Copies between this process and `rank`'s: may they be made, both ways, as far as this side
     * knows; and make one. False if they may not, or could not be made whole. `address` is of the
     * other process, and unchecked. */
    bool (*allow_copies)(void *arg, int rank);
    bool (*copy_from)(void *arg, int rank, void *to, uint64_t address, size_t size);
    bool (*copy_to)(void *arg, int rank, uint64_t address, const void *from, size_t size);

    /* The system: futex(2) on a shared word, membarrier(2). */
    void (*sleep)(void *arg, _Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
    void (*wake)(void *arg, _Atomic uint32_t *word, int count);
    /* A full fence on every processor that runs a thread of the job: true if it was made. */
    bool (*fence_all)(void *arg);
};

struct ftc_board_setup {
    struct ftc_segment *segment;
    int rank;
    enum ftc_share share;
    int spins, yields;     /* looks before the next way of waiting */
    uint64_t longest_ns;   /* of one sleep */
    bool light;            /* sleep is rare: the sleeper fences for all, the same at all ranks */
    bool fenced_by_others; /* this process may leave out fences: fence_all() of others reaches it */
    struct ftc_board_host host;
};

/* FTC_ERR_NOMEM. close(NULL) is legal. */
int ftc_board_open(struct ftc_board **out, const struct ftc_board_setup *setup);
void ftc_board_close(struct ftc_board *board);

/*
 * Run one collective call; the result goes to `receive` (NULL: nowhere), which may be the call's
 * input. Returns FTC_SUCCESS or FTC_ERR_ROOT_FAILED (`receive` is then as it was). Blocks until
 * this rank has the result.
 */
int ftc_board_call(struct ftc_board *board, const struct ftc_call *call, void *receive);

/* A rank whose own marks were damaged would be waited for. It looks at them before it sleeps on the
 * board, and by this before it sleeps elsewhere. */
void ftc_board_check_own(struct ftc_board *board);

/* Operations were decided by other means, with these failed (agreement.md, rule 5), alike at all
 * ranks; the next one is number `op`. Between two calls. */
void ftc_board_decided(struct ftc_board *board, uint64_t op, const struct ftc_set *failed);

/* Take in what was declared since: L grows. */
void ftc_board_take_failures(struct ftc_board *board);

/* --- looking in --- */

enum ftc_board_wait {
    FTC_BOARD_WAITS_NOT,
    FTC_BOARD_WAITS_POST,
    FTC_BOARD_WAITS_RESULT,
    FTC_BOARD_WAITS_ROOM
};

struct ftc_board_activity {
    const struct ftc_signature *signature; /* NULL: no call under way */
    uint64_t op;                           /* its number */
    enum ftc_board_wait wait;
    int waits_for; /* lowest rank, -1: none */
    int waits;     /* how many */
};
void ftc_board_activity(const struct ftc_board *board, struct ftc_board_activity *activity);

uint64_t ftc_board_operations(const struct ftc_board *board);          /* called */
const struct ftc_set *ftc_board_agreed(const struct ftc_board *board); /* G */
const struct ftc_set *ftc_board_known(const struct ftc_board *board);  /* L */

/* Of the call that returned last. */
struct ftc_board_report {
    const struct ftc_set *failed; /* of the decision */
    unsigned starts;              /* 0: it took no round, for its root was in G */
    unsigned restarts;            /* of a large operation, because a rank died in it */
};
void ftc_board_report(const struct ftc_board *board, struct ftc_board_report *report);

/* After a declaration: bump every bell, then wake every sleeper (agreement.md, "Waking"). The
 * launcher. */
void ftc_board_ring_all(struct ftc_segment *segment);

#endif
