/*
 * A whole communicator in one process: n members of collectives/member.h, a virtual network and a perfect
 * detector, with every promise of docs/design/agreement.md checked at each step.
 *
 * Everything that can happen next is an *event*: the first message of a channel arrives, an observer is
 * told of a death, a timer fires, a process outside the library makes its next call. Stories pick events
 * by hand (ftc_cluster_do), hold some back (ftc_cluster_hold) and let the rest run (ftc_cluster_run); storms let a
 * seed pick all of them (storm.h). The first broken promise is kept as words; nothing happens
 * after it.
 */
#ifndef FTC_SIM_CLUSTER_H
#define FTC_SIM_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/member.h"
#include "include/ftcoll.h"

/* --- programs: the same list of operations at every process --- */

struct ftc_cluster_operation {
    enum ftc_call_kind kind;
    int root;      /* of a broadcast or reduce, else -1 */
    bool floating; /* sums of doubles instead of counts: for tests that compare bits */
};

/* --- what is remembered of each operation at each rank --- */

struct ftc_cluster_entry {
    bool called, delivered;
    int decision; /* which of the operation's distinct decisions, -1: none */
    unsigned ballots, retries;
    struct ftc_epoch epoch; /* at the call */
    struct ftc_set agreed;  /* G at the call */
    struct ftc_set known;   /* L at the call */
    struct ftc_value result;
    int status;
    uint32_t sent[FTC_MESSAGES];
    uint64_t bytes;
};

struct ftc_cluster_record {
    struct ftc_decision **decisions; /* distinct ones that were delivered by anyone, room for n */
    int count;
    struct ftc_cluster_entry *entry; /* by rank */
};

/* --- network, processes --- */

struct ftc_cluster_message {
    size_t size; /* on the wire */
    struct ftc_buffer *bytes;
    struct ftc_message_head head;
};

struct ftc_cluster_channel {
    struct ftc_cluster_message *ring;
    int first, count, room;
};

struct ftc_cluster_process {
    struct ftc_member *member; /* NULL once dead */
    bool alive, under_way;
    int next;             /* operations called so far */
    struct ftc_set known; /* L after the last input: it may only grow */
    uint64_t rules[FTC_RULES_COUNT];
    struct ftc_cluster *cluster;
};

/* A death in the middle of a list of outputs: before or after the nth output of one kind. */
#define FTC_CLUSTER_DELIVER FTC_MESSAGES /* as `output` of a doom: the delivery instead of a message */
struct ftc_cluster_doom {
    int rank;   /* -1: whoever makes that output */
    int output; /* enum ftc_message_kind or FTC_CLUSTER_DELIVER */
    int nth;    /* from 1, counted from now on; 0: spent */
    bool before;
    bool lossy; /* a random end of each of its channels is lost with it */
};
#define FTC_CLUSTER_DOOMS 80

struct ftc_cluster_trace;

struct ftc_cluster {
    struct ftc_member_settings settings; /* of every member, but self */
    int n, alive;
    const struct ftc_cluster_operation *program;
    int length;
    struct ftc_cluster_process *process;
    struct ftc_cluster_channel *channel; /* n * n, from * n + to */
    struct ftc_cluster_record *record;   /* by operation */
    uint64_t *words;                     /* room for all the sets above */
    struct ftc_set dead;
    struct ftc_cluster_doom doom[FTC_CLUSTER_DOOMS];
    int dooms;
    /* events */
    int events;
    bool *pending, *held;
    int *place;   /* in enabled[], plus 1; 0: not there */
    int *enabled; /* pending and not held */
    int enabled_count;
    uint64_t random;
    uint64_t bias; /* not 0: storms prefer some events over others, by this seed */
    uint64_t steps;
    struct ftc_cluster_trace *trace;
    char violation[400]; /* "" while all promises were kept */
};

/* settings->self is ignored. The program must outlive the cluster. Aborts when out of memory. */
struct ftc_cluster *ftc_cluster_new(const struct ftc_member_settings *settings,
                                    const struct ftc_cluster_operation *program, int length, uint64_t seed);
void ftc_cluster_free(struct ftc_cluster *c);

/* n members, f, everything else the default of the configuration: list, piggyback, first, binomial, none,
 * direct. */
struct ftc_member_settings ftc_cluster_settings(int n, int f);

/* --- events --- */

int ftc_cluster_arrival(const struct ftc_cluster *c, int from, int to);
int ftc_cluster_notice(const struct ftc_cluster *c, int observer, int dead);
int ftc_cluster_timer(const struct ftc_cluster *c, int rank);
int ftc_cluster_call(const struct ftc_cluster *c, int rank); /* its next operation */

