/*
 * The processes of a job as finite automata: each with all its communicators, and a program over
 * them (sim/communicators/). Exploration learns them from the product's own code as it needs them,
 * as it does with members (local.h).
 *
 * A process is deterministic: its state is a function of the inputs that it took. A state is the
 * digest of the process (ftc_comms_process_digest()), and what the judge of the storms noted about
 * it: its *notes*. A step goes from a state by an input to a state, with messages. It is computed
 * once, in a world in which no other process lives.
 *
 * The judge compares the process with the others. It depends on which of them live, and on their
 * notes. So the *verdict* on a step is computed once for each such combination: the step is taken
 * again in a world that has the notes of the others.
 */
#ifndef FTC_SIM_EXPLORE_PROCESS_H
#define FTC_SIM_EXPLORE_PROCESS_H

#include "sim/communicators/world.h"
#include "sim/explore/local.h"

/* Inputs of a process. */
enum {
    FTC_PROCESS_NOTICE = 0,            /* plus the rank that failed */
    FTC_PROCESS_OWN = FTC_LOCAL_RANKS, /* plus the event of its own (enum ftc_comms_own) */
    FTC_PROCESS_NONE = FTC_PROCESS_OWN + FTC_COMMS_OWNS, /* for the first state */
    FTC_PROCESS_MESSAGE = 1 << 19,                       /* plus the number of the message */
};

struct ftc_process_message {
    struct ftc_buffer *bytes;
    uint64_t number; /* of the communicator, without FTC_COMMUNICATOR_REVOKED */
    uint8_t from;
    bool word;     /* of the lifecycle; otherwise of a member */
    bool answered; /* once the communicator is forgotten, the message may be answered (C6) */
};

/* What the judge noted about a process. */
struct ftc_process_notes {
    struct ftc_comms_known *known;
    struct ftc_comms_outcome *outcome;
    int knowns, outcomes;
};

struct ftc_process_state {
    uint8_t rank;
    uint8_t own;            /* the events of its own that can happen, as bits */
    bool rests;             /* it may stay so for ever: it is done, and retains nothing */
    uint32_t notes;         /* by number */
    uint32_t length;        /* number of inputs of the way below */
    uint32_t parent, input; /* a way to this state */
};

struct ftc_process_step {
    uint32_t to;
    uint32_t output; /* index of the first message; each is FTC_LOCAL_SEND(to, message) */
    uint16_t outputs;
    bool idle;          /* nothing changes, now and whenever the input comes later */
    bool judged;        /* the judge noted something, so there are verdicts on it */
    uint32_t violation; /* index of the text; FTC_TABLE_NONE: none */
};

struct ftc_processes {
    const struct ftc_comms_story *story;
    struct ftc_comms_sums sums;
    struct ftc_comms_world *world[FTC_LOCAL_RANKS]; /* of each rank: no other one lives there */
    uint32_t at[FTC_LOCAL_RANKS];                   /* the state of the rank in its world */
    struct ftc_intern states, messages, notes;
    struct ftc_process_state *state;
    struct ftc_process_message *message;
    struct ftc_process_notes *note;
    struct ftc_table steps;    /* state << 32 | input -> index */
    struct ftc_table verdicts; /* hash of a step and of the others -> violation + 1; 0: none */
    struct ftc_process_step *step;
    uint32_t *output;
    char **violation;
    size_t step_count, output_count, violation_count;
    size_t state_room, message_room, note_room, step_room, output_room, violation_room;
    unsigned char *bytes; /* scratch: the bytes that get a number */
    size_t byte_count, byte_room;
    uint32_t *path; /* scratch: inputs that lead to a state */
    size_t path_room;
    uint32_t first[FTC_LOCAL_RANKS]; /* states */
};

/* What the judge must know about the other processes. */
struct ftc_process_others {
    ftc_mask dead;
    uint32_t notes[FTC_LOCAL_RANKS]; /* by number; FTC_TABLE_NONE: nothing */
};

/* The story must outlive the struct. FTC_ERR_ARG: too many ranks. FTC_ERR_NOMEM. fini() of a zeroed
 * struct is legal. */
int ftc_processes_init(struct ftc_processes *p, const struct ftc_comms_story *story);
void ftc_processes_fini(struct ftc_processes *p);

/* Get the index of the step from a state by an input; learn the step if it is new.
 * FTC_ERR_NOMEM. */
int ftc_processes_learn(struct ftc_processes *p, uint32_t state, uint32_t input, uint32_t *step);
/* The violation of a step that is judged, among such others. *text: NULL, if there is none.
 * FTC_ERR_NOMEM. */
int ftc_processes_judge(struct ftc_processes *p, uint32_t state, uint32_t input,
                        const struct ftc_process_others *others, const char **text);
/* Why a state must not stay so for ever: a text of the judge. NULL: it may. FTC_ERR_NOMEM. */
int ftc_processes_judge_end(struct ftc_processes *p, uint32_t state, const char **text);
/* Does a process with these notes know a communicator of this number, and another one with those
 * notes a different one? */
bool ftc_processes_foreign(const struct ftc_processes *p, uint32_t notes, uint32_t others,
                           uint64_t number);
size_t ftc_processes_bytes(const struct ftc_processes *p);

/* The words of a program, such as "split allreduce@child allreduce" (command.c explains them). The
 * settings of the story say how many ranks there are. With 2 threads the second one makes the calls
 * in children. FTC_ERR_ARG says what is wrong. */
int ftc_explore_words(struct ftc_comms_story *story, int threads, const char *text);

#endif
