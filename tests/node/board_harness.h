/*
 * The board in a box: every rank of a job is a fiber of this one process, all on one segment, and
 * before each touch of shared memory a scheduler decides who goes on (ftc_board_step()). So a rank
 * can be stopped for ever, as SIGKILL does, between any two of its stores, and each interleaving
 * can be made again from its plan.
 *
 * The launcher is a fiber too: some steps after a rank was killed, never before, it declares the
 * failure and rings. Sleep has no time limit unless the plan says so: a lost wake-up ends in a
 * deadlock, which is seen. Memory is sequentially consistent here: the fences are not tested.
 *
 * A ledger checks each delivery against agreement.md: the same result at all, every input in it
 * entirely or not at all, nobody called failed but the declared, the buffers untouched where
 * nothing is delivered.
 */
#ifndef FTC_TEST_BOARD_HARNESS_H
#define FTC_TEST_BOARD_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"
#include "collectives/call.h"

#define BOARD_RANKS  40   /* most ranks of a plan */
#define BOARD_LENGTH 64   /* most operations */
#define BOARD_SIZE   2560 /* most bytes of a value */
#define BOARD_KILLS  4
#define BOARD_FORCED 4

struct board_operation {
    enum ftc_call_kind kind;
    uint32_t size;
    int root;      /* of a broadcast or reduce */
    bool in_place; /* the result goes where the input is */
    bool merge;    /* the operator has its three-sided form */
};

/* Before its `step`-th step, from 1; 0: never. */
struct board_kill {
    int rank;
    uint32_t step;
};

/* Before its `step`-th step a rank damages its post in that place, and goes on. 0: never. */
enum board_harm {
    BOARD_HARM_CLEARED, /* the mark */
    BOARD_HARM_MARK,
    BOARD_HARM_AHEAD, /* a mark of a later round in the same place */
    BOARD_HARM_VOID,  /* as if survivors had settled on it */
    BOARD_HARM_SIGNATURE,
    BOARD_HARM_FINISHED, /* not the post: its count of rounds */
    BOARD_HARMS
};
struct board_damage {
    int rank;
    uint32_t step;
    unsigned place;
    enum board_harm harm;
};

/* Before the `step`-th step of all, whatever the policy says; to a rank, or to the launcher: the
 * number of ranks. */
struct board_switch {
    uint32_t step;
    int to;
};

enum board_policy {
    BOARD_RUN,         /* who runs goes on until it sleeps; then the next one */
    BOARD_ROUND_ROBIN, /* a step each */
    BOARD_RANDOM,
    BOARD_PRIORITIES, /* the first in a random order; sometimes it becomes the last */
    BOARD_POLICIES
};

/* Copies between two ranks. */
enum board_copies {
    BOARD_COPIES_WORK,
    BOARD_COPIES_FORBIDDEN, /* odd ranks say so, which are half of all pairs and more */
    BOARD_COPIES_FAIL,      /* after some; the one that fails does so half-way */
    BOARD_COPIES
};

struct board_plan {
    int ranks, length;
    struct board_operation program[BOARD_LENGTH];
    struct board_kill kill[BOARD_KILLS];
    struct board_damage damage;
    struct board_switch forced[BOARD_FORCED];
    enum board_policy policy;
    enum ftc_share share;
    int spins, yields;
    bool fenced_by_others;
    enum board_copies copies;
    int copies_made;  /* before they fail */
    bool time_limits; /* sleeps may end by themselves */
    uint64_t seed;    /* of what the policy leaves to chance */
};

struct board_outcome {
    bool broken;
    char words[256];             /* how */
    uint32_t steps;              /* of all */
    uint32_t taken[BOARD_RANKS]; /* of each rank */
    unsigned restarts;           /* of large operations */
    unsigned unnamed;            /* broadcasts that failed with their root */
    bool asleep;                 /* somebody slept */
    int copies;                  /* between ranks' memories */
    unsigned forced;             /* switches that the plan forced */
};

/* Makes what plans are run on: fibers, segments. Fails the test on error. */
struct board_box;
struct board_box *board_box_make(void);
void board_box_free(struct board_box *box);

/* The same plan has the same outcome. */
void board_box_run(struct board_box *box, const struct board_plan *plan,
                   struct board_outcome *outcome);

/* A plan from a seed. */
void board_plan_random(struct board_plan *plan, uint64_t seed);
/* For people: ranks, program, kills. */
#define BOARD_WORDS 4096
const char *board_plan_words(const struct board_plan *plan, char words[BOARD_WORDS]);

#endif
