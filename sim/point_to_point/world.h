/* The parts of a run of sends and receives. Private to sim/point_to_point. */
#ifndef FTC_SIM_POINT_TO_POINT_WORLD_H
#define FTC_SIM_POINT_TO_POINT_WORLD_H

#include "collectives/point_to_point/matching.h"
#include "sim/point_to_point/messages.h"

#define FTC_MESSAGES_N FTC_MESSAGES_RANKS

struct ftc_messages_packet {
    struct ftc_messages_packet *next;
    struct ftc_buffer *bytes;
};

/* A transfer as its process and the judge see it. */
struct ftc_messages_entry {
    struct ftc_transfer transfer;
    unsigned char buffer[FTC_MESSAGES_BYTES];
    bool started, ended; /* ended: the judge has looked at its end */
    bool given;          /* its caller has taken the result */
    bool cancelled;      /* its caller has cancelled it */
    bool succeeded;      /* it has ended as a success */
    /* --- of a send --- */
    bool arrived;   /* the message has come to its receiver as a whole: EAGER */
    bool taken;     /* a receive has taken it */
    bool withdrawn; /* its receiver says so (P10) */
    /* --- of a receive --- */
    bool matched;             /* the judge has looked at what it took */
    struct ftc_arrival *held; /* P13: the message that it starts with; NULL: none */
    int notices;              /* that its process had at its last interruption */
};

struct ftc_messages_process {
    bool alive, knows, left; /* knows: of the revoke; left: its caller has freed */
    struct ftc_matching *matching;
    struct ftc_messages_entry entry[FTC_MESSAGES_TRANSFERS];
    int at;                        /* index of the next transfer of its program */
    int notice_of[FTC_MESSAGES_N]; /* its place among the notices, from 1 on; 0: none */
    bool recognized[FTC_MESSAGES_N];
    int notices;
    int outputs, doom;
};

struct ftc_messages_world {
    const struct ftc_messages_story *story;
    struct ftc_messages_sums *sums;
    FILE *log;
    int n;
    uint64_t random;
    bool revoked;
    struct ftc_messages_process process[FTC_MESSAGES_N];
    struct ftc_messages_packet *first[FTC_MESSAGES_N][FTC_MESSAGES_N];
    /* [observer][dead]: the observer has still to be told */
    bool notice[FTC_MESSAGES_N][FTC_MESSAGES_N];
    char violation[FTC_MESSAGES_WORDS];
};

/* world.c */
uint64_t ftc_messages_below(struct ftc_messages_world *w, uint64_t limit);
void ftc_messages_violate(struct ftc_messages_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ftc_messages_broken(const struct ftc_messages_world *w);
void ftc_messages_say(struct ftc_messages_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ftc_messages_send(struct ftc_messages_world *w, int from,
                       const struct ftc_matching_output *output);
void ftc_messages_drop_packets(struct ftc_messages_packet **link);
/* Count an output of this process. True: the process has died before the output. */
bool ftc_messages_struck(struct ftc_messages_world *w, int rank);

/* process.c: the steps of a process. */
void ftc_messages_start(struct ftc_messages_world *w, int rank);
void ftc_messages_take(struct ftc_messages_world *w, int rank, int from,
                       struct ftc_buffer *message);
void ftc_messages_hear(struct ftc_messages_world *w, int rank, int dead);
void ftc_messages_copy(struct ftc_messages_world *w, int rank);
void ftc_messages_learn(struct ftc_messages_world *w, int rank);
/* Its caller frees the communicator. */
bool ftc_messages_may_leave(const struct ftc_messages_world *w, int rank);
void ftc_messages_leave(struct ftc_messages_world *w, int rank);
/* A caller waits for a transfer, recognises failures or cancels. */
void ftc_messages_call(struct ftc_messages_world *w, int rank);

/* judge.c */
unsigned char ftc_messages_byte(int from, int index, int place); /* of a message */
/* The send of this number from a rank to another; NULL: none. */
struct ftc_messages_entry *ftc_messages_send_of(struct ftc_messages_world *w, int from, int to,
                                                uint64_t number);
/* After each input of a process. */
void ftc_messages_judge(struct ftc_messages_world *w, int rank);
void ftc_messages_judge_interruption(struct ftc_messages_world *w, int rank,
                                     struct ftc_messages_entry *entry, bool interrupted);
void ftc_messages_judge_end(struct ftc_messages_world *w);

#endif