void ftc_cluster_do(struct ftc_cluster *c, int event);   /* a violation if it cannot happen now */
void ftc_cluster_hold(struct ftc_cluster *c, int event); /* until released; it may not be pending yet */
void ftc_cluster_release(struct ftc_cluster *c, int event);
void ftc_cluster_hold_notices(struct ftc_cluster *c, int dead);
void ftc_cluster_release_notices(struct ftc_cluster *c, int dead);
void ftc_cluster_hold_calls(struct ftc_cluster *c); /* of all processes */
void ftc_cluster_release_calls(struct ftc_cluster *c);

/* Random events that are not held, until there is none. */
void ftc_cluster_run(struct ftc_cluster *c);
/* ... until `rank` has delivered operation op: a violation if it does not. */
void ftc_cluster_run_to(struct ftc_cluster *c, int op, int rank);
/* As ftc_cluster_run(), to the end of the program at every live process: a violation if one is stuck. */
void ftc_cluster_finish(struct ftc_cluster *c);

/* --- deaths --- */

void ftc_cluster_crash(struct ftc_cluster *c, int rank);       /* what it sent still arrives */
void ftc_cluster_crash_lossy(struct ftc_cluster *c, int rank); /* a random end of each channel is lost */
void ftc_cluster_lose(struct ftc_cluster *c, int from,
                      int to); /* all that is on the way from a dead process */
void ftc_cluster_doom(struct ftc_cluster *c, int rank, int output, int nth, bool before);

/* --- looking --- */

uint64_t ftc_cluster_random(struct ftc_cluster *c);
int ftc_cluster_below(struct ftc_cluster *c, int limit); /* 0 <= random < limit */
bool ftc_cluster_delivered(const struct ftc_cluster *c, int op, int rank);
int ftc_cluster_status(const struct ftc_cluster *c, int op, int rank);
/* How often `rank`'s input is in `at`'s result of op. */
int ftc_cluster_counts(const struct ftc_cluster *c, int op, int at, int rank);
/* "0,2-3": whose inputs are in it (once each), and the failed set; "-" if not delivered. Static text. */
const char *ftc_cluster_value(const struct ftc_cluster *c, int op, int at);
const char *ftc_cluster_failed(const struct ftc_cluster *c, int op, int at);
struct ftc_ballot_id ftc_cluster_ballot(const struct ftc_cluster *c, int op, int at);
const struct ftc_decision *ftc_cluster_decision(const struct ftc_cluster *c, int op, int at);
uint64_t ftc_cluster_sent(const struct ftc_cluster *c, int op, int kind); /* by all ranks, the dead too */
uint64_t ftc_cluster_bytes(const struct ftc_cluster *c, int op);
uint64_t ftc_cluster_rule(const struct ftc_cluster *c, enum ftc_rule rule); /* taken by anyone */
int ftc_cluster_on_the_way(const struct ftc_cluster *c, int from, int to);

/* --- used between cluster*.c --- */

void ftc_cluster_violate(struct ftc_cluster *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool ftc_cluster_broken(const struct ftc_cluster *c);
const struct ftc_cluster_operation *ftc_cluster_operation_of(const struct ftc_cluster *c,
                                                             int rank); /* the last one called */
struct ftc_cluster_entry *ftc_cluster_entry(const struct ftc_cluster *c, int op, int rank);
void *ftc_cluster_alloc(size_t count, size_t size); /* zeroed; aborts when out of memory */

/* ftc_cluster_check.c: called at each step of a process */
void ftc_cluster_check_call(struct ftc_cluster *c, int rank, int op);
void ftc_cluster_check_delivery(struct ftc_cluster *c, int rank, int op, const struct ftc_output *output);
void ftc_cluster_check_input(struct ftc_cluster *c, int rank); /* after every input and its outputs */
void ftc_cluster_check_end(struct ftc_cluster *c);
bool ftc_cluster_collects(const struct ftc_cluster *c, int op,
                          int rank); /* does its ballot (0,0) have a reduce? */
int ftc_cluster_coordinator(const struct ftc_cluster *c, int op, int rank,
                            int i); /* c_i in rank's view at op, -1: none */

/* ftc_cluster_trace.c */
enum ftc_cluster_event_kind {
    FTC_CLUSTER_TRACE_CALL,
    FTC_CLUSTER_TRACE_ARRIVE,
    FTC_CLUSTER_TRACE_NOTICE,
    FTC_CLUSTER_TRACE_TIMER,
    FTC_CLUSTER_TRACE_SEND,
    FTC_CLUSTER_TRACE_DELIVER,
    FTC_CLUSTER_TRACE_CRASH,
    FTC_CLUSTER_TRACE_LOSE,
};
struct ftc_cluster_trace *ftc_cluster_trace_new(void);
void ftc_cluster_trace_free(struct ftc_cluster_trace *trace);
void ftc_cluster_trace(struct ftc_cluster *c, enum ftc_cluster_event_kind kind, int rank, int other,
                       const struct ftc_message_head *head);
void ftc_cluster_print(
    const struct ftc_cluster *c); /* settings, violation, trace, who waits for what: to standard error */

#endif
