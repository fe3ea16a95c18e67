/*
 * The members of a communicator as finite automata. Exploration learns them from the product's own
 * code as it needs them.
 *
 * A member is deterministic: its state is a function of the inputs that it took. So each of its
 * states gets a small number. Two states are the same if their rank, the digest of the member
 * (ftc_member_digest) and the history kept here are the same. A step goes from a state by an input
 * to a state, with outputs. It is computed once: a new member gets all inputs that lead to the
 * state, and then this input. After that it is looked up in a table. Messages, decisions and epochs
 * have numbers, too.
 *
 * A promise of docs/design/agreement.md that concerns one member alone is checked when a step is
 * learned. What depends on the dead ranks or on other members is kept as facts in the step, and the
 * explorer checks it.
 *
 * Values are vectors of n bytes, which say how often the input of each rank was counted.
 */
#ifndef FTC_SIM_EXPLORE_LOCAL_H
#define FTC_SIM_EXPLORE_LOCAL_H

#include "collectives/agreement/member.h"
#include "sim/explore/table.h"
#include "sim/model/program.h"

#define FTC_LOCAL_RANKS      8
#define FTC_LOCAL_OPERATIONS 8

/* A set of ranks; bit r is rank r. */
typedef uint8_t ftc_mask;

/* Inputs of a member. */
enum {
    FTC_LOCAL_NOTICE = 0, /* plus the rank that failed */
    FTC_LOCAL_CALL = FTC_LOCAL_RANKS,
    FTC_LOCAL_TIMER,
    /* not an input of the member: its history up to some operation is forgotten */
    FTC_LOCAL_FORGET,
    FTC_LOCAL_NONE, /* for the first state, to which no input leads */
    /* two levels: the call, with the posts of these ranks, plus 256 times the L that they posted */
    FTC_LOCAL_GATHERED = 1 << 17,
    /* two levels: the decision of this node, plus its number; it is also the call, if there was
     * none */
    FTC_LOCAL_ADOPT = 1 << 18,
    FTC_LOCAL_MESSAGE = 1 << 19, /* plus the number of the message */
    /* two levels: send the sum of this node: the posts of these ranks, plus 256 times the epoch by
     * number, plus 65536 times the operation */
    FTC_LOCAL_SUM = 1 << 30,
};

/* A message as its receiver gets it. The receiver is not part of it. */
struct ftc_local_message {
    struct ftc_buffer *bytes;
    struct ftc_message_head head;
    uint8_t from;
};

/* What a member did, as far as its own digest does not tell it. */
struct ftc_local_history {
    uint8_t rank, called, under_way;
    uint8_t forgotten;                       /* nothing is kept of the operations before this one */
    uint8_t row;                             /* broadcasts in a row, modulo w */
    ftc_mask agreed[FTC_LOCAL_OPERATIONS];   /* G at the call */
    ftc_mask known[FTC_LOCAL_OPERATIONS];    /* L at the call; only for validates */
    uint8_t epoch[FTC_LOCAL_OPERATIONS];     /* at the call, by number */
    uint16_t decision[FTC_LOCAL_OPERATIONS]; /* delivered, by number */
};

struct ftc_local_state {
    struct ftc_local_history history;
    ftc_mask known, agreed; /* L, G */
    uint8_t epoch;          /* by number */
    bool held_back;         /* a settlement holds the next call back */
    bool unsettled;         /* ftc_member_unsettled() */
    uint32_t parent, input; /* a way to this state */
    /* the same state with one more operation forgotten; FTC_TABLE_NONE: not yet computed */
    uint32_t forgotten;
    struct ftc_digest member;
};

/* Decisions are numbered by operation. Decisions with equal numbers have the same status, value,
 * failed set, ballot and report of retries. */
struct ftc_local_decision {
    int status, op;
    struct ftc_ballot_id ballot;
    struct ftc_decision *decision; /* two levels: the decision itself; NULL: there is none */
};

