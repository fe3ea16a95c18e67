/* The parts of a run of large allreduces. Private to sim/large. */
#ifndef FTC_SIM_LARGE_WORLD_H
#define FTC_SIM_LARGE_WORLD_H

#include "collectives/agreement/member.h"
#include "collectives/ring/large.h"
#include "sim/large/large.h"

#define FTC_LARGE_SIM_N FTC_LARGE_SIM_RANKS

struct ftc_large_packet {
    struct ftc_large_packet *next;
    struct ftc_buffer *bytes;
};

enum ftc_large_phase {
    FTC_LARGE_PHASE_OUTSIDE, /* outside the library */
    FTC_LARGE_PHASE_RING,
    FTC_LARGE_PHASE_COMMIT,
    FTC_LARGE_PHASE_MEMBER, /* the member executes the operation */
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
    /* input of the large allreduce, and of the member's other calls */
    uint64_t input[FTC_LARGE_SIM_ELEMENTS];
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
    struct ftc_large_packet *first[FTC_LARGE_SIM_N][FTC_LARGE_SIM_N];
    /* [observer][dead]: the observer has still to be told */
    bool notice[FTC_LARGE_SIM_N][FTC_LARGE_SIM_N];
    /* delivered values */
    uint64_t value[FTC_LARGE_SIM_N][FTC_LARGE_SIM_OPERATIONS][FTC_LARGE_SIM_ELEMENTS];
    bool has[FTC_LARGE_SIM_N][FTC_LARGE_SIM_OPERATIONS];
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
                    const struct ftc_value *value);
void ftc_large_drop_packets(struct ftc_large_packet **link);
/* Count an output of this process. True: the process has died before the output. */
bool ftc_large_struck(struct ftc_large_world *w, int rank);

/* process.c: the steps of a process. */
void ftc_large_process_call(struct ftc_large_world *w, int rank);
void ftc_large_process_take(struct ftc_large_world *w, int rank, int from,
                            struct ftc_buffer *message);
void ftc_large_process_hear(struct ftc_large_world *w, int rank, int dead);
void ftc_large_process_more(struct ftc_large_world *w, int rank);
void ftc_large_process_timer(struct ftc_large_world *w, int rank);

/* judge.c */
uint64_t ftc_large_input(int rank, int operation, int element);
void ftc_large_judge_result(struct ftc_large_world *w, int rank, int operation,
                            const uint64_t *value, const struct ftc_set *failed);
void ftc_large_judge_end(struct ftc_large_world *w);

#endif
