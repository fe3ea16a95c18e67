/* The parts of a run of communicators. Private to sim/communicators. */
#ifndef FTC_SIM_COMMUNICATORS_WORLD_H
#define FTC_SIM_COMMUNICATORS_WORLD_H

#include "sim/communicators/communicators.h"

#define FTC_COMMS_N     FTC_COMMS_RANKS
#define FTC_COMMS_KNOWN 48 /* most communicators that a process of a run ever has */

struct ftc_comms_packet {
    struct ftc_comms_packet *next;
    struct ftc_buffer *bytes;
};

enum ftc_comms_slot_state {
    FTC_COMMS_SLOT_EMPTY, /* its creation has not ended */
    FTC_COMMS_SLOT_NONE,  /* this process has no communicator there */
    FTC_COMMS_SLOT_LIVE,
};

struct ftc_comms_slot {
    enum ftc_comms_slot_state state;
    struct ftc_communicator *communicator;
    bool told;       /* the caller knows that it was revoked */
    int outstanding; /* calls that were started and have not ended */
};

/* What a process was given, for the judge. It stays when the process dies or forgets. */
struct ftc_comms_known {
    uint64_t number, parent;
    bool after;     /* made by an agreement after a revoke */
    bool forgotten; /* it has it no more, or has said so and never had it */
    int ordinal;    /* number of the call in the parent */
    int size;       /* 0: it never had it */
    int job_rank[FTC_COMMS_N];
    int delivered[2];        /* calls delivered so far: before a revoke and after it */
    uint64_t last_ticket[2]; /* of the last delivery */
};

/* What was delivered to a process in a call: `ordinal` of communicator `number`, counted apart
 * before and after a revoke; of an agree: -1 - the item. */
struct ftc_comms_outcome {
    uint64_t number;
    bool after;
    int ordinal;
    uint64_t digest;
};

enum ftc_comms_phase {
    FTC_COMMS_PHASE_RUNS,
    FTC_COMMS_PHASE_ENDS, /* all is freed; waits until it is forgotten */
};

struct ftc_comms_process {
    bool alive, more, timer;
    struct ftc_comms_engine *engine;
    enum ftc_comms_phase phase;
    int at[FTC_COMMS_THREADS];         /* the next item; items of other threads are passed over */
    uint64_t waits[FTC_COMMS_THREADS]; /* for this ticket; 0: for none */
    uint64_t ticket[FTC_COMMS_ITEMS];  /* of each item */
    uint64_t input[FTC_COMMS_ITEMS][2];
    struct ftc_agree_input agree[FTC_COMMS_ITEMS];
    struct ftc_comms_slot slot[FTC_COMMS_SLOTS];
    uint64_t opening[FTC_COMMS_SLOTS]; /* children whose memory has to be opened */
    int openings;
    struct ftc_comms_known known[FTC_COMMS_KNOWN];
    int knowns;
    struct ftc_comms_outcome outcome[FTC_COMMS_ITEMS]; /* of calls that were delivered to it */
    int outcomes;
    int outputs, doom;
};

struct ftc_comms_world {
    const struct ftc_comms_story *story;
    struct ftc_comms_sums *sums;
    FILE *log;
    int n;
    uint64_t random;
    struct ftc_comms_process process[FTC_COMMS_N];
    struct ftc_comms_packet *first[FTC_COMMS_N][FTC_COMMS_N];
    struct ftc_comms_packet *last[FTC_COMMS_N][FTC_COMMS_N];
    /* [observer][dead]: the observer has still to be told */
    bool notice[FTC_COMMS_N][FTC_COMMS_N];
    struct ftc_comms_boards boards;
    char violation[FTC_COMMS_WORDS];
};

