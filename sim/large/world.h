/* The parts of a run of large values. Private to sim/large. */
#ifndef FTC_SIM_LARGE_WORLD_H
#define FTC_SIM_LARGE_WORLD_H

#include "collectives/agreement/member.h"
#include "collectives/large/large.h"
#include "sim/large/large.h"

#define FTC_LARGE_SIM_N FTC_LARGE_SIM_RANKS

struct ftc_large_packet {
    struct ftc_large_packet *next;
    /* The number of the operation for whose bounded receiver this block is, plus 1; 0: none. */
    uint64_t bounded;
    struct ftc_value value;   /* what was sent, which a transport reads until it arrives */
    struct ftc_buffer *bytes; /* a copy: the message as it arrives */
};

enum ftc_large_phase {
    FTC_LARGE_PHASE_OUTSIDE, /* outside the library */
    FTC_LARGE_PHASE_RING,
    FTC_LARGE_PHASE_COMMIT,
    FTC_LARGE_PHASE_MEMBER, /* the member executes the operation */
};

/* What the take function of a call works on. */
struct ftc_large_taking {
    struct ftc_large_world *world;
    int rank, operation;
    bool bounded[FTC_LARGE_SIM_RANKS];   /* the beginning is known... */
    uint64_t begin[FTC_LARGE_SIM_RANKS]; /* ...of the part of each rank's contribution */
    int lowest;                          /* the rank that was taken last */
};

enum ftc_large_end {
    FTC_LARGE_END_NONE,
    FTC_LARGE_END_RESULT,
    FTC_LARGE_END_PROTECTED, /* it was left to the agreement core */
};

struct ftc_large_process {
    bool alive, more, timer;
    struct ftc_member *member;
    struct ftc_large *large;
    int at; /* index of the current or next operation of the program */
    enum ftc_large_phase phase;
    /* call: its own call; commit: the call that commits its attempt */
    struct ftc_call call, commit;
    const struct ftc_signature *under_way; /* signature of the member's call under way */
    uint64_t attempt;                      /* the operation of the current attempt */
    uint64_t input[FTC_LARGE_SIM_INPUT];
    uint64_t parts[FTC_LARGE_SIM_RANKS + 1];
    struct ftc_large_taking taking;
    unsigned char decided[FTC_LARGE_SIM_RANKS + 1]; /* value of a commit */
    bool delivered;
    int outputs;
    int doom;
};

struct ftc_large_world {
    const struct ftc_large_story *story;
    struct ftc_large_sums *sums;
    FILE *log;
    int n;
    uint64_t random;
    struct ftc_large_process process[FTC_LARGE_SIM_N];
    /* The memory that the ranks of nodes share. That of the dead is as they left it. */
    _Alignas(64) unsigned char area[FTC_LARGE_SIM_N][3 * FTC_LARGE_SIM_AREA];
    struct ftc_large_nodes nodes;
    struct ftc_large_packet *first[FTC_LARGE_SIM_N][FTC_LARGE_SIM_N];
    /* [observer][dead]: the observer has still to be told */
    bool notice[FTC_LARGE_SIM_N][FTC_LARGE_SIM_N];
    /* results, and how each call ended */
    uint64_t value[FTC_LARGE_SIM_N][FTC_LARGE_SIM_OPERATIONS][FTC_LARGE_SIM_RESULT];
    enum ftc_large_end end[FTC_LARGE_SIM_N][FTC_LARGE_SIM_OPERATIONS];
    char violation[FTC_LARGE_SIM_WORDS];
};

/* world.c */
uint64_t ftc_large_below(struct ftc_large_world *w, uint64_t limit);
void ftc_large_violate(struct ftc_large_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ftc_large_broken(const struct ftc_large_world *w);
void ftc_large_say(struct ftc_large_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ftc_large_send(struct ftc_large_world *w, int from, int to, struct ftc_buffer *head,
                    const struct ftc_value *value, uint64_t bounded);
void ftc_large_free_packet(struct ftc_large_packet *packet);
void ftc_large_drop_packets(struct ftc_large_packet **link);
/* The sender has not changed what it lent to a message that is under way. */
void ftc_large_judge_bytes(struct ftc_large_world *w, int from, int to,
                           const struct ftc_large_packet *packet);
/* Count an output of this process. True: the process has died before the output. */
bool ftc_large_struck(struct ftc_large_world *w, int rank);

/* process.c: the steps of a process. */
void ftc_large_process_call(struct ftc_large_world *w, int rank);
void ftc_large_process_take(struct ftc_large_world *w, int rank, int from,
                            struct ftc_buffer *message);
void ftc_large_process_hear(struct ftc_large_world *w, int rank, int dead);
void ftc_large_process_more(struct ftc_large_world *w, int rank);
void ftc_large_process_timer(struct ftc_large_world *w, int rank);

/* values.c: what ranks give, and where it goes. */
#define FTC_LARGE_UNTOUCHED                                                                        \
    UINT64_C(0xfefefefefefefefe) /* an element of a result before the call */
/* Sets the call and the input of this rank, and clears its result. */
void ftc_large_values_begin(struct ftc_large_world *w, int rank);
uint64_t ftc_large_tag(int operation, int element);
/* Element number `element` of what `from` gives to `to`; no sum or scan. */
uint64_t ftc_large_word(int operation, int from, int to, int element);
/* How many elements `from` gives to `to`, and where they begin in the result. */
int ftc_large_given(const struct ftc_large_world *w, int operation, int from, int to);
int ftc_large_place(const struct ftc_large_world *w, int operation, int from);
/* The slice of a reduce_scatter or scatter. */
int ftc_large_slice(const struct ftc_large_world *w, int operation, int rank);
int ftc_large_slice_begin(const struct ftc_large_world *w, int operation, int rank);
/* A number that counts ranks: a sum of some has COUNT_BITS bits for each. */
#define FTC_LARGE_COUNT_BITS 6
#define FTC_LARGE_TAG_SHIFT  (FTC_LARGE_COUNT_BITS * FTC_LARGE_SIM_RANKS)
/* A string of ranks in the order in which they were combined. */
#define FTC_LARGE_LETTER_BITS 3
int ftc_large_letters(uint64_t element);
int ftc_large_letter(uint64_t element, int i); /* letter i, from the left */

/* judge.c */
void ftc_large_judge_result(struct ftc_large_world *w, int rank, int operation,
                            const struct ftc_set *failed);
void ftc_large_judge_end(struct ftc_large_world *w);

/* judge_places.c */
void ftc_large_judge_places(struct ftc_large_world *w, int rank, int operation,
                            const struct ftc_set *failed);
void ftc_large_compare_places(struct ftc_large_world *w, int operation, int one, int other);
void ftc_large_judge_scan(struct ftc_large_world *w, int rank, int operation,
                          const struct ftc_set *failed);
void ftc_large_compare_scans(struct ftc_large_world *w, int operation, int lower, int higher);

#endif
