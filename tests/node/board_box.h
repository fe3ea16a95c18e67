/* The inside of the box: board_harness.c (ranks, launcher, host), board_fibers.c (scheduling),
 * board_ledger.c (right results), board_plan.c (plans). */
#ifndef FTC_TEST_BOARD_BOX_H
#define FTC_TEST_BOARD_BOX_H

#include <ucontext.h>

#include "base/set.h"
#include "node/board/board.h"
#include "tests/node/board_harness.h"
#include "tests/node/scratch.h"
#include "tests/random.h"

#define BOARD_FIBERS (BOARD_RANKS + 1)
#define BOARD_GUARD  32 /* bytes around a buffer */

enum fiber_state { FIBER_READY, FIBER_ASLEEP, FIBER_IDLE, FIBER_DEAD, FIBER_ENDED };

struct fiber {
    ucontext_t context;
    void *stack;
    enum fiber_state state;
    _Atomic uint32_t *word; /* the word that the fiber sleeps on */
    bool brief;             /* it sleeps for a millisecond at most */
    uint32_t steps;
    uint32_t priority; /* the lowest one runs first */
};

/* A rank's side of a call. */
struct actor {
    struct board_box *box;
    int rank;
    struct ftc_board *board;
    int called, returned;    /* numbers of operations */
    struct ftc_set declared; /* the declared ranks when the call began */
    unsigned char input[BOARD_SIZE];
    unsigned char output[BOARD_SIZE + 2 * BOARD_GUARD];
};

/* What the first delivery of an operation said. */
struct fact {
    bool known;
    int status;
    unsigned restarts;
    struct ftc_set failed, agreed;
    unsigned char value[BOARD_SIZE];
};

struct board_box {
    const struct board_plan *plan;
    struct board_outcome *outcome;
    struct test_random random;
    struct scratch_job job[BOARD_RANKS + 1]; /* by number of ranks, made when first used */

    ucontext_t outside;
    const void *outside_stack; /* for AddressSanitizer; NULL: not known yet */
    size_t outside_size;
    int self; /* the fiber that runs; -1: none */
    uint32_t lowest_priority;
    struct fiber fiber[BOARD_FIBERS]; /* the launcher is fiber plan->ranks */

    struct actor actor[BOARD_RANKS];
    struct ftc_set killed, declared;
    int copies;   /* copies between ranks, so far */
    bool damaged; /* the damage of the plan is done */
    struct fact fact[BOARD_LENGTH];
};

/* --- board_fibers.c --- */

void fibers_make(struct board_box *box);
void fibers_free(struct board_box *box);
/* Runs all fibers until every rank has ended or is dead, or something is broken. */
void fibers_run(struct board_box *box);
/* Called in a fiber: ends it. */
_Noreturn void fiber_leave(struct board_box *box, enum fiber_state state);
/* Called in a fiber: waits until another fiber makes this one ready. */
void fiber_wait(struct board_box *box, enum fiber_state state);
void fiber_sleep(struct board_box *box, _Atomic uint32_t *word, uint32_t expected, bool brief);
void fibers_wake(struct board_box *box, const _Atomic uint32_t *word, int count);
/* Called in a fiber: the first thing that is wrong ends the run. */
_Noreturn __attribute__((format(printf, 2, 3))) void board_violate(struct board_box *box,
                                                                   const char *format, ...);

/* --- board_harness.c --- */

void fiber_body(struct board_box *box, int fiber);
/* `rank` was killed. The launcher will see it later. */
void launcher_notice(struct board_box *box);

/* --- board_ledger.c --- */

/* Prepares the input and the buffers of the next call. Returns where the result goes. */
unsigned char *ledger_prepare(struct actor *actor, struct ftc_call *call);
void ledger_check(struct actor *actor, const unsigned char *receive, int status);

#endif