/* world.c */
uint64_t ftc_comms_below(struct ftc_comms_world *w, uint64_t limit);
void ftc_comms_violate(struct ftc_comms_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ftc_comms_broken(const struct ftc_comms_world *w);
void ftc_comms_say(struct ftc_comms_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Is the run over for this process? */
bool ftc_comms_is_gone(const struct ftc_comms_world *w, int rank);
void ftc_comms_check(struct ftc_comms_world *w, int rank, const char *what, int rc);
void ftc_comms_send(struct ftc_comms_world *w, int from, int to, const struct ftc_buffer *head,
                    const struct ftc_value *value);
/* The item of a ticket; -1: none. */
int ftc_comms_item_of(const struct ftc_comms_process *p, uint64_t ticket);
/* Tells the inputs of an item in one communicator from all others. */
uint64_t ftc_comms_tag(uint64_t number, int item);
struct ftc_buffer *ftc_comms_take_packet(struct ftc_comms_world *w, int from, int to);
void ftc_comms_die(struct ftc_comms_world *w, int rank);
/* Count an output of this process. True: the process has died before the output. */
bool ftc_comms_struck(struct ftc_comms_world *w, int rank);

/* program.c: items of the program at one process */
/* Can the thread do its next item? It may be at the end of its program. */
bool ftc_comms_can_step(const struct ftc_comms_world *w, int rank, int thread);
void ftc_comms_step(struct ftc_comms_world *w, int rank, int thread);
/* Is the program over, so that the process can free all that is left? */
bool ftc_comms_can_end(const struct ftc_comms_world *w, int rank);
void ftc_comms_end(struct ftc_comms_world *w, int rank);

/* outputs.c: carries out the outputs of a process */
void ftc_comms_outputs(struct ftc_comms_world *w, int rank);

/* judge.c */
struct ftc_comms_known *ftc_comms_find_known(struct ftc_comms_process *p, uint64_t number);
void ftc_comms_judge_child(struct ftc_comms_world *w, int rank,
                           const struct ftc_comms_output *output);
void ftc_comms_judge_delivery(struct ftc_comms_world *w, int rank, int item,
                              const struct ftc_comms_output *output);
void ftc_comms_judge_created(struct ftc_comms_world *w, int rank, int item,
                             const struct ftc_comms_output *output);
/* The process has forgotten it, or says so by GONE. */
void ftc_comms_judge_forgotten(struct ftc_comms_world *w, int rank, uint64_t number);
/* Passes a message on to the communicators of `rank`, and checks that none of another history is
 * taken. */
void ftc_comms_judge_arrival(struct ftc_comms_world *w, int rank, int from,
                             struct ftc_buffer *message);
void ftc_comms_judge_end(struct ftc_comms_world *w);

/* run.c: events. Each has a number, its source. */
enum ftc_comms_own {
    FTC_COMMS_OWN_STEP, /* plus the thread */
    FTC_COMMS_OWN_END = FTC_COMMS_THREADS,
    FTC_COMMS_OWN_OPEN,
    FTC_COMMS_OWN_MORE,
    FTC_COMMS_OWN_TIMER,
    FTC_COMMS_OWN_LOOK, /* at boards */
    FTC_COMMS_OWNS
};
/* The first message from `from` arrives. */
int ftc_comms_source_arrival(const struct ftc_comms_world *w, int from, int to);
/* `rank` hears of the death of `dead`. */
int ftc_comms_source_notice(const struct ftc_comms_world *w, int rank, int dead);
int ftc_comms_source_own(const struct ftc_comms_world *w, int rank, int own);
bool ftc_comms_can_happen(const struct ftc_comms_world *w, int source);
void ftc_comms_happen(struct ftc_comms_world *w, int source);
/* A world without processes. free() it after all its processes. */
struct ftc_comms_world *ftc_comms_world_new(const struct ftc_comms_story *story,
                                            struct ftc_comms_sums *sums, FILE *log);
void ftc_comms_process_new(struct ftc_comms_world *w, int rank);
void ftc_comms_process_free(struct ftc_comms_world *w, int rank);

/* digest.c */
/* The state of a process as bytes, as far as later events depend on it: as
 * ftc_comms_engine_digest(). What the judge noted is left out. */
void ftc_comms_process_digest(const struct ftc_comms_world *w, int rank, ftc_digest_sink *sink,
                              void *arg);

#endif
