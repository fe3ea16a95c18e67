/* The inside of the box: board_harness.c (ranks, launcher, host), board_fibers.c (scheduling),
 * board_values.c (inputs and results), board_ledger.c (whether results are right), board_plan.c
 * (plans). */
#ifndef FTC_TEST_BOARD_BOX_H
#define FTC_TEST_BOARD_BOX_H

#include <ucontext.h>

#include "base/set.h"
#include "node/board/board.h"
#include "node/segment/board_memory.h"
#include "tests/node/board_harness.h"
#include "tests/node/scratch.h"
#include "tests/random.h"

#define BOARD_FIBERS (BOARD_RANKS + 1)
#define BOARD_GUARD  32                                         /* bytes around a buffer */
#define BOARD_RESULT (BOARD_RANKS * (BOARD_SIZE + BOARD_GUARD)) /* most bytes of a result */

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

/* A rank's side of an operation. */
struct part {
    struct actor *actor;
    int op;
    struct ftc_call call;
    struct ftc_board_operation operation; /* if it is started, and not called */
    struct ftc_set declared;              /* the declared ranks when it was started */
    unsigned char input[BOARD_SIZE];
    unsigned char output[BOARD_RESULT + 2 * BOARD_GUARD];
    bool begins; /* the next contribution that counts is the first one */
};

struct actor {
    struct board_box *box;
    int rank;
    struct ftc_board *board;
    int called, returned; /* numbers of operations */
    struct part
        part[BOARD_AHEAD + 1]; /* of the operations that have not ended, and of the next one */
    bool calls;                /* a call is under way, so others may touch its buffers */
    uint32_t closed;           /* its steps when it had closed its board; 0: it has not */
};

static inline struct part *part_of(const struct actor *actor, int op)
{
    return (struct part *)&actor->part[op % (BOARD_AHEAD + 1)];
}

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
    struct ftc_board_file *file[BOARD_RANKS + 1];
    struct ftc_board_memory memory; /* of the board that the plan uses */
    struct ftc_board *thread;       /* with which the launcher revokes, as another thread would */
    bool revoked;                   /* somebody has begun to revoke */
    bool must_revoke;               /* the launcher has to */
    bool stopping;                  /* the run is over */

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
    unsigned char expected[BOARD_RESULT];
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
/* Called in a fiber: ends the run. */
_Noreturn void fibers_end(struct board_box *box);
/* Called in a fiber: the first thing that is wrong ends the run. */
_Noreturn __attribute__((format(printf, 2, 3))) void board_violate(struct board_box *box,
                                                                   const char *format, ...);

/* --- board_harness.c --- */

void fiber_body(struct board_box *box, int fiber);
/* `rank` was killed. The launcher will see it later. */
void launcher_notice(struct board_box *box);

/* --- board_values.c --- */

/* Bytes of the buffer of a result. */
size_t values_extent(const struct board_operation *o, int ranks);
/* Fills in the buffers and the call. Returns where the result goes; NULL: nowhere. */
unsigned char *values_prepare(struct part *part);
/* The buffer of the result as it is before the operation. */
void values_before(const struct actor *actor, int op, unsigned char *receive);
/* The same after it, without the contributions of `missing`. folded: what values_fold() made of all
 * ranks but these; NULL: of a call that has no such value. */
void values_after(const struct actor *actor, int op, const struct ftc_set *missing,
                  const unsigned char *folded, unsigned char *receive);
/* Folds the inputs of the ranks before `end` that are not missing. False: there are none. */
bool values_fold(const struct board_box *box, int op, const struct ftc_set *missing, int end,
                 unsigned char *value);
/* Is the input of a call that does not replace it as it was? */
bool values_input_is_kept(const struct actor *actor, int op);

/* --- board_ledger.c --- */

/* Prepares the input, the buffers and the call of this rank's next operation. */
struct part *ledger_prepare(struct actor *actor, unsigned char **receive);
/* The next operation that this rank waits for is delivered. */
void ledger_check(struct actor *actor, int status);
/* Checks what an operation left that a revoke has ended. */
void ledger_check_revoked(struct actor *actor);

#endif