/* What a delivery promises about other ranks, which may be alive or dead. */
struct ftc_local_delivery {
    uint8_t op;
    bool agrees;       /* all ranks deliver the same; true for all but plain reduces */
    bool collects;     /* every live rank has called the operation */
    bool validates;    /* `failed` has all ranks that any live rank knew as failed at its call */
    bool gives_up;     /* TOO_MANY_FAILURES: more than f ranks of its view are dead */
    bool root_failed;  /* ROOT_FAILED: the root is dead */
    uint16_t decision; /* by number */
    ftc_mask failed;   /* these ranks are dead */
    ftc_mask left_out; /* these ranks are dead, and the value does not count them */
};

/* The outputs of a step, in order. Each is FTC_LOCAL_SEND(to, message) or one of the enum. */
#define FTC_LOCAL_SEND(to, message) ((uint32_t)(to) << 24 | (message))
#define FTC_LOCAL_TO(output)        ((int)((output) >> 24))
#define FTC_LOCAL_SENT(output)      ((output)&0xffffffu)
enum {
    FTC_LOCAL_DELIVER = 0xff000000,
    FTC_LOCAL_SET_TIMER = 0xfe000000,
    FTC_LOCAL_TAKEN = 0xfd000000 /* plus the operation whose sum is taken */
};

struct ftc_local_step {
    uint32_t to;     /* state */
    uint32_t output; /* index of the first output */
    uint16_t outputs;
    bool idle;         /* the state does not change, and there is no output */
    bool fenced;       /* the member was told that it is declared failed */
    uint32_t delivery; /* index; FTC_TABLE_NONE: none */
    /* index of the text; FTC_TABLE_NONE: the member keeps all its own promises */
    uint32_t violation;
};

struct ftc_local {
    struct ftc_member_settings settings; /* of every member, except self */
    const struct ftc_program *program;
    int ranks;
    struct ftc_intern states, messages, decisions;
    struct ftc_local_state *state;
    struct ftc_local_message *message;
    struct ftc_local_decision *decision;
    struct ftc_table steps; /* state << 32 | input -> index */
    struct ftc_local_step *step;
    struct ftc_local_delivery *delivery;
    uint32_t *output;
    char **violation;
    struct ftc_epoch *epoch;
    size_t step_count, delivery_count, output_count, violation_count, epoch_count;
    size_t state_room, message_room, decision_room, step_room, delivery_room, output_room,
        violation_room, epoch_room;
    unsigned char *bytes; /* scratch: the bytes that get a number */
    size_t byte_count, byte_room;
    uint32_t *path; /* scratch: inputs that lead to a state */
    size_t path_room;
    uint32_t first[FTC_LOCAL_RANKS]; /* states */
    /* While an input is taken. outside: no call of this rank is under way, so no operator may be
     * called. operator_called: one was called. */
    bool outside, operator_called;
    uint32_t decisions_kept;
};

/* settings->self is ignored. Settings are copied; the program must outlive the struct. FTC_ERR_ARG:
 * too many ranks or operations; FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_local_init(struct ftc_local *local, const struct ftc_member_settings *settings,
                   const struct ftc_program *program);
void ftc_local_fini(struct ftc_local *local);

/* Get the index of the step from a state by an input; learn the step if it is new.
 * FTC_ERR_NOMEM. */
int ftc_local_learn(struct ftc_local *local, uint32_t state, uint32_t input, uint32_t *step);
/* Change *state to the same state with the history of all operations before `op` forgotten.
 * FTC_ERR_NOMEM. */
int ftc_local_forget(struct ftc_local *local, uint32_t *state, int op);

/* Does operation `op` use two levels? */
bool ftc_local_two_levels(const struct ftc_local *local, int op);
/* Does it use two levels, as a reduce whose senders go on? */
bool ftc_local_sums(const struct ftc_local *local, int op);

size_t ftc_local_bytes(const struct ftc_local *local);

/* The index of the step from a state by an input. FTC_TABLE_NONE: it is not yet learned. */
static inline uint32_t ftc_local_find(const struct ftc_local *local, uint32_t state, uint32_t input)
{
    return ftc_table_get(&local->steps, (uint64_t)state << 32 | input);
}

#endif
