/*
 * The board in a box. Every rank of a job is a fiber of this one process, and all are on one
 * segment. Before each touch of shared memory a scheduler decides which fiber goes on
 * (ftc_board_step()). So a rank can be stopped for ever, as SIGKILL does, between any two of its
 * stores. Each interleaving can be made again from its plan.
 *
 * The launcher is a fiber, too. Some steps after a rank was killed, never before, it declares the
 * failure and rings. Sleep has no time limit unless the plan says so: a lost wake-up ends in a
 * deadlock, which the scheduler sees. Memory is sequentially consistent here, so the fences are not
 * tested.
 *
 * A ledger checks each delivery against agreement.md: the result is the same at all ranks, every
 * input is in it entirely or not at all, only declared ranks are called failed, and the buffers are
 * untouched where nothing is delivered.
 */
#ifndef FTC_TEST_BOARD_HARNESS_H
#define FTC_TEST_BOARD_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "collectives/call.h"

#define BOARD_RANKS     40   /* most ranks of a plan */
#define BOARD_LENGTH    64   /* most operations */
#define BOARD_SIZE      2560 /* most bytes of a contribution */
#define BOARD_KILLS     4
#define BOARD_FORCED    4
#define BOARD_AHEAD     8  /* most operations that a rank has started and that have not ended */
#define BOARD_LINGERING 12 /* steps that a rank takes after it has closed its board */

struct board_operation {
    enum ftc_call_kind kind;
    uint32_t size;
    int root;         /* of a rooted operation */
    bool in_place;    /* the result replaces the input */
    bool merge;       /* the operator has its three-sided form */
    bool ordered;     /* the operator does not commute */
    bool uneven;      /* the ranks' contributions, or their slices, differ in size */
    bool started;     /* it is started, and not called, unless the board says that it cannot be */
    uint32_t element; /* bytes of an element; 0: any split is right */
};

/* A rank is killed before its `step`-th step, counted from 1; 0: never. */
struct board_kill {
    int rank;
    uint32_t step;
};

/* Before its `step`-th step a rank damages its post in `place`, and goes on. 0: never. */
enum board_harm {
    BOARD_HARM_CLEARED, /* the mark is cleared */
    BOARD_HARM_MARK,
    BOARD_HARM_AHEAD, /* the mark is of a later round in the same place */
    BOARD_HARM_VOID,  /* the mark says that survivors had settled on it */
    BOARD_HARM_SIGNATURE,
    BOARD_HARM_FINISHED, /* the count of rounds is damaged, not the post */
    BOARD_HARM_LEFT,     /* a bit of the word that says that it has left */
    BOARD_HARMS
};
struct board_damage {
    int rank;
    uint32_t step;
    unsigned place;
    enum board_harm harm;
    bool lingers; /* the step is counted from when the rank has closed its board */
};

/* Before its `op`-th operation, counted from 1, a rank closes its board; 0: never. If it revokes,
 * it does that first. */
struct board_departure {
    int rank, op;
    bool revokes;
};

/* Before step `step`, counted over all fibers, the scheduler switches to a rank or, for the number
 * of ranks, to the launcher, whatever the policy says. */
struct board_switch {
    uint32_t step;
    int to;
};

enum board_policy {
    BOARD_RUN,         /* a fiber runs until it sleeps; then the next one runs */
    BOARD_ROUND_ROBIN, /* one step each */
    BOARD_RANDOM,
    BOARD_PRIORITIES, /* random order; the first runs and sometimes becomes the last */
    BOARD_POLICIES
};

/* Copies between two ranks. */
enum board_copies {
    BOARD_COPIES_WORK,
    BOARD_COPIES_FORBIDDEN, /* odd ranks refuse */
    BOARD_COPIES_FAIL,      /* fail after some copies; the failing copy stops half-way */
    BOARD_COPIES
};

struct board_plan {
    int ranks, length;
    struct board_operation program[BOARD_LENGTH];
    int ahead[BOARD_RANKS]; /* how many operations a rank starts at most before it waits */
    struct board_kill kill[BOARD_KILLS];
    struct board_damage damage;
    struct board_switch forced[BOARD_FORCED];
    bool own_file; /* the board has a file of its own, and is closed by each rank that ends */
    struct board_departure departure;
    uint32_t revoke_step; /* at this step, counted over all fibers, another thread revokes; 0: no */
    enum board_policy policy;
    enum ftc_share share;
    int spins, yields;
    bool fenced_by_others;
    enum board_copies copies;
    int copies_made;  /* copies before they fail */
    bool time_limits; /* sleeps may end by themselves */
    uint64_t seed;    /* for what the policy leaves to chance */
};

struct board_outcome {
    bool broken;
    char words[256];             /* how it is broken */
    uint32_t steps;              /* steps of all fibers */
    uint32_t taken[BOARD_RANKS]; /* steps of each rank */
    unsigned restarts;           /* restarts of large operations */
    unsigned taken_again;        /* of these, restarts of operations whose values stay apart */
    unsigned unnamed;            /* broadcasts that failed with their root */
    bool asleep;                 /* some rank slept */
    int copies;                  /* copies between the memories of ranks */
    unsigned forced;             /* switches that the plan forced */
    unsigned ahead;              /* operations that were started behind another one */
    unsigned revoked;            /* calls that a revoke ended */
    bool mismatch;               /* it was found that a rank had left early, which ends the run */
};

/* Runs plans. It owns the fibers and segments that they run on. Fails the test on error. */
struct board_box;
struct board_box *board_box_make(void);
void board_box_free(struct board_box *box);

/* The same plan has the same outcome. */
void board_box_run(struct board_box *box, const struct board_plan *plan,
                   struct board_outcome *outcome);

/* Makes a plan from a seed. */
void board_plan_random(struct board_plan *plan, uint64_t seed);
/* Describes a plan for a reader: ranks, program, kills. */
#define BOARD_WORDS 4096
const char *board_plan_words(const struct board_plan *plan, char words[BOARD_WORDS]);

#endif
